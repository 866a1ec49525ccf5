import { type LogFn, type Logger, pino } from "pino";
import { createScrubber, redactDeep, showControls } from "./redaction.ts";

/** The log of the daemon's parts. Fields first, then a fixed event text; values belong in the fields. */
export interface Log {
  readonly debug: LogFn;
  readonly info: LogFn;
  readonly warn: LogFn;
  readonly error: LogFn;
  readonly fatal: LogFn;
  /** A log whose lines all carry `fields`, such as `{ request_id }`. */
  child(fields: Record<string, unknown>): Log;
  isLevelEnabled(level: string): boolean;
}

export interface LoggerOptions {
  readonly level: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  /** `auto` is pretty on a terminal and JSON otherwise. */
  readonly format: "auto" | "pretty" | "json";
  readonly to: { write(line: string): unknown; readonly isTTY?: boolean };
  /** Receives every line as JSON, whatever the format: the log file. */
  readonly recordTo?: { write(line: string): unknown } | undefined;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Secrets of the settings: replaced wherever they occur. */
  readonly secrets?: readonly string[];
}

/**
 * The log of a process: one line per event. Values under names such as `password` or `authorization`, credentials in
 * addresses and known secrets are redacted, and no value can start a new line or move the cursor. Everything runs in
 * this thread: a worker could lose the last lines of a process that dies.
 */
export async function createLogger(options: LoggerOptions): Promise<Log> {
  const { to, recordTo, clock } = options;
  const scrub = createScrubber(options.secrets ?? []);
  const isPretty = options.format === "pretty" || (options.format === "auto" && to.isTTY === true);
  const print = isPretty ? await createPrinter(to.isTTY === true) : undefined;
  const write = (line: string) => {
    const clean = scrub(line);
    recordTo?.write(clean);
    to.write(print === undefined ? clean : print(clean));
  };
  const logger = pino<never>(
    {
      level: options.level,
      base: null,
      messageKey: "message",
      timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
      formatters: {
        level: (label) => ({ level: label }),
        log: redactDeep,
      },
      // redactDeep has made plain objects of errors by then.
      serializers: { err: (value: unknown) => value },
    },
    { write },
  );
  return toLog(logger);
}

/** pino's child loggers do not format their bindings, so this code formats them first. */
function toLog(logger: Logger<never>): Log {
  return {
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    fatal: logger.fatal.bind(logger),
    child: (fields) => toLog(logger.child(redactDeep(fields))),
    isLevelEnabled: (level) => logger.isLevelEnabled(level),
  };
}

/** Loaded only where it is used: most processes log JSON or nothing. */
async function createPrinter(colorize: boolean): Promise<(line: string) => string> {
  const { prettyFactory } = await import("pino-pretty");
  const print = prettyFactory({
    colorize,
    messageKey: "message",
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
    errorLikeObjectKeys: ["err"],
  });
  return (line) => print(showControls(JSON.parse(line))) ?? "";
}
