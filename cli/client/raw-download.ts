import type http from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";

/** A body that is read into a few large buffers instead of a new one for each read of the socket. */
export interface RawBody {
  /**
   * Passes the bytes to `write` in order and in large parts, and resolves after the last one. The memory of a part is reused
   * when its promise resolves. After a failure of the connection the bytes that have arrived are written first.
   * Rejects with the first error of `write`. May be called once, instead of reading `stream`.
   */
  pipeTo(write: (part: Uint8Array) => Promise<unknown>): Promise<void>;
}

/** A response with a body of known length. */
export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly stream: Readable;
  readonly raw: RawBody;
}

interface RawRequest {
  readonly http: Pick<typeof http, "validateHeaderName" | "validateHeaderValue">;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Maximum time without data while the reader waits for it. */
  readonly idleMs: number;
  /** Returns the error of a failed connection. */
  readonly toError: (error: unknown) => Error;
}

const BUFFER_BYTES = 1024 * 1024;
/** One is filled while others wait for the disk. */
const BUFFERS = 4;
/** Reads into less space cost as much as larger ones. */
const ROOM_BYTES_MIN = 64 * 1024;
const HEAD_BYTES_MAX = 64 * 1024;
/** Bytes of a slow connection are written this often, for progress and for a download that is stopped and resumed. */
const FLUSH_MS = 100;

/**
 * Sends a GET over plain http and reads the response into reused buffers: a stream takes a new one of 64 KiB for each
 * read, which costs four times the processor time of the whole download. For a response that is not plain or has no
 * length, closes the connection and resolves with undefined; the caller then repeats the request through Node's client,
 * which supports all of HTTP.
 */
export function openRaw(request: RawRequest): Promise<RawResponse | undefined> {
  const { url, signal, toError } = request;
  const head = toHead(request);
  const free = Array.from({ length: BUFFERS - 1 }, () => Buffer.allocUnsafeSlow(BUFFER_BYTES));
  /** Receives the bytes that arrive after a pause: the socket requested its memory before the pause. */
  const spare = Buffer.allocUnsafeSlow(ROOM_BYTES_MIN);
  let filling: Buffer<ArrayBuffer> | undefined = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let filled = 0;
  let from = 0;
  let left = 0;
  let write: ((part: Uint8Array) => Promise<unknown>) | undefined;
  let written: Promise<unknown> = Promise.resolve();
  let isWriting = false;
  let failure: Error | undefined;

  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    let isOpened = false;
    const ended = Promise.withResolvers<void>();
    ended.promise.catch(() => undefined);
    const socket = connect({
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: Number(url.port || 80),
      onread: {
        buffer: () => (filling === undefined ? spare : filling.subarray(filled)),
        callback,
      },
    });
    socket.setNoDelay(true);
    socket.setTimeout(request.idleMs);
    const abort = () => fail(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    socket.on("timeout", () => {
      const isExpected = !isOpened || (write !== undefined && filling !== undefined);
      if (isExpected) fail(Object.assign(new Error("no data for minutes"), { code: "ETIMEDOUT" }));
    });
    socket.on("error", fail);
    socket.on("end", () => fail(closedEarly()));
    socket.on("close", () => {
      signal.removeEventListener("abort", abort);
      fail(closedEarly());
    });
    socket.write(head);
    const flushing = setInterval(() => {
      const isWaiting = write !== undefined && failure === undefined && left > 0 && !isWriting;
      if (!isWaiting || filling === undefined || filled === from) return;
      const next = free.pop();
      if (next === undefined) return;
      flush();
      filling = next;
    }, FLUSH_MS).unref();
    socket.once("close", () => clearInterval(flushing));

    function fail(error: Error): void {
      if (failure !== undefined || (isOpened && left === 0)) return;
      failure = signal.aborted ? (signal.reason as Error) : toError(error);
      socket.destroy();
      if (!isOpened) return reject(failure);
      flush();
      const reason = failure;
      written.then(() => ended.reject(reason), ended.reject);
    }

    /** Returns false to pause the socket. */
    function callback(length: number, memory: Uint8Array): boolean {
      if (failure !== undefined) return false;
      // The socket has chosen its memory before the last flush.
      const isInPlace =
        memory.buffer === filling?.buffer && memory.byteOffset === filling.byteOffset + filled;
      if (!isInPlace) filling?.set(memory.subarray(0, length), filled);
      filled += length;
      if (!isOpened) return open(length);
      left -= length;
      return proceed();
    }

    function open(length: number): boolean {
      const memory = filling as Buffer;
      const end = memory.subarray(0, filled).indexOf("\r\n\r\n", Math.max(0, filled - length - 3));
      if (end === -1 && filled <= HEAD_BYTES_MAX) return true;
      const response = end === -1 ? undefined : readHead(memory.toString("latin1", 0, end));
      from = end + 4;
      if (response === undefined || filled - from > response.length) {
        failure = closedEarly();
        socket.destroy();
        resolve(undefined);
        return false;
      }
      isOpened = true;
      left = response.length - (filled - from);
      const raw: RawBody = {
        async pipeTo(to) {
          write = to;
          if (proceed()) socket.resume();
          await ended.promise;
        },
      };
      resolve({ ...response, raw, stream: toStream(raw, () => fail(closedEarly())) });
      return false;
    }

    /** Passes full buffers on. Returns whether the socket can continue to read. */
    function proceed(): boolean {
      if (left < 0) {
        left = 0;
        failure = toError(new Error("the response is longer than announced"));
        socket.destroy();
        ended.reject(failure);
        return false;
      }
      if (write === undefined) return false;
      if (left === 0) {
        flush();
        socket.destroy();
        written.then(() => ended.resolve(), ended.reject);
        return false;
      }
      if (BUFFER_BYTES - filled >= ROOM_BYTES_MIN) return true;
      flush();
      filling = free.pop();
      return filling !== undefined;
    }

    /** Writes the received bytes; their buffer is filled again afterwards. */
    function flush(): void {
      const buffer = filling;
      const to = write;
      if (buffer === undefined || to === undefined) return;
      const part = buffer.subarray(from, filled);
      filling = undefined;
      from = 0;
      filled = 0;
      if (part.byteLength === 0) return;
      written = written.then(async () => {
        isWriting = true;
        await to(part);
        isWriting = false;
        if (filling !== undefined || left === 0 || failure !== undefined) {
          free.push(buffer);
          return;
        }
        filling = buffer;
        socket.resume();
      });
      written.catch((error: unknown) => {
        failure ??= error as Error;
        socket.destroy();
        ended.reject(error);
      });
    }
  });
}

