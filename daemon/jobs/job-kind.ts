import type { ZodType } from "zod";
import type { Transaction } from "../../storage/engine/database.ts";

/** What a job's work is told besides its payload. */
export interface JobContext {
  readonly id: number;
  /** 1 on the first try. */
  readonly attempt: number;
  /** Aborted when the daemon stops, and what then throws is tried again without counting; or when the try takes too long. */
  readonly signal: AbortSignal;
}

/** A kind of job. Its work may be run more than once for one job, so it must come to the same end each time. */
export interface JobKind {
  readonly kind: string;
  /** How many run at one time in this process; 1. */
  readonly concurrency?: number;
  /** Tries before the job is put aside as dead; 8. */
  readonly attemptsMax?: number;
  /** The wait before the second try, doubled for each further one up to `retryMaxMs`; 5 s, 1 h. */
  readonly retryFirstMs?: number;
  readonly retryMaxMs?: number;
  /** How long one try may take before its signal is aborted; 15 min. */
  readonly timeoutMs?: number;
  /** Resolves when the job is done. A `PermanentJobError` puts it aside at once, any other error has it tried again. */
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

/** Parses a stored payload. Throws `PermanentJobError` when it does not fit the schema. */
export function parsePayload<T>(schema: ZodType<T>, payload: unknown): T {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new PermanentJobError("the payload does not fit the schema of its kind", parsed.error);
}

/** A kind with everything that it leaves to us. */
export type WholeJobKind = Required<Omit<JobKind, "onAbandoned">> & Pick<JobKind, "onAbandoned">;

/** What a kind has that does not say otherwise. */
export const kindDefaults = {
  concurrency: 1,
  attemptsMax: 8,
  retryFirstMs: 5_000,
  retryMaxMs: 3_600_000,
  timeoutMs: 900_000,
} as const;
