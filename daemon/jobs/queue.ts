// daemon/jobs: work that outlives a request, kept as rows: a queue, and schedules that put jobs into it.
// May import: storage, daemon/errors.ts, daemon/logging.ts. Features register their kinds; main.ts starts and stops it.
// Start here: the queue. A schedule needs no more of it than `enqueue` with `key` and `runAt`.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Database, Transaction } from "../../storage/engine/database.ts";
import { isConflict } from "../../storage/engine/database.ts";
import {
  buryClaimed,
  claimJobs,
  deleteClaimed,
  insertJob,
  type JobRecord,
  listDueTimes,
  listLapsedClaims,
  releaseClaimed,
  renewLeases,
} from "../../storage/tables/common/jobs.ts";
import type { Log } from "../logging.ts";
import { createScrubber } from "../scrub.ts";

/** A job to be done after the transaction that enqueues it has committed. */
export interface EnqueuedJob {
  /** Of a registered kind, such as `mail.send`. */
  readonly kind: string;
  /** Any JSON value, at most `PAYLOAD_CHARACTERS_MAX` long. Sealed first when it holds secrets. */
  readonly payload: unknown;
  /** Epoch milliseconds; at once when absent. */
  readonly runAt?: number;
  /**
   * Jobs of one kind and key are one: a waiting one takes the new payload and the earlier time, and two never run at
   * one time. Without a key each is its own.
   */
  readonly key?: string;
}

/** Adds a job in the caller's transaction: it exists if and only if the transaction commits. Returns its id. */
export type Enqueue = (tx: Transaction, job: EnqueuedJob) => Promise<number>;

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
}

/** Trying again would not help. */
export class PermanentJobError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "PermanentJobError";
  }
}

export interface JobQueueOptions {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  readonly log: Log;
  /** Unique to this process, such as a UUID: what its leases are held under. */
  readonly owner: string;
  /** Nobody else runs jobs on this database: all leases found at the start are of a process that is gone. */
  readonly alone: boolean;
  /** How often other processes' jobs are looked for; 1 s. */
  readonly pollMs?: number;
  /** How long a job of a process that died stays claimed; 60 s. Renewed while it runs. */
  readonly leaseMs?: number;
}

/** Keeps jobs as rows, and runs those of the kinds that this process knows. */
export interface JobQueue {
  readonly enqueue: Enqueue;
  /** Makes a kind known. Jobs of an unknown kind wait until some process knows it. Before `start`. */
  register(kind: JobKind): void;
  /** Begins to run jobs; those that a crash interrupted come first. */
  start(): Promise<void>;
  /**
   * Runs everything that is due, and what that enqueues, until nothing is; returns how many jobs ran.
   * For tests and one-off commands, on a queue that was not started.
   */
  runDue(): Promise<number>;
  /**
   * Claims nothing more, aborts the signals of running jobs and waits for them at most `graceMs`; what does not end
   * goes back to the queue, to be run after the next start.
   */
  stop(graceMs: number): Promise<void>;
}

/** The longest payload, in characters of JSON: bytes belong in files. */
export const PAYLOAD_CHARACTERS_MAX = 262_144;
const ERROR_CHARACTERS_MAX = 500;
const COMMIT_MS = 50;
const DEFAULTS = {
  concurrency: 1,
  attemptsMax: 8,
  retryFirstMs: 5_000,
  retryMaxMs: 3_600_000,
  timeoutMs: 900_000,
} as const;

type Kind = Required<JobKind>;

