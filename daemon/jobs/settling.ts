import type { Database } from "../../storage/engine/database.ts";
import {
  buryClaimed,
  deleteClaimed,
  findJob,
  type JobRecord,
  type LapsedClaim,
  releaseClaimed,
} from "../../storage/tables/common/jobs.ts";
import type { Log } from "../utilities/logging.ts";
import { createScrubber } from "../utilities/redaction.ts";
import { kindDefaults, PermanentJobError, type WholeJobKind } from "./job-kind.ts";

/** How claimed jobs end. A job that somebody else has claimed meanwhile is left alone. */
export interface Settling {
  /**
   * Runs a job and writes down what came of it: it is gone when it went well, else tried again after a wait, or put aside as
   * dead. What fails because of `stopped` goes back uncounted.
   */
  attempt(kind: WholeJobKind, job: JobRecord, stopped: AbortSignal): Promise<void>;
  /** Puts a job back as if it had never been claimed. */
  giveBack(job: JobRecord): Promise<void>;
  /** Takes back a job whose process ended in the middle of it. That counts as a try: one of too many ends as dead. */
  takeBack(claim: LapsedClaim, kind: WholeJobKind | undefined): Promise<void>;
}

export interface SettlingOptions {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  readonly log: Log;
  /** What this process' leases are held under. */
  readonly owner: string;
}

const ERROR_CHARACTERS_MAX = 500;

export function createSettling({ db, clock, random, log, owner }: SettlingOptions): Settling {
  const claimOf = ({ id, attempts }: JobRecord) => ({ id, owner, attempts });

  async function giveBack(job: JobRecord): Promise<void> {
    await db.transaction((tx) =>
      releaseClaimed(tx, claimOf(job), {
        runAt: job.runAt,
        error: undefined,
        countAttempt: false,
      }),
    );
  }

  async function settleFailure(kind: WholeJobKind, job: JobRecord, error: unknown): Promise<void> {
    const text = textOf(error);
    const facts = { err: error, job_id: job.id, job_kind: job.kind, attempt: job.attempts };
    if (error instanceof PermanentJobError || job.attempts >= kind.attemptsMax) {
      await db.transaction(async (tx) => {
        if (await buryClaimed(tx, claimOf(job), text)) await kind.onAbandoned?.(tx, job.payload);
      });
      log.error(facts, "a job failed for good");
    } else {
      const runAt = clock() + retryDelay(kind, job.attempts, random());
      await db.transaction((tx) =>
        releaseClaimed(tx, claimOf(job), { runAt, error: text, countAttempt: true }),
      );
      log.warn({ ...facts, retry_at: runAt }, "a job failed and is tried again");
    }
  }

  return {
    giveBack,

    async attempt(kind, job, stopped) {
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(kind.timeoutMs)]);
      try {
        await kind.run(job.payload, { id: job.id, attempt: job.attempts, signal });
      } catch (error) {
        if (stopped.aborted) await giveBack(job);
        else await settleFailure(kind, job, error);
        return;
      }
      await deleteClaimed(db, claimOf(job));
    },

    async takeBack(claim, kind) {
      const error = "the process ended in the middle of it";
      await db.transaction(async (tx) => {
        if (claim.attempts < (kind?.attemptsMax ?? kindDefaults.attemptsMax))
          return releaseClaimed(tx, claim, { runAt: clock(), error, countAttempt: true });
        if (!(await buryClaimed(tx, claim, error)) || kind?.onAbandoned === undefined) return;
        const job = await findJob(tx, claim.id);
        if (job !== undefined) await kind.onAbandoned(tx, job.payload);
      });
      log.warn({ job_id: claim.id, job_kind: claim.kind }, "took back an interrupted job");
    },
  };
}

/** The wait before the try after `attempt`: doubling, bounded, and up to half of it taken off at random. */
function retryDelay(kind: WholeJobKind, attempt: number, random: number): number {
  const full = Math.min(kind.retryMaxMs, kind.retryFirstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full * (1 - random / 2));
}

const scrub = createScrubber([]);

function textOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return scrub(text).slice(0, ERROR_CHARACTERS_MAX);
}
