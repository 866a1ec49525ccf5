import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { toJson } from "../output/sanitize.ts";

/** Flags of commands that start a background task. */
export interface WaitFlags {
  readonly wait?: true;
  /** In milliseconds; without it there is no limit. */
  readonly timeout?: number;
}

/** Adds `--wait` and `--timeout`. `help` names the awaited task. */
export const waitFlags = (help: string) =>
  ({
    "--wait": help,
    "--timeout <duration>": {
      help: "with --wait: at most this long, such as 90s, 10m or 2h; no limit by default",
      parse: toDuration,
    },
  }) as const;

/** Refuses `--timeout` alone. @throws CliError `usage` */
export function assertWaitFlags({ wait, timeout }: WaitFlags): void {
  if (timeout !== undefined && wait !== true)
    throw usageError("--timeout takes --wait, without which the command does not wait");
}

/** Returns milliseconds from `90`, `90s`, `10m` or `1h30m`. @throws CliError `usage` */
export function toDuration(value: string): number {
  const [whole, hours = "0", minutes = "0", seconds = "0"] =
    /^(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s?)?$/.exec(value) ?? [];
  const total = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  if (whole === undefined || whole === "" || total === 0)
    throw usageError(`--timeout takes a duration such as 90s, 10m or 2h, not ${toJson(value)}`);
  return total * 1000;
}

export interface Waiting<T> {
  /** The awaited task, such as `run 7 of ada/notes`. */
  readonly title: string;
  /** Milliseconds; undefined without a limit. */
  readonly timeout: number | undefined;
  readonly read: () => Promise<T>;
  /** The current state in a word, for the progress. */
  readonly stateOf: (value: T) => string;
  readonly hasEnded: (value: T) => boolean;
  /** The command that shows the state later. */
  readonly lookWith: string;
}

/** Polls often at first, because most tasks are short. */
const PAUSE_MS = 1_000;

const LONG_PAUSE_MS = 5_000;

const SHORT_WAIT_MS = 60_000;

/** Time that a daemon may be unreachable, as during a restart, before the wait fails. */
const AWAY_MS = 60_000;

/** A daemon that starts or is busy answers so, and a proxy whose daemon is away. */
const AWAY_STATUSES: readonly (number | undefined)[] = [502, 503, 504];

/**
 * Polls until the task has ended, and returns its last state. Shows the state and the elapsed time on a terminal;
 * with `--progress json` each change is an event. Continues over a rate limit and a restart of the daemon. @throws
 * CliError `not_finished` after the timeout
 */
export async function waitUntilEnded<T>(cli: CliContext, waiting: Waiting<T>): Promise<T> {
  const { title, timeout, read, lookWith } = waiting;
  const start = cli.clock();
  const show = createStateLine(cli, title, start);
  let answeredAt = start;
  let state = "";
  try {
    for (;;) {
      let pause = cli.clock() - start < SHORT_WAIT_MS ? PAUSE_MS : LONG_PAUSE_MS;
      try {
        const value = await read();
        answeredAt = cli.clock();
        if (waiting.hasEnded(value)) {
          show("");
          return value;
        }
        state = waiting.stateOf(value);
        show(state);
      } catch (error) {
        pause = pauseAfter(error, cli.clock() - answeredAt, pause);
      }
      const left = timeout === undefined ? pause : start + timeout - cli.clock();
      if (left <= 0)
        throw new CliError(
          "not_finished",
          `${title} has not ended within ${(timeout ?? 0) / 1000} s${state === "" ? "" : ` (${state})`}`,
          { hint: `it continues; "${lookWith}" shows it` },
        );
      await cli.system.sleep(Math.min(pause, left), cli.signal);
    }
  } catch (error) {
    show("");
    if (cli.signal.aborted && !cli.output.isMachine)
      cli.io.note(`${toSentence(title)} continues; "${lookWith}" shows it.`);
    throw error;
  }
}

/** Returns the pause before another attempt. @throws the error, when another attempt would not help */
function pauseAfter(error: unknown, awayMs: number, pause: number): number {
  if (!(error instanceof CliError)) throw error;
  const seconds = error.details.retryAfterSeconds;
  if (error.code === "rate_limited") return seconds === undefined ? LONG_PAUSE_MS : seconds * 1000;
  const isAway =
    error.code === "daemon_unreachable" || AWAY_STATUSES.includes(error.details.httpStatus);
  if (isAway && awayMs < AWAY_MS) return pause;
  throw error;
}

/** Returns a function that shows a state; an empty one clears the line. */
function createStateLine(cli: CliContext, title: string, start: number): (state: string) => void {
  const { io, flags } = cli;
  if (flags.progress === "json") {
    let last = "";
    return (state) => {
      if (state === "" || state === last) return;
      last = state;
      io.warn(toJson({ event: "state", item: title, state }));
    };
  }
  const isShown =
    io.isErrorTerminal &&
    (flags.progress === "bar" || !(flags.quiet || cli.output.isMachine || isDumb(cli))) &&
    flags.progress !== "none";
  if (!isShown) return () => undefined;
  return (state) => {
    const seconds = Math.floor((cli.clock() - start) / 1000);
    const elapsed = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    io.draw(state === "" ? "" : `Waiting for ${title}: ${state} ${elapsed}`);
  };
}

function isDumb({ system }: CliContext): boolean {
  return system.env["TERM"] === "dumb";
}

function toSentence(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}
