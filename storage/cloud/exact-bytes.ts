import { pipeline, Readable, Transform } from "node:stream";
import { encodingOf, openPlain } from "./content-encoding.ts";
import { StreamAborted, type ReadFailure } from "./outcomes.ts";
import type { ByteRange } from "./provider.ts";
import type { ProviderAnswer } from "./transport.ts";

/** How a download's response matches the requested range. */
export type ExactBytes =
  | {
      readonly kind: "ok";
      /** Length of the stream in bytes, if known. */
      readonly length: number | undefined;
      readonly stream: Readable;
    }
  /** The response is a different range: request the whole file and cut the range from it. */
  | { readonly kind: "ask_for_whole" }
  | { readonly kind: "range_not_satisfiable" };

/**
 * Returns exactly the requested bytes of a response of status 200 or 206, even if the server ignored the range or
 * `Accept-Encoding: identity`. `size` is the whole file's length from the metadata; the length in the response takes
 * precedence. The stream ends with `StreamAborted` when it is aborted, and is never shorter than announced.
 */
export function toExactBytes(
  answer: ProviderAnswer,
  range: ByteRange | undefined,
  size: number | undefined,
): ExactBytes {
  const { status, headers } = answer;
  const isPlain = encodingOf(answer) === undefined;
  if (status === 206) {
    const part = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(
      headers["content-range"] ?? "",
    );
    const start = range?.start ?? 0;
    const total = part?.[3] === "*" || part === null ? size : Number(part[3]);
    const end = Math.min(range?.end ?? Infinity, (total ?? Infinity) - 1);
    const available = Number(part?.[2]) + 1 - start;
    const length = Math.min(available, end + 1 - start);
    const isShort = Number.isFinite(end) && Number(part?.[2]) < end;
    if (!isPlain || part === null || Number(part[1]) !== start || isShort || length < 1) {
      answer.discard();
      return { kind: "ask_for_whole" };
    }
    // Some servers return more than the requested range, such as the whole file for its first byte.
    const stream = answer.stream(available);
    return {
      kind: "ok",
      length,
      stream: length < available ? cut(stream, 0, length, false) : stream,
    };
  }
  const declared = toLength(headers["content-length"]);
  const whole = isPlain ? (declared ?? size) : size;
  if (range === undefined && isPlain)
    return { kind: "ok", length: whole, stream: answer.stream(whole) };
  const start = range?.start ?? 0;
  if (range !== undefined && whole !== undefined && start >= whole) {
    answer.discard();
    return { kind: "range_not_satisfiable" };
  }
  const end = Math.min(range?.end ?? Infinity, (whole ?? Infinity) - 1);
  const length = Number.isFinite(end) ? end + 1 - start : undefined;
  const endsThere = whole !== undefined && end === whole - 1;
  return { kind: "ok", length, stream: cut(openPlain(answer, declared), start, length, endsThere) };
}

/**
 * Streams the same bytes, but holds back the last ones until `check` has verified the file; otherwise the stream ends with
 * the failure that it found. For storages whose responses do not state the version of the bytes.
 */
export function untilConfirmed(
  source: Readable,
  look: () => Promise<ReadFailure | undefined>,
): Readable {
  let lastChunk: Buffer | undefined;
  const stream = new Transform({
    highWaterMark: READ_AHEAD_BYTES,
    transform(chunk: Buffer, _encoding, done) {
      const previous = lastChunk;
      lastChunk = chunk;
      done(null, previous);
    },
    flush(done) {
      look().then((failure) => {
        if (failure === undefined) done(null, lastChunk);
        else done(new StreamAborted(failure));
      }, done);
    },
  });
  // Until the stream is read, nothing else listens for its errors.
  stream.on("error", () => undefined);
  pipeline(source, stream, () => undefined);
  return stream;
}

/** Bytes that are received while the reader is busy with earlier ones. */
const READ_AHEAD_BYTES = 256 * 1024;

function toLength(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * Cuts `length` bytes from `start` on, or everything from there if `length` is absent. If the source should end with these
 * bytes, a longer source is an error: it is a different file.
 */
function cut(
  source: Readable,
  start: number,
  length: number | undefined,
  endsThere: boolean,
): Readable {
  const end = length === undefined ? Infinity : start + length;
  async function* section() {
    let at = 0;
    // Held back until it is certain that no unexpected bytes follow.
    let lastPart: Buffer | undefined;
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
        at += chunk.length;
        if (endsThere && at > end) throw broken("longer_than_said");
        if (part.length > 0 && lastPart !== undefined) yield lastPart;
        if (part.length > 0) lastPart = part;
        if (at >= end && !endsThere) break;
      }
    } catch (error) {
      throw error instanceof StreamAborted ? error : broken("undecodable", error);
    }
    if (at < end && length !== undefined) throw broken("shorter_than_said");
    if (lastPart !== undefined) yield lastPart;
  }
  return toStream(source, section());
}

function toStream(source: Readable, bytes: AsyncIterable<Buffer>): Readable {
  // The generator reports an error once it is read; until then the stream needs a listener.
  source.on("error", () => undefined);
  const stream = Readable.from(bytes, { objectMode: false });
  // A generator that waits for the source notices no other event.
  stream.on("close", () => source.destroy());
  return stream;
}

function broken(note: string, cause?: unknown): StreamAborted {
  return new StreamAborted({ kind: "offline", sent: true, note }, cause);
}
