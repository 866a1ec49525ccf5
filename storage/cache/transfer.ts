import type { Readable } from "node:stream";
import type { Fetched, Fill } from "./fill.ts";
import type { CachedBytes } from "./cache-hits.ts";
import type { AccountId, ConnectionId } from "../tables/vault/ids.ts";

/** One fetch and the requests that share it. */
export interface Transfer<Meta, Failure> {
  readonly controller: AbortController;
  readonly started: Promise<Started<Meta> | Failure>;
  /** Requests that wait for it or read from it. */
  users: number;
  /** Called when the last request has left. */
  whenLeft: () => void;
  /** Whether new requests no longer join this transfer: they find the cached bytes, or start a fetch. */
  leave(): void;
}

/** How the requests that share a fetch get its bytes. */
export type Started<Meta> =
  | { readonly kind: "buffer"; readonly meta: Meta; readonly buffer: Buffer }
  | {
      readonly kind: "fill";
      readonly meta: Meta;
      readonly size: number | undefined;
      readonly fill: Fill;
    }
  /** The file exceeds the user's limit: the first request gets the stream, the others fetch on their own. */
  | { readonly kind: "through"; readonly fetched: Fetched<Meta>; isTaken: boolean };

/** Whether a fetch has bytes for its waiting requests, or failed. */
export function isStarted<Meta, Failure extends { readonly kind: string }>(
  outcome: Started<Meta> | Failure,
): outcome is Started<Meta> {
  return outcome.kind === "buffer" || outcome.kind === "fill" || outcome.kind === "through";
}

/** Fetches the bytes from `start` on (up to `end`) of the version that was fetched first; undefined when that is impossible. */
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

/** The requested bytes, and how to fetch them on a miss. */
export interface CacheRequest<Meta, Failure extends { readonly kind: string }> {
  readonly userId: AccountId;
  readonly connectionId: ConnectionId;
  /** The key of the requested bytes (64 hex digits); undefined when their version is still unknown. */
  readonly key: string | undefined;
  /** Simultaneous requests with the same text share one fetch. */
  readonly flight: string;
  /**
   * Fetches the bytes; with `from` only those from its `start` (up to its `end`), of exactly the version of
   * `from.meta`. The signal is aborted when no request waits any longer.
   */
  fetch(from: FetchFrom<Meta> | undefined, signal: AbortSignal): Promise<Fetched<Meta> | Failure>;
}

/** A range of bytes that were fetched before. */
export interface FetchFrom<Meta> {
  readonly start: number;
  readonly end: number | undefined;
  readonly meta: Meta;
}

export type CacheOutcome<Meta, Failure> =
  | {
      readonly kind: "ok";
      readonly bytes: CachedBytes;
      /** The metadata that `fetch` returned; undefined when the bytes were cached under the requested key. */
      readonly meta: Meta | undefined;
    }
  | Failure;

/** Returns whether a fetch returned bytes. */
export function isFetched<Meta, Failure extends { readonly kind: string }>(
  outcome: Fetched<Meta> | Failure,
): outcome is Fetched<Meta> {
  return outcome.kind === "ok";
}

/** Serves bytes that are not cached. A range of them is fetched again, as a range. */
export function passThrough<Meta, Failure extends { readonly kind: string }>(
  request: CacheRequest<Meta, Failure>,
  fetched: Fetched<Meta>,
  controller: AbortController,
): CacheOutcome<Meta, Failure> {
  const { size, meta, stream, send } = fetched;
  let current: Readable = stream;
  const bytes: CachedBytes = {
    size,
    buffer: undefined,
    sendWhole: send,
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

/** Failed to fetch a range of bytes that are not cached; `failure` is the result of `fetch`. */
export class PartFailed extends Error {
  readonly failure: { readonly kind: string };

  constructor(failure: { readonly kind: string }) {
    super(`a part could not be fetched: ${failure.kind}`);
    this.name = "PartFailed";
    this.failure = failure;
  }
}