interface Running {
  readonly job: JobRecord;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/**
 * The persistent queue. A job runs at least once: a process that dies in the middle loses its lease, and the job is
 * run again, which counts as a try so that a job which kills its process ends as dead.
 */
export function createJobQueue(options: JobQueueOptions): JobQueue {
  const { db, clock, random, log, owner, alone, pollMs = 1_000, leaseMs = 60_000 } = options;
  const kinds = new Map<string, Kind>();
  const running = new Map<number, Running>();
  // A transaction's callback must not use the database itself, and what it starts would count as part of it.
  const outside = AsyncLocalStorage.snapshot();
  let state: "idle" | "started" | "stopping" = "idle";
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let hasEnqueued = false;
  let leasesCheckedAt = clock();

  const enqueue: Enqueue = async (tx, job) => {
    if (JSON.stringify(job.payload ?? null).length > PAYLOAD_CHARACTERS_MAX) {
      throw new Error(`the payload of a ${job.kind} job is too long`);
    }
    const id = await insertJob(tx, {
      kind: job.kind,
      payload: job.payload,
      runAt: job.runAt ?? tx.now,
      key: job.key,
    });
    if (state === "started" && kinds.has(job.kind)) {
      hasEnqueued = true;
      outside(wake);
    }
    return id;
  };

  /** Looks for jobs at once. One look at a time: a second call during it makes it look once more. */
  function wake(): void {
    if (looking !== undefined) {
      lookAgain = true;
      return;
    }
    looking = look()
      .catch((error: unknown) => log.error({ err: error }, "cannot look for jobs"))
      .finally(() => {
        looking = undefined;
        if (state !== "started") {
          return;
        }
        if (lookAgain) {
          lookAgain = false;
          wake();
        }
      });
  }

  async function look(): Promise<void> {
    clearTimeout(timer);
    const afterEnqueue = hasEnqueued;
    hasEnqueued = false;
    if (afterEnqueue) {
      // With one writer, an empty write waits until the transaction that enqueued has committed.
      await db.transaction(async () => undefined);
    }
    await keepLeases();
    const nextAt = await claimDue();
    if (state === "started") {
      // With several writers it may commit a little later.
      const most = afterEnqueue && db.dialect === "postgres" ? COMMIT_MS : pollMs;
      timer = setTimeout(wake, Math.max(0, Math.min(most, nextAt - clock()))).unref();
    }
  }

  /** Starts what is due and has room; returns when the next job of a kind with room is due. */
  async function claimDue(): Promise<number> {
    let nextAt = Infinity;
    for (const due of await listDueTimes(db)) {
      const kind = kinds.get(due.kind);
      const room = kind === undefined ? 0 : kind.concurrency - countRunning(due.kind);
      if (kind === undefined || room <= 0 || state === "stopping") {
        continue;
      }
      if (due.runAt > clock()) {
        nextAt = Math.min(nextAt, due.runAt);
        continue;
      }
      for (const job of await claim(kind, room)) {
        begin(kind, job);
      }
    }
    return nextAt;
  }

  async function claim(kind: Kind, limit: number): Promise<JobRecord[]> {
    try {
      return await db.transaction((tx) =>
        claimJobs(tx, { kind: kind.kind, owner, leasedUntil: clock() + leaseMs, limit }),
      );
    } catch (error) {
      if (isConflict(error)) {
        // Another process claimed a job of the same key at this moment.
        return [];
      }
      throw error;
    }
  }

  function begin(kind: Kind, job: JobRecord): void {
    const abort = new AbortController();
    const ended = perform(kind, job, abort.signal)
      .catch((error: unknown) => {
        // The lease runs out, and the job is tried again. One that outlived the stop was given back already.
        if (state !== "stopping") {
          log.error({ err: error, job_id: job.id, job_kind: job.kind }, "cannot settle a job");
        }
      })
      .finally(() => {
        running.delete(job.id);
        if (state === "started") {
          wake();
        }
      });
    running.set(job.id, { job, abort, ended });
  }

  async function perform(kind: Kind, job: JobRecord, stopped: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(kind.timeoutMs)]);
    try {
      await kind.run(job.payload, { id: job.id, attempt: job.attempts, signal });
    } catch (error) {
      await settleFailure(kind, job, error, stopped.aborted);
      return;
    }
    await deleteClaimed(db, { id: job.id, owner, attempts: job.attempts });
  }

  async function settleFailure(
    kind: Kind,
    job: JobRecord,
    error: unknown,
    stopped: boolean,
  ): Promise<void> {
    const claimed = { id: job.id, owner, attempts: job.attempts };
    const text = textOf(error);
    const facts = { err: error, job_id: job.id, job_kind: job.kind, attempt: job.attempts };
    if (stopped) {
      await db.transaction((tx) =>
        releaseClaimed(tx, claimed, { runAt: job.runAt, error: undefined, countAttempt: false }),
      );
    } else if (error instanceof PermanentJobError || job.attempts >= kind.attemptsMax) {
      await db.transaction((tx) => buryClaimed(tx, claimed, text));
      log.error(facts, "a job failed for good");
    } else {
      const runAt = clock() + retryDelay(kind, job.attempts, random());
      await db.transaction((tx) =>
        releaseClaimed(tx, claimed, { runAt, error: text, countAttempt: true }),
      );
      log.warn({ ...facts, retry_at: runAt }, "a job failed and is tried again");
    }
  }

  /** Renews our leases and takes lapsed ones back, a few times per lease. */
  async function keepLeases(): Promise<void> {
    const now = clock();
    if (now - leasesCheckedAt < leaseMs / 4 && now >= leasesCheckedAt) {
      return;
    }
    leasesCheckedAt = now;
    if (running.size > 0) {
      await renewLeases(db, owner, now + leaseMs);
    }
    await recover(now);
  }

  async function recover(until: number): Promise<void> {
    for (const claimed of await listLapsedClaims(db, until)) {
      const attemptsMax = kinds.get(claimed.kind)?.attemptsMax ?? DEFAULTS.attemptsMax;
      const error = "the process ended in the middle of it";
      await db.transaction((tx) =>
        claimed.attempts >= attemptsMax
          ? buryClaimed(tx, claimed, error)
          : releaseClaimed(tx, claimed, { runAt: clock(), error, countAttempt: true }),
      );
      log.warn({ job_id: claimed.id, job_kind: claimed.kind }, "took back an interrupted job");
    }
  }

  function countRunning(kind: string): number {
    return running
      .values()
      .filter(({ job }) => job.kind === kind)
      .toArray().length;
  }

  return {
    enqueue,
    register(kind) {
      if (kinds.has(kind.kind)) {
        throw new Error(`two kinds of job are called ${kind.kind}`);
      }
      const run: JobKind["run"] = (payload, context) => kind.run(payload, context);
      kinds.set(kind.kind, { ...DEFAULTS, ...kind, run });
    },
    async start() {
      await recover(alone ? Number.MAX_SAFE_INTEGER : clock());
      state = "started";
      wake();
    },
    async runDue() {
      let ran = 0;
      await recover(clock());
      for (;;) {
        await claimDue();
        const batch = [...running.values()];
        if (batch.length === 0) {
          return ran;
        }
        ran += batch.length;
        await Promise.all(batch.map(({ ended }) => ended));
      }
    },
    async stop(graceMs) {
      state = "stopping";
      clearTimeout(timer);
      await looking;
      clearTimeout(timer);
      const rest = [...running.values()];
      for (const { abort } of rest) {
        abort.abort();
      }
      await withinMs(graceMs, Promise.all(rest.map(({ ended }) => ended)));
      for (const { job } of running.values()) {
        await db.transaction((tx) =>
          releaseClaimed(
            tx,
            { id: job.id, owner, attempts: job.attempts },
            { runAt: job.runAt, error: undefined, countAttempt: false },
          ),
        );
      }
    },
  };
}

/** The wait before the try after `attempt`: doubling, bounded, and up to half of it taken off at random. */
function retryDelay(kind: Kind, attempt: number, random: number): number {
  const full = Math.min(kind.retryMaxMs, kind.retryFirstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full * (1 - random / 2));
}

const scrub = createScrubber([]);

function textOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return scrub(text).slice(0, ERROR_CHARACTERS_MAX);
}

/** Waits for `work`, but not longer than `ms`. */
async function withinMs(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
