import { StorageError } from "../engine/database.ts";
import { mayRetryRead, type ReadFailure } from "../cloud/outcomes.ts";
import { callAgain, READS_MAX, type RetryDeps } from "../cloud/retrying.ts";
import type { BucketClient } from "../s3/client.ts";
import { isRefused, type Refused } from "../s3/failures.ts";

/** Sizes of uploads; tests take small ones. */
export interface BucketLimits {
  /** Bytes of a part, and up to which a file goes out as one request. Servers want 5 MiB at least. */
  readonly partBytes: number;
  /** Parts of one upload at most: longer files have longer parts. */
  readonly partsMax: number;
  /** Parts on their way at once, each held in memory. */
  readonly partsAtOnce: number;
}

/** A folder of a bucket, and what work in it needs. */
export interface Bucket {
  readonly client: BucketClient;
  /** What the keys of everything here begin with: empty, or ends in a slash. */
  readonly root: string;
  readonly limits: BucketLimits;
  readonly retries: RetryDeps;
  /** Ends everything that is under way. */
  readonly signal: AbortSignal;
}

/** Sends what does no harm twice, again while that may help. */
export function persist<T extends { readonly kind: string }>(
  { retries, signal }: Pick<Bucket, "retries" | "signal">,
  send: () => Promise<T | Refused>,
): Promise<T | Refused> {
  const toRetry = (outcome: T | Refused) =>
    isRefused(outcome) && mayRetryRead(outcome.failure) ? outcome.failure : undefined;
  return callAgain(retries, { callsMax: READS_MAX, signal, toRetry }, send);
}

/** The failure of a store whose bucket does not do its part: `full` when it has no room, else `busy`. */
export function toStorageError(what: string, failure: ReadFailure): StorageError {
  const why = failure.note === undefined ? failure.kind : `${failure.kind}, ${failure.note}`;
  return failure.kind === "quota_exceeded"
    ? new StorageError("full", `the bucket has no room: ${what}`)
    : new StorageError("busy", `the bucket refused ${what} (${why})`);
}
