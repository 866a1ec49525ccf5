import { type FileHandle, open, stat } from "node:fs/promises";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { sanitizeText, toJson } from "../../output/sanitize.ts";
import { shape } from "../../output/spec.ts";
import { daemonLogPath, olderLogPath } from "../../profile/daemon-log.ts";
import { readTime } from "../../support/flag-values.ts";
import { parseObject } from "../../support/json.ts";
import { commandDetails } from "../../tree/command.ts";

/** Least to most severe. */
const levels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

type Level = (typeof levels)[number];

/** Selects log records; an absent member selects all. */
interface LogFilter {
  /** The least severe level. */
  readonly level?: Level;
  /** Epoch milliseconds, inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly requestId?: string;
}

/** A line of the log as an object. */
type LogRecord = Readonly<Record<string, unknown>>;

export const daemonLogs = commandDetails({
  flags: {
    "-n, --lines <number>": { help: "how many lines", parse: toLines, default: 100 },
    "-f, --follow": "follow the log",
    "--level <level>": { help: `the least severe level: ${levels.join(", ")}`, parse: toLevel },
    "--since <time>": {
      help: "lines from this time on: RFC 3339, or an age such as 15m, 2h, 7d",
      parse: String,
    },
    "--until <time>": { help: "lines up to this time, in the same form", parse: String },
    "--request <id>": "lines of one request",
  },
  output: shape({
    path: "string",
    lines: { type: "array", items: { type: "string" } },
  }),
  examples: [
    ["Show the last 20 lines", "croft daemon logs -n 20"],
    ["Show warnings and errors of the last hour", "croft daemon logs --level warn --since 1h"],
    ["Print records for another program", "croft daemon logs --since 1d --ndjson"],
  ],
  /** Prints the end of the log that the daemon keeps on this machine. `--ndjson` prints its records. */
  async run(cli, { lines, follow = false, level, since, until, request }) {
    const options = {
      lines,
      follow,
      ...(level === undefined ? {} : { level }),
      ...(since === undefined ? {} : { since: toTime("--since", since, cli.clock) }),
      ...(until === undefined ? {} : { until: toTime("--until", until, cli.clock) }),
      ...(request === undefined ? {} : { requestId: request }),
    };

    if (follow && cli.output.isMachine && !cli.flags.ndjson)
      throw usageError("--follow does not go with machine output", "--ndjson prints records");
    const path = daemonLogPath((await cli.config()).paths.stateDirectory);
    const log = await openLog(path);
    try {
      const { size } = await log.stat();
      const last = await readLast(path, size, options);
      if (follow && last.length > 1) {
        // A reader such as `head -n 1` ends after the first line, which only a later write detects.
        await print(cli, path, last.slice(0, 1));
        await cli.system.sleep(logPollMs, cli.signal);
        await print(cli, path, last.slice(1));
      } else await print(cli, path, last);
      if (follow) await followLog(cli, path, log, size, options);
    } finally {
      await log.close();
    }
  },
});

const logPollMs = 200;

/** Enough for a thousand long lines. */
const tailBytes = 1024 * 1024;

async function openLog(path: string): Promise<FileHandle> {
  return open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new CliError("not_found", `there is no log at ${path}`, {
      hint: '"croft serve" and "croft daemon start" write it on the machine of the daemon',
    });
  });
}

async function print(cli: CliContext, path: string, lines: readonly string[]): Promise<void> {
  if (!cli.flags.ndjson)
    return cli.output.text(lines.map((line) => `${toShownLine(line)}\n`).join(""), { path, lines });
  const text = lines.map((line) => `${toJson(toRecord(line) ?? { message: line })}\n`).join("");
  if (text !== "") await cli.io.write(text);
}

