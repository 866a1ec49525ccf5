import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";

/** Maximum wait; longer ones are reported as errors. The daemon limits sign-ins for 15 minutes. */
const WAIT_SECONDS_MAX = 60 * 60;

/** Returns how many seconds to wait after `error`; undefined when waiting does not help, or takes too long. */
export function toWaitSeconds(error: unknown): number | undefined {
  if (!(error instanceof CliError) || error.code !== "rate_limited") return undefined;
  const seconds = error.details.retryAfterSeconds;
  return seconds === undefined || seconds > WAIT_SECONDS_MAX ? undefined : Math.max(1, seconds);
}

/**
 * Calls `show` with the remaining seconds, once a second until they have passed.
 * @throws the reason of `signal` when it is aborted
 */
export async function countDown(
  { system }: Pick<CliContext, "system">,
  seconds: number,
  signal: AbortSignal,
  show: (left: number) => void,
): Promise<void> {
  for (let left = seconds; left > 0; left--) {
    show(left);
    await system.sleep(1_000, signal);
  }
}

/** `42 s`, `14 min 59 s`. */
export function toWaitText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/**
 * Runs `work` and repeats it after each rate limit, with a countdown on the terminal. In scripts the error is thrown
 * at once.
 */
export async function waitOutLimits<T>(cli: CliContext, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const seconds = toWaitSeconds(error);
      if (seconds === undefined || !(await cli.prompts.canAsk())) throw error;
      cli.io.warn((error as CliError).message);
      try {
        await countDown(cli, seconds, cli.signal, (left) =>
          cli.io.draw(`Trying again in ${toWaitText(left)}; Ctrl-C leaves`),
        );
      } finally {
        cli.io.draw("");
      }
    }
  }
}
