import type { ZodType } from "zod";
import type { Transaction } from "../../storage/engine/database.ts";

/** The arguments of a job's work besides its payload. */
export interface JobContext {
  readonly id: number;
  /** 1 at the first attempt. */
  readonly attempt: number;
  /** Aborted when the daemon stops (the attempt then does not count) or when the attempt times out. */
  readonly signal: AbortSignal;
}

/** A kind of job. A job runs at least once, so its work must be idempotent. */
export interface JobKind {
  readonly kind: string;
  /** Maximum number of concurrent jobs in this process; 1. */
  readonly concurrency?: number;
  /**
   * Serves the accounts of waiting jobs round robin, and keeps one of several slots for another account than the one that
   * has all others. False.
   */
  readonly inTurns?: boolean;
  /** With `inTurns`: maximum number of concurrent jobs of one account; all slots but one when it is absent. */
  readonly perAccountMax?: number;
  /** Attempts before the job is dead-lettered; 8. */
  readonly attemptsMax?: number;
  /** The delay before the second attempt, doubled for each further one up to `retryMaxMs`; 5 s, 1 h. */
  readonly retryFirstMs?: number;
  readonly retryMaxMs?: number;
  /** Time after which the signal of an attempt is aborted; 15 min. */
  readonly timeoutMs?: number;
  /**
   * Resolves when the job is done. A `PermanentJobError` dead-letters it at once; any other error causes a retry;
   * after a `RetryLaterError` not before its time. A `PostponedJobError` releases it until its time, without an attempt.
   */
  run(payload: unknown, context: JobContext): Promise<void>;
  /** Records that the work will not be done: called in the transaction that dead-letters or cancels the job. */
  onAbandoned?(tx: Transaction, payload: unknown): Promise<void>;
}

/** Thrown by a job that cannot succeed on a retry; the job is dead-lettered at once. */
export class PermanentJobError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "PermanentJobError";
  }
}

/** Thrown by a job that must not be retried before a given time, such as that of a server's `Retry-After` header. */
export class RetryLaterError extends Error {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.name = "RetryLaterError";
    this.waitMs = waitMs;
  }
}

/** Thrown by a job that waits for its turn: it is released until then, and the attempt does not count. */
export class PostponedJobError extends Error {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.name = "PostponedJobError";
    this.waitMs = waitMs;
  }
}

/** Parses a stored payload. Throws `PermanentJobError` when it does not fit the schema. */
export function parsePayload<T>(schema: ZodType<T>, payload: unknown): T {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new PermanentJobError("the payload does not fit the schema of its kind", parsed.error);
}

/** A kind with defaults for all absent members. */
export type RegisteredKind = Required<Omit<JobKind, "onAbandoned">> & Pick<JobKind, "onAbandoned">;

/** The defaults of a kind. */
export const kindDefaults = {
  concurrency: 1,
  inTurns: false,
  perAccountMax: Number.POSITIVE_INFINITY,
  attemptsMax: 8,
  retryFirstMs: 5_000,
  retryMaxMs: 3_600_000,
  timeoutMs: 900_000,
} as const;