/** The last lines up to `size` that the filter selects. Without a filter only the end of the log is read. */
async function readLast(
  path: string,
  size: number,
  { lines, ...filter }: LogFilter & { readonly lines: number },
): Promise<readonly string[]> {
  if (lines === 0) return [];
  const select = toSelection(filter);
  const isFiltered = select !== selectsAll;
  const start = isFiltered ? 0 : Math.max(0, size - tailBytes);
  const last: string[] = [];
  const older = isFiltered ? await open(olderLogPath(path)).catch(ignoreMissing) : undefined;
  await keepLast(older, {});
  if (size > start) await keepLast(await open(path), { start, end: size - 1 });
  return last.slice(-lines);

  async function keepLast(
    file: FileHandle | undefined,
    range: { readonly start?: number; readonly end?: number },
  ): Promise<void> {
    if (file === undefined) return;
    // Closes the file at its end.
    for await (const line of file.readLines(range)) {
      if (line === "" || !select(line)) continue;
      last.push(line);
      if (last.length > 2 * lines) last.splice(0, last.length - lines);
    }
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

/** Prints new lines, through rotations, until a stop signal arrives or the reader closes the output. */
async function followLog(
  cli: CliContext,
  path: string,
  first: FileHandle,
  from: number,
  filter: LogFilter,
): Promise<void> {
  const select = toSelection(filter);
  let file = first;
  let at = from;
  let rest = Buffer.alloc(0);
  let isClosed = false;
  const ended = new AbortController();
  // A quiet log writes nothing, so no write fails when the reader closes the pipe.
  cli.system.outputClosed(ended.signal).then(
    () => (isClosed = true),
    // Where that cannot be known, the next write finds it out.
    () => undefined,
  );
  try {
    for (;;) {
      await cli.system.sleep(logPollMs, cli.signal);
      if (isClosed) throw new CliError("closed_pipe", "the reader of the output closed the pipe");
      const { size, ino } = await file.stat();
      if (size > at) {
        const { buffer, bytesRead } = await file.read({
          buffer: Buffer.alloc(Math.min(size - at, tailBytes)),
          position: at,
        });
        at += bytesRead;
        const text = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
        const end = text.lastIndexOf("\n") + 1;
        rest = text.subarray(end);
        await print(cli, path, toLinesOf(text.subarray(0, end)).filter(select));
        continue;
      }
      const current = await stat(path).catch(() => undefined);
      if (current === undefined || (current.ino === ino && current.size >= at)) continue;
      if (current.ino !== ino) {
        const next = await open(path, "r");
        if (file !== first) await file.close();
        file = next;
      }
      at = 0;
      rest = Buffer.alloc(0);
    }
  } finally {
    ended.abort();
    if (file !== first) await file.close();
  }
}

function toLinesOf(text: Buffer): string[] {
  return text.toString("utf8").split("\n").filter(Boolean);
}

const selectsAll = () => true;

function toSelection({ level, since, until, requestId }: LogFilter): (line: string) => boolean {
  if ([level, since, until, requestId].every((one) => one === undefined)) return selectsAll;
  const least = level === undefined ? 0 : levels.indexOf(level);
  return (line) => {
    const record = toRecord(line);
    if (record === undefined) return false;
    const at = Date.parse(String(record["time"]));
    return (
      levels.indexOf(record["level"] as Level) >= least &&
      (since === undefined || at >= since) &&
      (until === undefined || at <= until) &&
      (requestId === undefined || record["request_id"] === requestId)
    );
  };
}

/** The record of a line; undefined for text that an older daemon or a crash left in the log. */
function toRecord(line: string): LogRecord | undefined {
  return line.startsWith("{") ? parseObject(line) : undefined;
}

/** `time LEVEL message name=value …` */
function toShownLine(line: string): string {
  const record = toRecord(line);
  if (record === undefined) return sanitizeText(line);
  const { time, level, message, ...fields } = record;
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${toJson(value)}`);
  const head = [String(time), String(level).toUpperCase().padEnd(5), String(message)];
  return sanitizeText([...head, ...shown].join(" ")).replaceAll("\n", "\\n");
}

function toLines(value: string): number {
  if (!/^\d{1,6}$/.test(value))
    throw usageError(`--lines takes a whole number, not ${JSON.stringify(value)}`);
  return Number(value);
}

function toLevel(value: string): Level {
  const level = levels.find((one) => one === value.toLowerCase());
  if (level !== undefined) return level;
  throw usageError(`--level takes ${levels.join(", ")}, not ${JSON.stringify(value)}`);
}

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A moment, or an age, as epoch milliseconds. */
function toTime(flag: string, value: string, clock: () => number): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(value) ?? [];
  if (count !== undefined) return clock() - Number(count) * (unitMs[unit] ?? 0);
  const at = readTime(value);
  if (at !== undefined) return at;
  throw usageError(
    `${flag} takes a time such as 2026-11-21T12:00:00Z or an age such as 15m, not ${JSON.stringify(value)}`,
  );
}
