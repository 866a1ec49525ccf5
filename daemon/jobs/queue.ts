// daemon/jobs: a persistent job queue: leased rows, retries with backoff, dead-letter state.
// Features register their kinds (job-kind.ts); composition/compose.ts starts and stops the queue.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Database, Transaction } from "../../storage/engine/database.ts";
import { isConflict, isSerializationFailure } from "../../storage/engine/database.ts";
import {
  claimJobs,
  deleteJob,
  findJob,
  insertJob,
  type JobRecord,
  listDueTimes,
  retryJob,
} from "../../storage/tables/common/jobs.ts";
import type { Log } from "../utilities/logging.ts";
import { withinMs } from "../utilities/within.ts";
import { type JobKind, kindDefaults, type RegisteredKind } from "./job-kind.ts";
import { createJobLeases, type RunningJob } from "./job-leases.ts";
import { createJobRunner } from "./job-runner.ts";
import { createTurns, type Turns } from "./turns.ts";

/** A job that runs after the transaction that enqueues it has committed. */
export interface EnqueuedJob {
  /** Of a registered kind, such as `mail.send`. */
  readonly kind: string;
  /** Any JSON value, at most `PAYLOAD_CHARACTERS_MAX` long. Sealed first when it holds secrets. */
  readonly payload: unknown;
  /** Epoch milliseconds; at once when absent. */
  readonly runAt?: number;
  /**
   * Deduplicates jobs of one kind: a waiting job of the same key takes the new payload and the earlier time, and two of one
   * key never run concurrently. Jobs without a key are independent.
   */
  readonly key?: string;
  /**
   * Jobs of one kind and sequence run one after the other in the order in which they were enqueued, whichever daemons run them:
   * a job waits until those before it are done or dead.
   */
  readonly sequence?: string;
  /** The account that the job is done for: kinds with `inTurns` serve accounts round robin. */
  readonly account?: string;
}

/** Adds a job in the caller's transaction: it exists if and only if the transaction commits. Returns its id. */
export type Enqueue = (tx: Transaction, job: EnqueuedJob) => Promise<number>;

export interface JobQueueOptions {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Milliseconds of a clock that nobody sets, from which `stalledMs` is measured; that of the process. */
  readonly steadyClock?: () => number;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  readonly log: Log;
  /** The owner of this process's leases, unique to it, such as a UUID. */
  readonly owner: string;
  /** No other process runs jobs on this database: all leases found at the start belong to an ended process. */
  readonly alone: boolean;
  /** Interval of polling for jobs of other processes; 1 s. */
  readonly pollMs?: number;
  /** Duration of a lease; 60 s. Renewed while the job runs. */
  readonly leaseMs?: number;
  /** As in `JobRunnerOptions`. */
  readonly abandonMs?: number;
}

type RecordChange = (tx: Transaction, job: JobRecord) => Promise<void>;

/** The result of a change to a job. `superseded`: another job does the same work. */
export type JobChange = "changed" | "running" | "missing";

/** Stores jobs as rows and runs those whose kinds are registered. */
export type JobQueue = ReturnType<typeof createJobQueue>;

/** Maximum length of a payload in characters of JSON: bytes belong in files. */
export const PAYLOAD_CHARACTERS_MAX = 262_144;
const COMMIT_MS = 50;

/**
 * Creates the persistent queue. A job runs at least once: when a process dies during a job, its lease expires and the job
 * is retried. That counts as an attempt, so a job that kills its process is dead-lettered at last.
 */
