import { Cron } from "croner";
import type { Database } from "../../storage/engine/database.ts";

/** A scheduled task. */
export interface CronTask {
  /** Unique, such as `git_gc_repos`; Gitea's tasks have Gitea's names. */
  readonly name: string;
  /** `@every 72h`, one of croner's words such as `@midnight`, or five fields as in a crontab. */
  readonly schedule: string;
  /** Whether it also runs when the daemon starts. */
  readonly atStart?: boolean;
  /** Time limit of a run, after which its signal is aborted; 15 min by default. */
  readonly timeoutMs?: number;
  /**
   * Runs the task, one run at a time over all processes. An error is recorded and logged and does not affect the
   * schedule. Ends soon after `signal` aborts.
   */
  run(signal: AbortSignal): Promise<void>;
}

/** What is known of a task before its code is loaded. */
export type DeclaredTask = Omit<CronTask, "run"> & {
  /** Returns whether the task has something to do; always when absent. */
  readonly isNeeded?: (db: Database) => Promise<boolean>;
};

/** Names tasks by their keys. */
export function declareTasks<Name extends string>(
  tasks: Readonly<Record<Name, Omit<DeclaredTask, "name">>>,
): Readonly<Record<Name, DeclaredTask>> {
  const named = Object.entries<Omit<DeclaredTask, "name">>(tasks).map(([name, task]) => [
    name,
    { name, ...task },
  ]);
  return Object.fromEntries(named) as Readonly<Record<Name, DeclaredTask>>;
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses a schedule. Returns a function from a time to the next run, both in epoch milliseconds.
 * @param timeZone of words and fields, such as `Europe/Berlin`
 * @throws Error if the schedule is invalid or never due
 */
export function toNext(schedule: string, timeZone: string): (after: number) => number {
  const [, count, unit = ""] = /^@every (\d{1,6})([smh])$/.exec(schedule) ?? [];
  if (count !== undefined) {
    const ms = Number(count) * (UNITS_MS[unit] ?? 0);
    if (ms === 0) throw new Error(`${schedule} has no length`);
    return (after) => after + ms;
  }
  const cron = new Cron(schedule, { timezone: timeZone, paused: true, mode: "auto" });
  return (after) => {
    const next = cron.nextRun(new Date(after));
    if (next === null) throw new Error(`${schedule} never comes`);
    return next.getTime();
  };
}

/**
 * Does work for each item, also after it failed for another one: what one account has made impossible must not hold up the
 * others.
 * @throws the error after the last item, an `AggregateError` for several
 */
export async function forEachAlone<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for await (const item of items)
    try {
      await work(item);
    } catch (error) {
      errors.push(error);
    }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} items failed`);
}
