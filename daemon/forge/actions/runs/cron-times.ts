import { Cron } from "croner";

/**
 * Returns the first time of a cron expression of five fields after a time, in UTC and epoch milliseconds; undefined for an
 * invalid expression and one that never comes.
 */
export function nextCronTime(expression: string, after: number): number | undefined {
  try {
    const cron = new Cron(expression, { timezone: "UTC", paused: true, mode: "5-part" });
    return cron.nextRun(new Date(after))?.getTime();
  } catch {
    // croner throws an error of no own class for whatever it cannot read.
    return undefined;
  }
}
