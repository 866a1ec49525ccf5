import type { Database } from "../../storage/engine/database.ts";
import type { JobQueue } from "./queue.ts";
import type { JobContext } from "./job-kind.ts";

/** Something that is done again and again. */
export interface Schedule {
  /** Unique, such as `limits.prune`. */
  readonly name: string;
  /** The first time after `after`, both in epoch milliseconds: `everyMs(…)`, or a cron expression's next run. */
  readonly next: (after: number) => number;
  /** Also right after the daemon starts. */
  readonly atStart?: boolean;
  /** As of a `JobKind`. */
  readonly timeoutMs?: number;
  /** Not tried again when it fails: the next time comes anyway. */
  run(context: JobContext): Promise<void>;
}

/** Every `ms` milliseconds, counted from the last run. */
export function everyMs(ms: number): (after: number) => number {
  return (after) => after + ms;
}

/** Schedules that have their jobs in the queue. */
export interface Schedules {
  /** Makes sure that each schedule has its next job. After `queue.start`. */
  start(): Promise<void>;
  /**
   * Has a schedule run at once, besides its times. False when there is none of that name. `meanwhile` is called before
   * the run can begin, and what it returns is waited for.
   */
  runNow(name: string, meanwhile?: () => Promise<void>): Promise<boolean>;
}

/**
 * Schedules as jobs of the queue: a missed time is caught up on once, two runs never overlap, and of several daemons
 * on one database one runs it. Registers a kind `schedule.<name>` for each.
 */
export function createSchedules(
  { queue, db, clock }: { queue: JobQueue; db: Database; clock: () => number },
  schedules: readonly Schedule[],
): Schedules {
  const enqueue = async (schedule: Schedule, runAt: number): Promise<void> => {
    const job = { kind: toScheduleKind(schedule.name), payload: null, key: schedule.name, runAt };
    await db.transaction((tx) => queue.enqueue(tx, job));
  };
  for (const schedule of schedules) {
    queue.register({
      kind: toScheduleKind(schedule.name),
      ...(schedule.timeoutMs === undefined ? {} : { timeoutMs: schedule.timeoutMs }),
      run: async (_payload, context) => {
        // The next one first: a run that fails, or ends with the process, does not end the schedule.
        await enqueue(schedule, schedule.next(clock()));
        await schedule.run(context);
      },
    });
  }
  return {
    async start() {
      for (const schedule of schedules) {
        await enqueue(schedule, schedule.atStart === true ? clock() : schedule.next(clock()));
      }
    },
    async runNow(name, meanwhile) {
      const schedule = schedules.find((known) => known.name === name);
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

/** The kind of the jobs of a schedule. */
export function toScheduleKind(name: string): string {
  return `schedule.${name}`;
}
