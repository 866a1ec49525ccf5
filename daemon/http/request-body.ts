import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { finished, type Readable } from "node:stream";
import { AppError } from "../errors.ts";
import type { BodyMemory } from "./body-memory.ts";

/** How long a client may take to send a body that is read whole. */
const BODY_DEADLINE_MS = 30_000;

/** The first allocation for a body, and the cost of an uncounted one; see `FREE_BYTES` in `body-memory.ts`. */
const FIRST_BYTES = 16 * 1024;

/** Limits of a body that is read whole. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Counts the memory of the body; the caller that opened it releases it. */
  readonly memory: BodyMemory;
  /** Milliseconds for the whole body; 30,000. */
  readonly deadlineMs?: number;
}

/**
 * Reads the whole body into memory. Refuses with `too_large` as soon as more than `maxBytes` are announced or received,
 * `timed_out` after the deadline, `invalid_argument` when the client disconnects, and `rate_limited` or `unavailable`
 * when the budget for bodies is used up. The request is left open in every case, so that the refusal can be sent.
 */
export async function readWholeBody(
  message: Readable & { readonly headers?: IncomingHttpHeaders },
  { maxBytes, memory, deadlineMs = BODY_DEADLINE_MS }: BodyLimits,
): Promise<Buffer> {
  const declared = Number(message.headers?.["content-length"] ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  // One buffer that grows, not a list of chunks: a client that sends byte by byte would cost an object for each.
  let collected: Buffer = Buffer.alloc(0);
  let size = 0;
  const append = (chunk: Buffer) => {
    if (size === 0 && chunk.byteLength === declared) {
      memory.grow(declared);
      collected = chunk;
      size = declared;
      return;
    }
    if (size + chunk.byteLength > maxBytes) throw tooLarge(maxBytes);
    if (size + chunk.byteLength > collected.byteLength) {
      const neededBytes = Math.max(FIRST_BYTES, collected.byteLength * 2, size + chunk.byteLength);
      const capacity = Math.min(maxBytes, neededBytes);
      memory.grow(capacity - collected.byteLength);
      const larger = Buffer.allocUnsafeSlow(capacity);
      collected.copy(larger, 0, 0, size);
      collected = larger;
    }
    chunk.copy(collected, size);
    size += chunk.byteLength;
  };
  // A listener and no loop over promises: each of a hundred thousand chunks would cost a promise that lives as long as the body.
  const onData = (chunk: Buffer) => {
    try {
      append(chunk);
    } catch (error) {
      reject(error as AppError);
      message.pause();
    }
  };
  const timer = setTimeout(() => {
    reject(new AppError("timed_out", "The request body took too long to arrive."));
  }, deadlineMs);
  const stopWatching = finished(message, { writable: false }, (error) => {
    if (error)
      reject(
        new AppError("invalid_argument", "The request body did not arrive whole.", {
          cause: error,
        }),
      );
    else resolve(collected.subarray(0, size));
  });
  message.on("data", onData);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    message.off("data", onData);
    message.pause();
    stopWatching();
  }
}

/** How often a streamed body is checked for progress, and the bytes that must have arrived since the last check. */
const PROGRESS_CHECK_MS = 60_000;
const PROGRESS_BYTES = 8 * 1024;

/**
 * Destroys a request whose body arrives slower than 8 KiB a minute while the daemon waits for it. For bodies that a
 * handler reads as a stream: they may take hours, but must make progress. A slow reader on this side does not count
 * against the client.
 */
export function cutStalledBody(message: IncomingMessage, checkMs = PROGRESS_CHECK_MS): void {
  // The events of a message whose client has left are over.
  if (message.complete || message.destroyed) return;
  const { socket } = message;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    const arrived = socket.bytesRead - before;
    before = socket.bytesRead;
    if (message.complete) clearInterval(timer);
    else if (message.readableLength === 0 && arrived < PROGRESS_BYTES)
      message.destroy(new AppError("timed_out", "The request body took too long to arrive."));
  }, checkMs);
  timer.unref();
  message.once("close", () => clearInterval(timer));
}

/** How often credentials are checked while a body arrives. */
const CREDENTIALS_CHECK_MS = 30_000;

/**
 * Destroys a request whose credentials are revoked while its body arrives. Its end is passed on only after another
 * check, so a handler that stores complete bodies does not store it. Rejects with `unauthenticated` when the body has arrived
 * and they were revoked.
 */
export async function cutRevokedBody(
  message: IncomingMessage,
  isStillSignedIn: () => Promise<boolean>,
  checkMs = CREDENTIALS_CHECK_MS,
): Promise<void> {
  if (message.destroyed) return;
  if (message.complete) {
    if (!(await isStillSignedIn())) throw revokedMeanwhile();
    return;
  }
  const check = async (): Promise<boolean> => {
    if (await isStillSignedIn()) return true;
    message.destroy(revokedMeanwhile());
    return false;
  };
  const fail = (error: unknown) => {
    message.destroy(error as Error);
  };
  const timer = setInterval(() => {
    check().catch(fail);
  }, checkMs);
  timer.unref();
  message.once("close", () => clearInterval(timer));
  const push = message.push.bind(message);
  message.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null) return push(chunk, encoding);
    clearInterval(timer);
    check()
      .then((isValid) => isValid && push(null))
      .catch(fail);
    return false;
  };
}

/** The refusal of a request whose credentials were revoked while its body arrived. */
export function revokedMeanwhile(): AppError {
  return new AppError("unauthenticated", "The credentials were revoked while the body arrived.");
}

/**
 * Closes the connection after the response if the request's body is still arriving: the rest would be parsed as the next
 * request, and a client that never finishes it would hold the connection.
 */
export function closeAfterUnreadBody(message: IncomingMessage, response: ServerResponse): void {
  const { headers } = message;
  const hasBody =
    headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (!hasBody || message.complete || response.headersSent) return;
  response.setHeader("Connection", "close");
  closeAfterReading(message);
}

/** How long, 5 seconds, and for how many bytes about, a client may go on sending after the response. */
const LINGER_CHECK_MS = 50;
const LINGER_CHECKS_MAX = 100;
const LINGER_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Replaces the close after the last response by one that first discards what the client still sends, within limits.
 * Closing with unread bytes resets the connection: a client that is still sending would fail with that, and never read
 * the response (RFC 9112, 9.6).
 */
function closeAfterReading(message: IncomingMessage): void {
  // A message that was destroyed has no socket left.
  if (message.destroyed) return;
  const { socket } = message;
  if (lingering.has(socket)) return;
  lingering.add(socket);
  const closeSoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (message.complete || socket.destroyed) return closeSoon();
    socket.end();
    const close = () => void socket.destroy();
    const { bytesRead } = socket;
    let checks = 0;
    // The parser discards the bytes without an event.
    const timer = setInterval(() => {
      checks += 1;
      const isTooMuch = socket.bytesRead - bytesRead > LINGER_BYTES_MAX;
      if (isTooMuch || checks >= LINGER_CHECKS_MAX) close();
    }, LINGER_CHECK_MS);
    socket.once("close", () => clearInterval(timer));
    socket.once("end", close);
    message.unpipe();
    message.once("end", close);
    message.resume();
  };
}

const lingering = new WeakSet<IncomingMessage["socket"]>();

function tooLarge(maxBytes: number): AppError {
  return new AppError("too_large", `The request body is larger than ${maxBytes} bytes.`);
}
