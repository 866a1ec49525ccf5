import { Cron } from "croner";

/**
 * Returns the first time of a cron expression of five fields after a time, in UTC and epoch milliseconds; undefined for
 * an invalid expression and one without a next time.
 */
export function nextCronTime(expression: string, after: number): number | undefined {
  try {
    const cron = new Cron(expression, { timezone: "UTC", paused: true, mode: "5-part" });
    return cron.nextRun(new Date(after))?.getTime();
  } catch {
    // croner throws a plain `Error` for an expression that it cannot parse.
    return undefined;
  }
}
