import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { isNotModified, isSameVersion, type Validators } from "./conditional.ts";
import type { AnswerHeaders, BytesAnswer, ByteSource, ServerRequest } from "./handle.ts";
import { toHeaderList, type HeaderList } from "./replies.ts";

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Bodies up to this size are sent as text of one byte a character. */
const TEXT_BYTES = 16 * 1024;

/** Sends the bytes of an answer; the status is there at once when nothing is streamed. */
export type SendBytes = (
  request: ServerRequest,
  response: ServerResponse,
  answer: BytesAnswer,
) => Promise<number> | number;

/**
 * Makes the function that answers with bytes: 200, 206 for one range, 304 when the client's copy is current, 416 for a
 * range outside, HEAD without a body. Several ranges at once are answered whole, as HTTP allows. Writes on Node's own
 * response: a web stream costs a third of the throughput. Resolves with the status when all is sent or the
 * client has gone; `source.release` has been called by then.
 * @param base headers of every answer that has none of its own by these names
 */
export function createByteSender(base: AnswerHeaders): SendBytes {
  /** What is in memory may be answered with one and the same object again and again: its head is made once. */
  const heads = new WeakMap<BytesAnswer, HeaderList>();
  return (request, response, answer) => {
    const { bytes: source, headers } = answer;
    const isWhole = source.buffer !== undefined && asksForAll(request);
    const known = isWhole ? heads.get(answer) : undefined;
    if (known !== undefined) {
      source.release?.();
      return end(response, 200, known, source.buffer);
    }
    const head = toHeaderList(base, headers ?? NO_HEADERS);
    const sent = send(request, response, source, head);
    if (isWhole) heads.set(answer, head);
    if (typeof sent !== "number") return sent.finally(() => source.release?.());
    source.release?.();
    return sent;
  };
}

const NO_HEADERS: AnswerHeaders = {};

/** Adds to `head` what follows from the source. */
function send(
  request: ServerRequest,
  response: ServerResponse,
  source: ByteSource,
  head: HeaderList,
): Promise<number> | number {
  const { size, contentType, lastModified } = source;
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
  if (source.send !== undefined) {
    response.writeHead(status, head);
    try {
      await source.send(range, response);
      response.end();
    } catch {
      response.destroy();
    }
    return status;
  }
  // Opened before the head is written: a source that fails at once still gets a proper error answer.
  const readable = await source.open(range);
  response.writeHead(status, head);
  try {
    await pipeline(readable, response);
  } catch {
    // The client has gone or the source broke off. The connection is closed without its last bytes, so that
    // the client sees a short body and never takes it for the whole; the source reports its own failure.
    response.destroy();
  }
  return status;
}

/** Whether nothing but the bytes themselves can be the answer. */
function asksForAll({ method, headers }: ServerRequest): boolean {
  return (
    method === "GET" &&
    headers.range === undefined &&
    headers["if-none-match"] === undefined &&
    headers["if-modified-since"] === undefined
  );
}

function rangeOf(
  request: ServerRequest,
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
  const wanted = last === "" ? size - 1 : Number(last);
  if (last !== "" && wanted < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: Math.min(wanted, size - 1) };
}
