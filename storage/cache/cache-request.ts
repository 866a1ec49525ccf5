import type { CachedBytes } from "./cache-hits.ts";
import type { Fetched } from "./fill.ts";

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
