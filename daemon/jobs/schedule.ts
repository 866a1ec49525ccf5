import type { Database } from "../../storage/engine/database.ts";
import type { JobQueue } from "./queue.ts";
import type { JobContext } from "./job-kind.ts";

/** Recurring work. */
export interface Schedule {
  /** Unique, such as `limits.prune`. */
  readonly name: string;
  /** The first time after `after`, both in epoch milliseconds: `everyMs(…)`, or a cron expression's next run. */
  readonly next: (after: number) => number;
  /** Also run it after each start of the daemon. */
  readonly atStart?: boolean;
  /** As `JobKind.timeoutMs`. */
  readonly timeoutMs?: number;
  /** Does the work. A failure is not retried before the next scheduled time. */
  run(context: JobContext): Promise<void>;
}

/** Returns a schedule of every `ms` milliseconds, counted from the last run. */
export function everyMs(ms: number): (after: number) => number {
  return (after) => after + ms;
}

/**
 * Creates schedules as jobs of the queue: several missed times cause one run, runs never overlap, and one of several
 * daemons on one database runs each. Registers a kind `schedule.<name>` for each. Runs schedules as jobs of the queue.
 */
export function createSchedules(
  { queue, db, clock }: { queue: JobQueue; db: Database; clock: () => number },
  schedules: readonly Schedule[],
) {
  const enqueue = async (schedule: Schedule, runAt: number): Promise<void> => {
    const job = { kind: toScheduleKind(schedule.name), payload: null, key: schedule.name, runAt };
    await db.transaction((tx) => queue.enqueue(tx, job));
  };
  for (const schedule of schedules) {
    queue.register({
      kind: toScheduleKind(schedule.name),
      ...(schedule.timeoutMs === undefined ? {} : { timeoutMs: schedule.timeoutMs }),
      // Retried only when the next run could not be enqueued: a dead-lettered job would end the schedule.
      attemptsMax: Number.MAX_SAFE_INTEGER,
      retryMaxMs: 60_000,
      run: async (_payload, context) => {
        // Enqueue the next run first: a failed run, or a crash, must not end the schedule.
        await enqueue(schedule, schedule.next(clock()));
        await schedule.run(context);
      },
    });
  }
  return {
    /** Enqueues the next job of each schedule, after `queue.start`. */
    async start(): Promise<void> {
      for (const schedule of schedules) {
        await enqueue(schedule, schedule.atStart === true ? clock() : schedule.next(clock()));
      }
    },
    /**
     * Runs a schedule at once, in addition to its times. False when no schedule has the name. Calls `meanwhile` before the run
     * can begin, and awaits its result.
     */
    async runNow(name: string, meanwhile?: () => Promise<void>): Promise<boolean> {
      const schedule = schedules.find((candidate) => candidate.name === name);
      if (schedule === undefined) {
        return false;
      }
      const waited = meanwhile?.();
      await enqueue(schedule, clock());
      await waited;
      return true;
    },
  };
}

/** Returns the kind of a schedule's jobs. */
export function toScheduleKind(name: string): string {
  return `schedule.${name}`;
}
