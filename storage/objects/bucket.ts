import { StorageError } from "../engine/database.ts";
import { mayRetryRead, type ReadFailure } from "../cloud/outcomes.ts";
import { callAgain, READS_MAX, type RetryDeps } from "../cloud/retrying.ts";
import type { BucketClient } from "../s3/client.ts";
import { isRefused, type Refused } from "../s3/failures.ts";

/** Sizes of uploads; tests use small ones. */
export interface BucketLimits {
  /** Bytes of a part, and the largest file that is sent as one request. Servers require at least 5 MiB. */
  readonly partBytes: number;
  /** Maximum number of parts of one upload; longer files have larger parts. */
  readonly partsMax: number;
  /** Number of parts that are sent concurrently; each is in memory. */
  readonly partsAtOnce: number;
}

/** A folder of a bucket, with the collaborators of its operations. */
export interface Bucket {
  readonly client: BucketClient;
  /** Prefix of all keys: empty, or ends in a slash. */
  readonly root: string;
  readonly limits: BucketLimits;
  readonly retries: RetryDeps;
  /** Aborts all running requests. */
  readonly signal: AbortSignal;
}

/** Sends an idempotent request and retries it with backoff. */
export function persist<T extends { readonly kind: string }>(
  { retries, signal }: Pick<Bucket, "retries" | "signal">,
  send: () => Promise<T | Refused>,
): Promise<T | Refused> {
  const toRetry = (outcome: T | Refused) =>
    isRefused(outcome) && mayRetryRead(outcome.failure) ? outcome.failure : undefined;
  return callAgain(retries, { callsMax: READS_MAX, signal, toRetry }, send);
}

/** Returns the error of a failed bucket request: `full` when the bucket has no room, else `busy`. */
export function toStorageError(
  operation: string,
  failure: ReadFailure,
  cause?: unknown,
): StorageError {
  const reason = failure.note === undefined ? failure.kind : `${failure.kind}, ${failure.note}`;
  return failure.kind === "quota_exceeded"
    ? new StorageError("full", `the bucket has no room: ${operation}`, { cause })
    : new StorageError("busy", `the bucket refused ${operation} (${reason})`, { cause });
}
