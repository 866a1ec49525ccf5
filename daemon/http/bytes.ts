import { type ServerResponse, validateHeaderValue } from "node:http";
import { pipeline } from "node:stream/promises";
import { discard } from "../../storage/owner.ts";
import { toMediaType, UNKNOWN_MEDIA_TYPE } from "../contract/media-type.ts";
import { isNotModified, isSameVersion, type Validators } from "./conditional.ts";
import type { AnswerHeaders, BytesAnswer, ByteSource, ServerRequest } from "./handle.ts";
import { toHeaderList, type HeaderList } from "./replies.ts";

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Bodies up to this size, in bytes, are sent as a latin1 string. */
const TEXT_BYTES = 16 * 1024;

/** Sends a response of bytes and returns its status, as a promise when the body is streamed. */
export type SendBytes = (
  request: ServerRequest,
  response: ServerResponse,
  answer: BytesAnswer,
) => Promise<number> | number;

/**
 * Creates the function that sends bytes: 200, 206 for a single range, 304 when the client's copy is current, 416 for an
 * unsatisfiable range, HEAD without a body. A request of several ranges gets the whole (RFC 9110, 14.2). Writes to Node's
 * own response: a web stream costs a third of the throughput. Resolves when everything is sent or the client has
 * disconnected. `source.release` has been called by then, and also when the call throws or rejects. The head is built and
 * checked before the source is opened.
 * @param base default headers, which those of the response override
 */
export function createByteSender(base: AnswerHeaders): SendBytes {
  /** Built heads of responses from memory. Their views return the same object again, so each head is built once. */
  const heads = new WeakMap<BytesAnswer, HeaderList>();
  return (request, response, answer) => {
    const { bytes: source, headers } = answer;
    const isWhole = source.buffer !== undefined && asksForAll(request);
    let sent: Promise<number> | number | undefined;
    try {
      const cachedHead = isWhole ? heads.get(answer) : undefined;
      if (cachedHead !== undefined) return end(response, 200, cachedHead, source.buffer);
      const head = toHeaderList(base, headers ?? NO_HEADERS);
      if (answer.status !== 200 && source.buffer !== undefined) {
        // A refusal in a media type of its own has no ranges and is never cached.
        const contentType = toMediaType(source.contentType) ?? UNKNOWN_MEDIA_TYPE;
        head.push("Content-Type", contentType, "Content-Length", String(source.buffer.byteLength));
        return end(response, answer.status, head, source.buffer);
      }
      sent = send(request, response, source, head);
      if (isWhole) heads.set(answer, head);
    } finally {
      if (typeof sent !== "object") source.release?.();
    }
    return typeof sent === "number" ? sent : sent.finally(() => source.release?.());
  };
}

const NO_HEADERS: AnswerHeaders = {};

/** Sends the source with the headers that follow from it. */
function send(
  request: ServerRequest,
  response: ServerResponse,
  source: ByteSource,
  head: HeaderList,
): Promise<number> | number {
  const { size, lastModified } = source;
  const contentType = toMediaType(source.contentType) ?? UNKNOWN_MEDIA_TYPE;
  const etag = source.etag === undefined ? undefined : `"${source.etag}"`;
  const validators: Validators = { etag, lastModified };
  if (etag !== undefined) head.push("ETag", etag);
  if (lastModified !== undefined) head.push("Last-Modified", lastModified.toUTCString());

  if (isNotModified(request, validators)) return end(response, 304, head);
  if (size === undefined) {
    head.push("Content-Type", contentType);
    if (request.method === "HEAD") return end(response, 200, head);
    return stream(response, 200, head, source, undefined);
  }
  head.push("Accept-Ranges", "bytes");
  const range = rangeOf(request, size, validators);
  if (range === "unsatisfiable") {
    head.push("Content-Range", `bytes */${size}`, "Content-Length", "0");
    return end(response, 416, head);
  }
  const status = range === undefined ? 200 : 206;
  const length = range === undefined ? size : range.end - range.start + 1;
  head.push("Content-Type", contentType, "Content-Length", String(length));
  if (range !== undefined) head.push("Content-Range", `bytes ${range.start}-${range.end}/${size}`);
  if (request.method === "HEAD" || size === 0) return end(response, status, head);
  if (source.buffer !== undefined) {
    const part =
      range === undefined ? source.buffer : source.buffer.subarray(range.start, range.end + 1);
    return end(response, status, head, part);
  }
  return stream(response, status, head, source, range);
}

