import type { Readable } from "node:stream";
import { isFetched, type CacheRequest } from "./cache-request.ts";
import type { Fetched, Fill } from "./fill.ts";

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
