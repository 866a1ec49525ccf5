import type { Database } from "../../storage/engine/database.ts";
import {
  deadLetterClaimed,
  deleteClaimed,
  findJob,
  type JobRecord,
  type LapsedClaim,
  releaseClaimed,
} from "../../storage/tables/common/jobs.ts";
import type { Log } from "../utilities/logging.ts";
import { createScrubber } from "../utilities/redaction.ts";
import { withinMs } from "../utilities/within.ts";
import {
  kindDefaults,
  PermanentJobError,
  PostponedJobError,
  type RegisteredKind,
  RetryLaterError,
} from "./job-kind.ts";

export interface JobRunnerOptions {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  readonly log: Log;
  /** The owner of this process's leases. */
  readonly owner: string;
  /** Time between the abort of an attempt that timed out and its failure, if it does not end by itself; 60 s. */
  readonly abandonMs?: number;
}

const ERROR_CHARACTERS_MAX = 500;
/** How many times in a row the work of a schedule is repeated at once after the process died. */
const INTERRUPTIONS_MAX = 3;

export type JobRunner = ReturnType<typeof createJobRunner>;

/** Runs claimed jobs and records how they end. Leaves a job alone when another process has claimed it meanwhile. */
export function createJobRunner(options: JobRunnerOptions) {
  const { db, clock, random, log, owner, abandonMs = 60_000 } = options;
  const claimOf = ({ id, attempts }: JobRecord) => ({ id, owner, attempts });

  async function release(job: JobRecord): Promise<void> {
    await db.transaction((tx) =>
      releaseClaimed(tx, claimOf(job), {
        runAt: job.runAt,
        error: undefined,
        countAttempt: false,
        isInterrupted: true,
      }),
    );
  }

  async function postpone(job: JobRecord, { message, waitMs }: PostponedJobError): Promise<void> {
    await db.transaction((tx) =>
      releaseClaimed(tx, claimOf(job), {
        runAt: clock() + Math.round(waitMs),
        error: message,
        countAttempt: false,
        isInterrupted: false,
      }),
    );
  }

  async function recordFailure(
    kind: RegisteredKind,
    job: JobRecord,
    error: unknown,
  ): Promise<void> {
    const text = textOf(error);
    const fields = { err: error, job_id: job.id, job_kind: job.kind, attempt: job.attempts };
    if (error instanceof PermanentJobError || job.attempts >= kind.attemptsMax) {
      await db.transaction(async (tx) => {
        if (await deadLetterClaimed(tx, claimOf(job), text))
          await kind.onAbandoned?.(tx, job.payload);
      });
      log.error(fields, "job failed, dead-lettered");
    } else {
      const waitMs = error instanceof RetryLaterError ? Math.min(error.waitMs, kind.retryMaxMs) : 0;
      const runAt = clock() + Math.max(retryDelay(kind, job.attempts, random()), waitMs);
      await db.transaction((tx) =>
        releaseClaimed(tx, claimOf(job), {
          runAt,
          error: text,
          countAttempt: true,
          isInterrupted: false,
        }),
      );
      log.warn({ ...fields, retry_at: runAt }, "job failed, will retry");
    }
  }

  return {
    /** Releases a job as if it had never been claimed. */
    release,

    /**
     * Runs a job. Deletes it on success; otherwise schedules a retry or dead-letters it. An attempt that fails because of
     * `stopped` is released and does not count. An attempt that ignores the end of its time has failed a minute later, so
     * that its slot is free for other jobs.
     */
    async attempt(kind: RegisteredKind, job: JobRecord, stopped: AbortSignal): Promise<void> {
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(kind.timeoutMs)]);
      const context = { id: job.id, attempt: job.attempts, signal };
      try {
        const running = kind.run(job.payload, context).then(() => true);
        const hasEnded = await withinMs(kind.timeoutMs + abandonMs, running);
        if (hasEnded === undefined) throw new Error("did not end when its time was over");
      } catch (error) {
        if (stopped.aborted) await release(job);
        else if (error instanceof PostponedJobError) await postpone(job, error);
        else await recordFailure(kind, job, error);
        return;
      }
      await deleteClaimed(db, claimOf(job));
    },

    /** Reclaims a job whose process died. That counts as an attempt; after the last one the job is dead-lettered. */
    async reclaim(claim: LapsedClaim, kind: RegisteredKind | undefined): Promise<void> {
      const error = "the process ended while the job was running";
      await db.transaction(async (tx) => {
        if (claim.attempts < (kind?.attemptsMax ?? kindDefaults.attemptsMax))
          return releaseClaimed(tx, claim, {
            runAt: clock(),
            error,
            countAttempt: true,
            // Work that ends the process each time waits for its next scheduled time.
            isInterrupted: claim.attempts < INTERRUPTIONS_MAX,
          });
        if (!(await deadLetterClaimed(tx, claim, error)) || kind?.onAbandoned === undefined) return;
        const job = await findJob(tx, claim.id);
        if (job !== undefined) await kind.onAbandoned(tx, job.payload);
      });
      log.warn({ job_id: claim.id, job_kind: claim.kind }, "reclaimed an interrupted job");
    },
  };
}

/** Returns the delay before the next attempt: exponential backoff with a maximum, minus up to half of it at random. */
function retryDelay(kind: RegisteredKind, attempt: number, random: number): number {
  const full = Math.min(kind.retryMaxMs, kind.retryFirstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full * (1 - random / 2));
}

const scrub = createScrubber([]);

/** The names of these errors mean nothing to an administrator. */
const plainErrors: ReadonlySet<string> = new Set(["Error", "PermanentJobError", "RetryLaterError"]);

function toWords({ name, message }: Error): string {
  return plainErrors.has(name) ? message : `${name}: ${message}`;
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? toWords(error) : String(error);
  return scrub(text).slice(0, ERROR_CHARACTERS_MAX);
}
