import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { clientHeaders } from "../client/client.ts";
import { addressOf, findDaemonNotice, findTarget, isAlive, type Target } from "../client/target.ts";
import { createTransport } from "../client/transport.ts";
import { createTrust } from "../client/trust.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun, usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { sanitizeText } from "../output/sanitize.ts";
import { type FieldType, shape } from "../output/spec.ts";
import { daemonLogPath } from "../profile/daemon-log.ts";
import { toDaemonFailure } from "../support/daemon-failures.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";
import { version } from "../version.ts";

export const entries: readonly Entry[] = [
  verb("status", "Show whether the daemon runs, and where", () => statusDaemon),
  verb("stop", "Stop the daemon that runs on this home", () => stopDaemon),
  verb("wait", "Wait until the daemon accepts requests", () => waitDaemon),
  verb("logs", "Show the end of the daemon's log", () => daemonLogs),
  verb("restore", "Put a copy of the database in its place", () => restoreDaemon),
];

/** What is known of a daemon that answers. */
interface DaemonStatus {
  readonly running: boolean;
  /** False while it starts or stops. */
  readonly ready: boolean;
  readonly url: string;
  /** Null when it runs elsewhere. */
  readonly pid: number | null;
  readonly started_at: string | null;
  /** `full` when the daemon has given up the disk space that it keeps for deleting. */
  readonly disk: "full" | null;
}

const statusFields: Readonly<Record<keyof DaemonStatus, FieldType>> = {
  running: "boolean",
  ready: "boolean",
  url: "string",
  pid: "integer?",
  started_at: "string?",
  disk: "string?",
};

const statusDaemon = {
  operations: [],
  output: shape(statusFields),
  define(command, cli, run = runDaemonStatus): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Asks the daemon how it is. @throws CliError `daemon_unreachable` when it does not answer */
async function runDaemonStatus(cli: CliContext): Promise<void> {
  await cli.output.resource(await readStatus(cli), statusColumns);
}

/** The state of the daemon that requests go to. */
async function readStatus(cli: CliContext): Promise<DaemonStatus> {
  const { url } = await cli.client.target();
  const { status, body } = await cli.client.probe("/readyz");
  const { paths } = await cli.config();
  const notice = findDaemonNotice(paths.dataDirectory, cli.system);
  // The notice is of this home's daemon, which need not be the one that was asked.
  const own = notice?.urls.includes(url) === true ? notice : undefined;
  return {
    running: true,
    ready: status === 200,
    url,
    pid: own?.pid ?? null,
    started_at: own === undefined ? null : new Date(own.startedAt).toISOString(),
    disk: /"disk":\s*"full"/.test(body.toString()) ? "full" : null,
  };
}

const statusColumns: readonly Column<DaemonStatus>[] = [
  { header: "running", cell: ({ running }) => running },
  { header: "ready", cell: ({ ready }) => ready },
  { header: "url", cell: ({ url }) => url },
  { header: "pid", cell: ({ pid }) => pid },
  { header: "started", cell: (status) => time(status.started_at) },
  { header: "disk", cell: ({ disk }) => disk },
];

export interface DaemonStopOptions {
  readonly timeoutSeconds: number;
}

export const stopDaemon = {
  operations: [],
  output: shape({ stopped: "boolean", pid: "integer?", data: "string" }),
  writes: true,
  define(command, cli, run = runDaemonStop): void {
    command
      .option("--timeout <seconds>", "how long to wait for its end", toSeconds, 60)
      .action(({ timeout }: { readonly timeout: number }) => run(cli, { timeoutSeconds: timeout }));
  },
} satisfies CommandModule;

const stopPollMs = 50;

/**
 * Asks the daemon of this home to stop and waits until its process has ended. When none runs there is nothing to do.
 * @throws CliError `not_finished` when it has not ended in time
 */
async function runDaemonStop(
  cli: CliContext,
  { timeoutSeconds }: DaemonStopOptions,
): Promise<void> {
  const { dataDirectory: data } = (await cli.config()).paths;
  const notice = findDaemonNotice(data, cli.system);
  if (notice === undefined)
    return cli.output.done({ stopped: false, pid: null, data }, `No daemon runs on ${data}.`);
  const { pid } = notice;
  if (cli.flags.dryRun) throw new DryRun({ stop: { pid, data } });
  cli.system.stopProcess(pid);
  const deadline = cli.clock() + timeoutSeconds * 1000;
  while (isAlive(notice, cli.system)) {
    if (cli.clock() > deadline)
      throw new CliError("not_finished", `process ${pid} has not ended within ${timeoutSeconds} s`);
    await cli.system.sleep(stopPollMs, cli.signal);
  }
  await cli.output.done({ stopped: true, pid, data }, `Stopped the daemon (process ${pid}).`);
}

export interface DaemonWaitOptions {
  readonly timeoutSeconds: number;
}

export const waitDaemon = {
  operations: [],
  output: shape({ ready: "boolean", url: "string" }),
  define(command, cli, run = runDaemonWait): void {
    command
      .option("--timeout <seconds>", "how long to wait", toSeconds, 30)
      .action(({ timeout }: { readonly timeout: number }) => run(cli, { timeoutSeconds: timeout }));
  },
} satisfies CommandModule;

const waitPollMs = 100;

/**
 * Waits until the daemon accepts requests. The address is found anew each time, since a daemon that starts tells late.
 * @throws CliError `daemon_unreachable` when nothing answered in time, `not_finished` when it was not ready yet
 */
async function runDaemonWait(
  cli: CliContext,
  { timeoutSeconds }: DaemonWaitOptions,
): Promise<void> {
  const { send } = createTransport(cli.system, () => createTrust(cli)());
  const deadline = cli.clock() + timeoutSeconds * 1000;
  for (;;) {
    const target = await findTarget(cli);
    const { url } = target;
    const status = await ask(target).catch((error: unknown) => {
      if (error instanceof CliError && error.code === "daemon_unreachable") return error;
      throw error;
    });
    if (status === 200)
      return cli.output.done({ ready: true, url }, `The daemon at ${url} accepts requests.`);
    if (cli.clock() > deadline) {
      if (status instanceof CliError) throw status;
      throw new CliError("not_finished", `the daemon at ${url} is not ready yet`);
    }
    await cli.system.sleep(waitPollMs, cli.signal);
  }

  async function ask(target: Target): Promise<number> {
    const { status } = await send({
      method: "GET",
      url: `${addressOf(target)}/readyz`,
      headers: clientHeaders,
      body: undefined,
      signal: cli.signal,
    });
    return status;
  }
}

/** A whole number of seconds. */
function toSeconds(given: string): number {
  if (!/^\d{1,6}$/.test(given))
    throw usageError(`--timeout takes whole seconds, not ${JSON.stringify(given)}`);
  return Number(given);
}

export interface DaemonLogsOptions {
  readonly lines: number;
  readonly follow: boolean;
}

export const daemonLogs = {
  operations: [],
  output: shape({
    path: "string",
    lines: { type: "array", items: { type: "string" } },
  }),
  define(command, cli, run = runDaemonLogs): void {
    command
      .option("-n, --lines <number>", "how many lines", toLines, 100)
      .option("-f, --follow", "follow the log")
      .action((flags: { readonly lines: number; readonly follow?: true }) =>
        run(cli, { lines: flags.lines, follow: flags.follow === true }),
      );
  },
} satisfies CommandModule;

const logPollMs = 200;

/** Enough for a thousand long lines, and no more than a person reads. */
const tailBytes = 1024 * 1024;

/** Prints the end of the log that `croft serve` keeps on this machine. */
async function runDaemonLogs(cli: CliContext, { lines, follow }: DaemonLogsOptions): Promise<void> {
  if (follow && cli.output.isMachine) throw usageError("--follow does not go with machine output");
  const path = daemonLogPath((await cli.config()).paths.stateDirectory);
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new CliError("not_found", `there is no log at ${path}`, {
      hint: '"croft serve" writes it on the machine of the daemon',
    });
  });
  try {
    let { size: at } = await file.stat();
    const tail = await readText(file, Math.max(0, at - tailBytes), at);
    const all = tail.split("\n").slice(0, -1);
    const last = lines === 0 ? [] : all.slice(-lines);
    await cli.output.text(last.map((line) => `${line}\n`).join(""), { path, lines: last });
    while (follow) {
      await cli.system.sleep(logPollMs, cli.signal);
      const { size } = await file.stat();
      if (size <= at) continue;
      await cli.io.write(sanitizeText(await readText(file, at, size)));
      at = size;
    }
  } finally {
    await file.close();
  }
}

