import { isDiskFull, isOutOfFiles } from "../../../../storage/system-errors.ts";
import { StorageError } from "../../../../storage/engine/database.ts";
import { AppError, type ErrorCode } from "../../../errors.ts";
import type { AccountId } from "../../../../storage/tables/vault/ids.ts";

/** Files up to this size, in bytes, are held in memory, so that several can be transferred at the same time. */
export const SMALL_BYTES = 256 * 1024;

/** Files of one batch that are transferred at the same time. With `SMALL_BYTES` it bounds the memory of a batch. */
export const FILES_AT_ONCE = 12;

/** Batches of one account at the same time. */
const BATCHES_AT_ONCE = 4;
const RETRY_AFTER_SECONDS = 2;

/** Reasons why one file was not transferred, in addition to the failures of its provider. */
export interface Refused {
  readonly kind: "refused";
  readonly code: ErrorCode | "internal";
  readonly detail: string;
}

/** Returns the refusal of one file for an error; a bug becomes `internal`, and the caller logs it. */
export function toRefused(error: unknown): Refused {
  if (error instanceof AppError) {
    const detail = error.data.failures?.[0]?.msg ?? error.message;
    return { kind: "refused", code: error.code, detail };
  }
  if (isDiskFull(error))
    return { kind: "refused", code: "storage_full", detail: "The server's disk is full." };
  if (isOutOfFiles(error) || (error instanceof StorageError && error.code === "busy"))
    return { kind: "refused", code: "unavailable", detail: "The server is busy." };
  return { kind: "refused", code: "internal", detail: "Internal Server Error" };
}

/**
 * Counts a batch of an account and returns the function that uncounts it, to be called once. Refuses with `rate_limited` while
 * the account has too many.
 */
export type BeginBatch = (userId: AccountId) => () => void;

export function createBatchCounter(): BeginBatch {
  const running = new Map<string, number>();
  return (userId) => {
    const count = running.get(userId) ?? 0;
    if (count >= BATCHES_AT_ONCE)
      throw new AppError(
        "rate_limited",
        `You have ${BATCHES_AT_ONCE} batches under way. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    running.set(userId, count + 1);
    return () => {
      const remaining = (running.get(userId) ?? 1) - 1;
      if (remaining > 0) running.set(userId, remaining);
      else running.delete(userId);
    };
  };
}