export function createJobQueue(options: JobQueueOptions) {
  const { db, clock, log, owner, alone, pollMs = 1_000, leaseMs = 60_000 } = options;
  const { steadyClock = () => performance.now() } = options;
  const runner = createJobRunner(options);
  const kinds = new Map<string, RegisteredKind>();
  let load: (kind: string) => Promise<void> = async () => undefined;
  const running = new Map<number, RunningJob>();
  const turns = new Map<string, Turns>();
  // A transaction's callback must not use the database itself. Calls started inside the callback would count as part of
  // it.
  const outside = AsyncLocalStorage.snapshot();
  let state: "idle" | "started" | "stopping" = "idle";
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let hasEnqueued = false;
  let lookedAt = steadyClock();
  let isFailing = false;
  const leases = createJobLeases({
    ...{ db, clock, steadyClock, log, owner, leaseMs },
    ...{ runner, running, findKind },
  });

  const enqueue: Enqueue = async (tx, job) => {
    if (JSON.stringify(job.payload ?? null).length > PAYLOAD_CHARACTERS_MAX) {
      throw new Error(`the payload of a ${job.kind} job is too long`);
    }
    const id = await insertJob(tx, {
      kind: job.kind,
      payload: job.payload,
      runAt: job.runAt ?? tx.now,
      key: job.key,
      account: job.account,
      sequence: job.sequence,
    });
    if (state === "started" && kinds.has(job.kind)) {
      hasEnqueued = true;
      outside(wake);
    }
    return id;
  };

  /** Claims due jobs at once. One claim at a time: a call during it causes one more. */
  function wake(): void {
    if (looking !== undefined) {
      lookAgain = true;
      return;
    }
    clearTimeout(timer);
    looking = look().finally(() => {
      looking = undefined;
      if (state === "started" && lookAgain) {
        lookAgain = false;
        wake();
      }
    });
  }

  /** Claims due jobs and sets the timer of the next look. After a failure too: a database that was away comes back. */
  async function look(): Promise<void> {
    let waitMs = pollMs;
    try {
      waitMs = await claimAll();
      if (isFailing)
        log.info({ stalled_ms: Math.round(steadyClock() - lookedAt) }, "claims jobs again");
      isFailing = false;
      lookedAt = steadyClock();
    } catch (error) {
      noteFailure(error);
    }
    if (state === "started") timer = setTimeout(wake, waitMs).unref();
  }

  function noteFailure(error: unknown): void {
    if (isSerializationFailure(error)) {
      // Other daemons wrote at the same time at each attempt: the next look is one more.
      log.debug({ err: error }, "lost the claim of jobs to other daemons, will retry");
      return;
    }
    // Logged once: the database may be away for hours.
    if (!isFailing) log.error({ err: error }, "failed to claim jobs, will retry");
    isFailing = true;
  }

  /** Returns the milliseconds until the next look. */
  async function claimAll(): Promise<number> {
    const afterEnqueue = hasEnqueued;
    hasEnqueued = false;
    if (afterEnqueue) {
      // With one writer, an empty write waits until the transaction that enqueued has committed.
      await db.transaction(async () => undefined);
    }
    await leases.keep();
    const nextAt = await claimDue();
    // With several writers that transaction may commit a little later.
    const most = afterEnqueue && db.dialect === "postgres" ? COMMIT_MS : pollMs;
    return Math.max(0, Math.min(most, nextAt - clock()));
  }

  /** Starts due jobs of kinds below their concurrency; returns the time of the next due job of such a kind. */
  async function claimDue(): Promise<number> {
    let nextAt = Infinity;
    for (const due of await listDueTimes(db)) {
      const kind = due.runAt > clock() ? kinds.get(due.kind) : await findKind(due.kind);
      const room = kind === undefined ? 0 : kind.concurrency - countRunning(due.kind);
      if (kind === undefined || room <= 0 || state === "stopping") continue;
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

  /** Returns a kind, whose code is loaded when it is unknown. */
  async function findKind(name: string): Promise<RegisteredKind | undefined> {
    if (!kinds.has(name)) await load(name);
    return kinds.get(name);
  }

  async function claim(
    { kind, inTurns, concurrency, perAccountMax }: RegisteredKind,
    limit: number,
  ): Promise<JobRecord[]> {
    const claimed = { kind, owner, leasedUntil: clock() + leaseMs };
    const own = running.values().filter(({ job }) => job.kind === kind);
    const accounts = own.map(({ job }) => job.account).toArray();
    const slots = { limit, concurrency, perAccountMax, running: accounts };
    try {
      return await db.transaction((tx) =>
        inTurns
          ? turnsOf(kind).claim(tx, { ...claimed, ...slots })
          : claimJobs(tx, { ...claimed, limit }),
      );
    } catch (error) {
      if (isConflict(error)) {
        // Another process claimed a job of the same key at this moment.
        return [];
      }
      throw error;
    }
  }

  function turnsOf(kind: string): Turns {
    const existing = turns.get(kind);
    if (existing !== undefined) return existing;
    const created = createTurns();
    turns.set(kind, created);
    return created;
  }

  function begin(kind: RegisteredKind, job: JobRecord): void {
    const abort = new AbortController();
    const ended = runner
      .attempt(kind, job, abort.signal)
      .catch((error: unknown) => {
        // The lease expires and the job is retried. A job that outlived the stop was released already.
        if (state !== "stopping") {
          log.error(
            { err: error, job_id: job.id, job_kind: job.kind },
            "failed to record the end of a job",
          );
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

  function countRunning(kind: string): number {
    return running
      .values()
      .filter(({ job }) => job.kind === kind)
      .toArray().length;
  }

  return {
    enqueue,
    /** Registers a kind, before `start`. Jobs of an unknown kind wait until a process registers it. */
    register(kind: JobKind): void {
      if (kinds.has(kind.kind)) {
        throw new Error(`two kinds of job are called ${kind.kind}`);
      }
      const run: JobKind["run"] = (payload, context) => kind.run(payload, context);
      const { onAbandoned } = kind;
      kinds.set(kind.kind, {
        ...kindDefaults,
        ...kind,
        run,
        ...(onAbandoned === undefined
          ? {}
          : { onAbandoned: (tx, payload) => onAbandoned.call(kind, tx, payload) }),
      });
    },
    /**
     * Sets what loads the code of a kind and registers it; the queue calls it when a job of an unknown kind is due. It does
     * nothing for a kind that it does not know either.
     */
    onUnknown(loadKind: (kind: string) => Promise<void>): void {
      load = loadKind;
    },
    /** Starts running jobs, beginning with those that a crash interrupted. */
    async start(): Promise<void> {
      await leases.recover(alone ? Number.MAX_SAFE_INTEGER : clock());
      await leases.correctTimes();
      state = "started";
      lookedAt = steadyClock();
      wake();
    },
    /**
     * Returns the milliseconds since this process last looked for due jobs with success; 0 while it is not started. It looks
     * once a second or more often, so a large number means that no job can start.
     */
    stalledMs: (): number => (state === "started" ? Math.round(steadyClock() - lookedAt) : 0),
    /** Makes a waiting or dead job due now. `record` writes records of the change in its transaction. */
    async retry(id: number, record: RecordChange): Promise<JobChange | "superseded"> {
      try {
        const change = await db.transaction(async (tx) => {
          const job = await findJob(tx, id);
          if (job === undefined) return "missing";
          if (!(await retryJob(tx, id))) return "running";
          await record(tx, job);
          return "changed";
        });
        if (state === "started") wake();
        return change;
      } catch (error) {
        if (!isConflict(error)) throw error;
        return "superseded";
      }
    },
    /** Deletes a waiting or dead job; its kind records that the work will not be done. */
    async cancel(id: number, record: RecordChange): Promise<JobChange> {
      const found = await findJob(db, id);
      // Outside of the transaction: loading code takes long.
      if (found !== undefined) await findKind(found.kind);
      return db.transaction(async (tx) => {
        const job = await findJob(tx, id);
        if (job === undefined) return "missing";
        if (!(await deleteJob(tx, id))) return "running";
        await kinds.get(job.kind)?.onAbandoned?.(tx, job.payload);
        await record(tx, job);
        return "changed";
      });
    },
    /**
     * Runs all due jobs, and those that they enqueue, until no job is due; returns the number of runs. For tests and
     * one-off commands, on a queue that was not started.
     */
    async runDue(): Promise<number> {
      let ran = 0;
      await leases.recover(clock());
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
    /**
     * Stops claiming, aborts the signals of running jobs and waits for them at most `graceMs`. Jobs that still run are
     * released and run after the next start.
     */
    async stop(graceMs: number): Promise<void> {
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
        await runner.release(job);
      }
    },
  };
}
