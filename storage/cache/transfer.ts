import type { Readable } from "node:stream";
import type { Fetched, Fill } from "./fill.ts";
import type { CachedBytes } from "./cache-hits.ts";

/** One fetch and those who share it. */
export interface Transfer<Meta, Failure> {
  readonly controller: AbortController;
  readonly started: Promise<Started<Meta> | Failure>;
  /** Requests that wait for it or read from it. */
  users: number;
  /** Called when the last of them has gone. */
  whenLeft: () => void;
  /** From here on newcomers begin a fetch of their own, or find the bytes. */
  leave(): void;
}

/** How those who share a fetch get its bytes. */
export type Started<Meta> =
  | { readonly kind: "buffer"; readonly meta: Meta; readonly buffer: Buffer }
  | {
      readonly kind: "fill";
      readonly meta: Meta;
      readonly size: number | undefined;
      readonly fill: Fill;
    }
  /** Larger than the user's cache may be: the first taker has the stream, the others fetch for themselves. */
  | { readonly kind: "through"; readonly fetched: Fetched<Meta>; isTaken: boolean };

/** Whether a fetch has bytes for those who wait, or ended with a failure. */
export function isStarted<Meta, Failure extends { readonly kind: string }>(
  outcome: Started<Meta> | Failure,
): outcome is Started<Meta> {
  return outcome.kind === "buffer" || outcome.kind === "fill" || outcome.kind === "through";
}

/** The bytes from `start` on (up to `end`), of the version that was fetched first; undefined when they cannot be had. */
export async function fetchRest<Meta, Failure extends { readonly kind: string }>(
  request: CacheRequest<Meta, Failure>,
  transfer: Transfer<Meta, Failure>,
  meta: Meta,
  start: number,
  end?: number,
): Promise<Readable | undefined> {
  const more = await request.fetch({ start, end, meta }, transfer.controller.signal);
  return isFetched<Meta, Failure>(more) ? more.stream : undefined;
}

/** What is wanted, and how to get it when it is not there. */
export interface CacheRequest<Meta, Failure extends { readonly kind: string }> {
  readonly userId: string;
  readonly connectionId: string;
  /** The key of the wanted bytes (64 hex digits); undefined when nothing is known of them yet. */
  readonly key: string | undefined;
  /** Requests with the same text at the same time share one fetch. */
  readonly flight: string;
  /**
   * Fetches the bytes; with `from` only those from there on (up to `end`), of exactly the version of `from.meta`.
   * The signal aborts when nobody waits any more.
   */
  fetch(from: FetchFrom<Meta> | undefined, signal: AbortSignal): Promise<Fetched<Meta> | Failure>;
}

/** A part of bytes that were fetched before. */
export interface FetchFrom<Meta> {
  readonly start: number;
  readonly end: number | undefined;
  readonly meta: Meta;
}

export type CacheOutcome<Meta, Failure> =
  | {
      readonly kind: "ok";
      readonly bytes: CachedBytes;
      /** What `fetch` said of the bytes; undefined when they were at hand under the wanted key. */
      readonly meta: Meta | undefined;
    }
  | Failure;

/** Whether a fetch has brought bytes. */
export function isFetched<Meta, Failure extends { readonly kind: string }>(
  outcome: Fetched<Meta> | Failure,
): outcome is Fetched<Meta> {
  return outcome.kind === "ok";
}

/** Bytes that are not kept. A part of them is fetched anew, as a part. */
export function passThrough<Meta, Failure extends { readonly kind: string }>(
  request: CacheRequest<Meta, Failure>,
  fetched: Fetched<Meta>,
  controller: AbortController,
): CacheOutcome<Meta, Failure> {
  const { size, meta, stream } = fetched;
  let current: Readable = stream;
  const bytes: CachedBytes = {
    size,
    buffer: undefined,
    async open(span) {
      const isWhole = span === undefined || (span.start === 0 && span.end + 1 === size);
      if (isWhole && current === stream) return stream;
      current.destroy();
      const from = { start: span?.start ?? 0, end: span?.end, meta };
      const part = await request.fetch(from, controller.signal);
      if (!isFetched<Meta, Failure>(part)) throw new PartFailed(part);
      current = part.stream;
      return current;
    },
    release: () => {
      current.destroy();
      controller.abort();
    },
  };
  return { kind: "ok", bytes, meta };
}

/** A part of bytes that are not kept could not be fetched; `failure` is what `fetch` returned. */
export class PartFailed extends Error {
  readonly failure: { readonly kind: string };

  constructor(failure: { readonly kind: string }) {
    super(`a part could not be fetched: ${failure.kind}`);
    this.name = "PartFailed";
    this.failure = failure;
  }
}
