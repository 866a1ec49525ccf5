// daemon/forge/cron: tasks that run by the clock, and on demand of operators.
// May import: daemon/contract, daemon/errors.ts, daemon/jobs, other rooms of the forge, storage, croner.
// Start here (what a task is and when it runs), then cron.service.ts. The tasks themselves are listed in
// daemon/composition/scheduled-tasks.ts: a new one is an entry there.
import { Cron } from "croner";

/** Something that is done by the clock. */
export interface CronTask {
  /** Unique, such as `git_gc_repos`; those that Gitea has too are called as there. */
  readonly name: string;
  /** `@every 72h`, one of croner's words such as `@midnight`, or five fields as in a crontab. */
  readonly schedule: string;
  /** Also when the daemon starts. */
  readonly atStart?: boolean;
  /** How long a run may take before its signal is aborted; 15 min. */
  readonly timeoutMs?: number;
  /**
   * Does it. Never runs twice at one time, in however many processes. What it throws is written down and logged, and
   * the next time comes anyway. When `signal` aborts it ends soon.
   */
  run(signal: AbortSignal): Promise<void>;
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Reads a schedule: a function from a time to the first time after it, both in epoch milliseconds.
 * @param timeZone of words and fields, such as `Europe/Berlin`
 * @throws Error when it cannot be understood or never comes
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