function end(
  response: ServerResponse,
  status: number,
  head: HeaderList,
  body?: Uint8Array,
): number {
  response.writeHead(status, head);
  // Node sends text together with the head in one write; a buffer costs a second one, which takes longer than the copy.
  if (body !== undefined && body.byteLength <= TEXT_BYTES)
    response.end(
      Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1"),
      "latin1",
    );
  else response.end(body);
  return status;
}

async function stream(
  response: ServerResponse,
  status: number,
  head: HeaderList,
  source: ByteSource,
  range: Range | undefined,
): Promise<number> {
  assertHead(head);
  cutUnreadResponse(response);
  const { send, sendWhole } = source;
  if (send !== undefined || (sendWhole !== undefined && range === undefined)) {
    response.writeHead(status, head);
    try {
      await (send === undefined ? sendWhole?.(response) : send(range, response));
      response.end();
    } catch {
      response.destroy();
    }
    return status;
  }
  // Opened before the head is written, so that a source that fails to open gets an error response.
  const readable = await source.open(range);
  try {
    response.writeHead(status, head);
    if (readable.sendTo === undefined) await pipeline(readable, response);
    else {
      await readable.sendTo(response);
      response.end();
    }
  } catch {
    // The client disconnected or the source failed. Cuts the connection, so that the client sees a truncated body and
    // not a complete one; the source reports its own failure.
    response.destroy();
  } finally {
    // A pipeline into a response that is closed already throws and leaves its source open.
    discard(readable);
  }
  return status;
}

/** Throws for a header that Node refuses to write, before the response begins: the client gets an error response. */
function assertHead(head: HeaderList): void {
  for (let at = 0; at < head.length; at += 2)
    validateHeaderValue(head[at] ?? "", head[at + 1] ?? "");
}

/** How often a streamed response is checked for progress, and the bytes that its client must have taken since. */
const PROGRESS_CHECK_MS = 60_000;
const PROGRESS_BYTES = 8 * 1024;

/**
 * Closes the connection of a client that takes a response slower than 8 KiB a minute while the daemon waits for it: the
 * response may hold a git process, a file or a request to a provider. A slow source does not count against the client.
 */
export function cutUnreadResponse(response: ServerResponse, checkMs = PROGRESS_CHECK_MS): void {
  const { socket } = response;
  if (socket === null || response.destroyed) return;
  let sentBytes = 0;
  let waited = false;
  const timer = setInterval(() => {
    const sentBefore = sentBytes;
    sentBytes = socket.bytesWritten - socket.writableLength;
    const waits = response.writableNeedDrain;
    if (waits && waited && sentBytes - sentBefore < PROGRESS_BYTES) response.destroy();
    waited = waits;
  }, checkMs);
  timer.unref();
  response.once("close", () => clearInterval(timer));
}

/** Returns whether a request is neither conditional nor for a range. */
function asksForAll({ method, headers }: ServerRequest): boolean {
  return (
    method === "GET" &&
    headers.range === undefined &&
    headers["if-none-match"] === undefined &&
    headers["if-modified-since"] === undefined
  );
}

/** Returns the range of a request; undefined for the whole. */
export function rangeOf(
  request: Pick<ServerRequest, "headers" | "method">,
  size: number,
  validators: Validators,
): Range | "unsatisfiable" | undefined {
  const { range, "if-range": ifRange } = request.headers;
  if (range === undefined || request.method === "HEAD") return undefined;
  if (typeof ifRange === "string" && !isSameVersion(ifRange, validators)) return undefined;
  const match = /^bytes=(\d*)-(\d*)$/i.exec(range.trim());
  if (match === null) return undefined;
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const lastByte = last === "" ? size - 1 : Number(last);
  if (last !== "" && lastByte < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: Math.min(lastByte, size - 1) };
}