async function readText(file: FileHandle, start: number, end: number): Promise<string> {
  if (end === start) return "";
  const { buffer } = await file.read({ buffer: Buffer.alloc(end - start), position: start });
  return buffer.toString("utf8");
}

function toLines(given: string): number {
  if (!/^\d{1,6}$/.test(given))
    throw usageError(`--lines takes a whole number, not ${JSON.stringify(given)}`);
  return Number(given);
}

export interface DaemonRestoreOptions {
  /** `latest`, a name, or a path. */
  readonly copy: string;
}

export const restoreDaemon = {
  operations: [],
  output: shape({
    restored: "boolean",
    copy: "string",
    kept: "string?",
    data: "string",
  }),
  writes: true,
  destructive: true,
  define(command, cli, run = runDaemonRestore): void {
    command
      .argument("[copy]", "a copy of croft.db: latest, its name in backups/, or its path", "latest")
      .action((copy: string) => run(cli, { copy }));
  },
} satisfies CommandModule;

/**
 * Puts a copy in the place of this home's database, which is kept beside the copies. Files, repositories and keys stay as
 * they are. @throws CliError `already_running` while a daemon runs on this home, `not_found` for a copy that is not there
 */
async function runDaemonRestore(cli: CliContext, { copy }: DaemonRestoreOptions): Promise<void> {
  const { readAllSettings } = await import("../profile/settings.ts");
  const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
  const data = paths.dataDirectory;
  const from = /[\\/]/.test(copy) ? resolve(cli.system.workingDirectory, copy) : copy;
  if (cli.flags.dryRun) throw new DryRun({ restore: { copy: from, data } });
  await cli.prompts.confirm(`Put ${from} in the place of the database in ${data}?`);
  const { restore } = await import("../../daemon/main.ts");
  const { pid, userId, stderr, processMark } = cli.system;
  const process = { pid, mark: processMark(pid), userId };
  const restored = await restore(
    { settings, paths, version, clock: cli.clock, process, logTo: stderr },
    from,
  ).catch((error: unknown) => {
    throw toDaemonFailure(error, {
      conflict: "already_running",
      not_found: "not_found",
      invalid_argument: "unsupported",
    });
  });
  const kept = restored.kept === null ? "" : `; what was there is kept as ${restored.kept}`;
  await cli.output.done(
    { restored: true, ...restored, data },
    `Restored the database of ${data} from ${restored.copy}${kept}.`,
  );
}
