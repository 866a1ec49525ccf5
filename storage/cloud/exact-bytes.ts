import { Readable } from "node:stream";
import { encodingOf, openPlain } from "./content-encoding.ts";
import { BrokenOff, type ReadFailure } from "./outcomes.ts";
import type { ByteRange } from "./provider.ts";
import type { ProviderAnswer } from "./transport.ts";

/** What a download's answer holds of what was wanted. */
export type ExactBytes =
  | {
      readonly kind: "ok";
      /** Bytes of the stream, when they can be told. */
      readonly length: number | undefined;
      readonly stream: Readable;
    }
  /** The answer is a part of something else: ask for the whole, and take the range from that. */
  | { readonly kind: "ask_for_whole" }
  | { readonly kind: "range_not_satisfiable" };

/**
 * Exactly the wanted bytes of an answer of status 200 or 206, whether or not the server kept to the range or to
 * `Accept-Encoding: identity`. `size` is the whole file's length as the metadata tells it; what the answer tells is
 * believed first. The stream breaks off with `BrokenOff` and is never shorter than what was announced.
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
    const given = Number(part?.[2]) + 1 - start;
    const length = Math.min(given, end + 1 - start);
    const isShort = Number.isFinite(end) && Number(part?.[2]) < end;
    if (!isPlain || part === null || Number(part[1]) !== start || isShort || length < 1) {
      answer.discard();
      return { kind: "ask_for_whole" };
    }
    // Some servers give more than was asked for, such as everything for the first byte.
    const stream = answer.stream(given);
    return { kind: "ok", length, stream: length < given ? cut(stream, 0, length, false) : stream };
  }
  const said = toLength(headers["content-length"]);
  const whole = isPlain ? (said ?? size) : size;
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
  return { kind: "ok", length, stream: cut(openPlain(answer, said), start, length, endsThere) };
}

/**
 * The same bytes, of which the last are given when a look at the file has found nothing wrong; otherwise the stream
 * breaks off with what it found. For storages whose answers do not tell the version of the bytes that they hold.
 */
export function untilConfirmed(
  source: Readable,
  look: () => Promise<ReadFailure | undefined>,
): Readable {
  async function* bytes() {
    let held: Buffer | undefined;
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (held !== undefined) yield held;
      held = chunk;
    }
    const failure = await look();
    if (failure !== undefined) throw new BrokenOff(failure);
    if (held !== undefined) yield held;
  }
  return toStream(source, bytes());
}

function toLength(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * `length` bytes from `start` on, or everything from there without one. Where the source ends with them it must: what is
 * longer than it was told to be is something else.
 */
function cut(
  source: Readable,
  start: number,
  length: number | undefined,
  endsThere: boolean,
): Readable {
  const end = length === undefined ? Infinity : start + length;
  async function* wanted() {
    let at = 0;
    // Held back until it is known that nothing follows that must not.
    let held: Buffer | undefined;
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
        at += chunk.length;
        if (endsThere && at > end) throw broken("longer_than_said");
        if (part.length > 0 && held !== undefined) yield held;
        if (part.length > 0) held = part;
        if (at >= end && !endsThere) break;
      }
    } catch (error) {
      throw error instanceof BrokenOff ? error : broken("undecodable", error);
    }
    if (at < end && length !== undefined) throw broken("shorter_than_said");
    if (held !== undefined) yield held;
  }
  return toStream(source, wanted());
}

function toStream(source: Readable, bytes: AsyncIterable<Buffer>): Readable {
  // The generator tells of an error once it is read; until then nobody listens.
  source.on("error", () => undefined);
  const stream = Readable.from(bytes, { objectMode: false });
  // A generator that waits for the source hears of nothing else.
  stream.on("close", () => source.destroy());
  return stream;
}

function broken(note: string, cause?: unknown): BrokenOff {
  return new BrokenOff({ kind: "offline", sent: true, note }, cause);
}