function toHead({ http: { validateHeaderName, validateHeaderValue }, url, headers }: RawRequest) {
  const lines = [`GET ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`];
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    lines.push(`${name}: ${value}`);
  }
  return [...lines, "Connection: close", "", ""].join("\r\n");
}

/** Parses the head of a response with a plain body of stated length; undefined for any other response. */
function readHead(
  text: string,
):
  | { readonly status: number; readonly headers: IncomingHttpHeaders; readonly length: number }
  | undefined {
  const [first = "", ...lines] = text.split("\r\n");
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)(?: |$)/.exec(first)?.[1]);
  // These two statuses have no body, even with a length.
  if (Number.isNaN(status) || status === 204 || status === 304) return undefined;
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const line of lines) {
    const match = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([^\0\r\n]*?)[ \t]*$/.exec(line);
    const name = match?.[1]?.toLowerCase();
    // Refuses ambiguous headers.
    if (name === undefined || (name in headers && name !== "set-cookie")) return undefined;
    headers[name] = match?.[2] ?? "";
  }
  const length = headers["content-length"] ?? "";
  const isPlain = !("transfer-encoding" in headers) && !("content-encoding" in headers);
  return isPlain && /^\d{1,15}$/.test(length)
    ? { status, headers, length: Number(length) }
    : undefined;
}

/** Converts a raw body to a stream, copying each part. */
function toStream(raw: RawBody, close: () => void): Readable {
  let isStarted = false;
  let goOn = () => {};
  const stream = new Readable({
    read() {
      goOn();
      if (isStarted) return;
      isStarted = true;
      raw
        .pipeTo(async (part) => {
          if (stream.push(Buffer.from(part))) return;
          await new Promise<void>((resolve) => {
            goOn = resolve;
          });
        })
        .then(
          () => stream.push(null),
          (error: unknown) => stream.destroy(error as Error),
        );
    },
    destroy(error, done) {
      goOn();
      close();
      done(error);
    },
  });
  // An error without a reader must not end the process.
  stream.on("error", () => undefined);
  return stream;
}

function closedEarly(): Error {
  return Object.assign(new Error("the connection closed early"), { code: "ECONNRESET" });
}
