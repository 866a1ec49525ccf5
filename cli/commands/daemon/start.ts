import { join } from "node:path";
import { closeSync, existsSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { startProcess } from "../../../storage/start-process.ts";
import { findDaemonNotice } from "../../client/target.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun } from "../../errors.ts";
import { type CliErrorCode, isErrorCode } from "../../exit-codes.ts";
import { shape } from "../../output/spec.ts";
import { daemonLogPath } from "../../profile/daemon-log.ts";
import { makePrivateFolder } from "../../profile/private-files.ts";
import type { SettingFlags } from "../../profile/settings.ts";
import { findStartFlags } from "../../profile/start-flags.ts";
import { findInstalledService, runServiceManager } from "../../support/service-control.ts";
import type { ServiceFile } from "../../support/service-files.ts";
import {
  firstStartSchema,
  type ShownFirstStart,
  toReadyText,
  toServeWords,
  toSettingFlags,
  whatToType,
  serveFlags,
} from "../serve.ts";
import { endDaemon, toSeconds } from "./process.ts";
import { asObject, isTexts, parseObject } from "../../support/json.ts";
import type { System } from "../../system.ts";
import { commandDetails } from "../../tree/command.ts";

export interface DaemonStartOptions {
  readonly settings: SettingFlags;
  readonly timeoutSeconds: number;
  /** Also runs jobs of workflows. */
  readonly hasRunner?: boolean;
  /** The folder in which relative paths of `settings` start; that of this shell when absent. */
  readonly workingDirectory?: string;
}

const startOutput = shape({
  started: "boolean",
  pid: "integer",
  urls: { type: "array", items: { type: "string" } },
  log: "string",
  first_start: firstStartSchema,
});

export const startDaemon = commandDetails({
  flags: {
    ...serveFlags,
    "--timeout <seconds>": {
      help: "how long to wait until it is ready",
      parse: toSeconds,
      default: 60,
    },
  },
  output: startOutput,
  writes: true,
  examples: [
    ["Start the daemon and wait until it is ready", "croft daemon start --port 0"],
    ["Start it and print its address", "croft daemon start --port 0 --jq '.urls[0]'"],
  ],
  /**
   * Starts the daemon of this home, as its service if that is installed and the line has no settings, else in a session of its
   * own, and waits until it accepts requests.
   * @throws CliError `already_running`, the failure of the start, or `not_finished` when the daemon is not ready in time
   */
  async run(cli, flags) {
    const options = { settings: toSettingFlags(flags), timeoutSeconds: flags.timeout };

    const { dataDirectory } = (await cli.config()).paths;
    const notice = findDaemonNotice(dataDirectory, cli.system);
    if (notice !== undefined)
      throw new CliError(
        "already_running",
        `a daemon (process ${notice.pid}) already runs on ${dataDirectory}`,
        { hint: '"croft daemon status" shows it, "croft daemon restart" starts it again' },
      );
    await startAgain(cli, options);
  },
});

export const restartDaemon = commandDetails({
  flags: {
    ...serveFlags,
    "--timeout <seconds>": {
      help: "how long to wait for its end, then for its start",
      parse: toSeconds,
      default: 60,
    },
  },
  output: startOutput,
  writes: true,
  examples: [
    ["Restart the daemon", "croft daemon restart --port 0"],
    ["Restart it with more in the log", "croft daemon restart --port 0 --log-level debug"],
  ],
  /**
   * Stops the daemon of this home, if one runs, and starts it as `daemon start` does, with the flags of its start; those of
   * the line are stronger.
   */
  async run(cli, flags) {
    const options = { settings: toSettingFlags(flags), timeoutSeconds: flags.timeout };

    const { stateDirectory } = (await cli.config()).paths;
    const pid = await endDaemon(cli, flags.timeout);
    const kept = pid === undefined ? undefined : findStartFlags(stateDirectory, pid);
    if (kept === undefined) return startAgain(cli, options);
    const settings = { ...kept.settings, ...options.settings };
    const isSame = Object.keys(options.settings).length === 0;
    await startAgain(cli, {
      ...options,
      settings,
      hasRunner: kept.hasRunner,
      // Relative paths of the line start in the folder of this shell.
      ...(isSame ? { workingDirectory: kept.workingDirectory } : {}),
    });
  },
});

async function startAgain(cli: CliContext, options: DaemonStartOptions): Promise<void> {
  const service = await findInstalledService(cli);
  if (service === undefined) return startAndReport(cli, options);
  if (Object.keys(options.settings).length === 0) return resumeAndReport(cli, service, options);
  cli.io.warn(
    `the service ${service.path} takes no flags: the daemon runs outside of it; "croft config set" keeps settings`,
  );
  await startAndReport(cli, options);
}

const servicePollMs = 100;

/** Starts the service of this home and waits until its daemon accepts requests. */
async function resumeAndReport(
  cli: CliContext,
  service: ServiceFile,
  { timeoutSeconds }: DaemonStartOptions,
): Promise<void> {
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { paths } = readAllSettings(cli.system, cli.flags, {});
  const log = daemonLogPath(paths.stateDirectory);
  if (cli.flags.dryRun) throw new DryRun({ run: service.resume });
  await runServiceManager(cli, service.resume);
  const deadline = cli.clock() + timeoutSeconds * 1000;
  for (;;) {
    const { pid, urls = [] } = findDaemonNotice(paths.dataDirectory, cli.system) ?? {};
    const isReady = urls.length > 0 && (await cli.client.probe("/readyz")).status === 200;
    if (pid !== undefined && isReady)
      return cli.output.done(
        { started: true, pid, urls, log, ...toFirstStartFields(cli, null) },
        `${toReadyText(urls, undefined, whatToType(cli))}\nStarted the service (process ${pid}). Its log: ${log}`,
      );
    if (cli.clock() > deadline)
      throw new CliError("not_finished", `the service is not ready after ${timeoutSeconds} s`, {
        hint: '"croft daemon logs" shows why, "croft daemon wait" continues to wait',
      });
    await cli.system.sleep(servicePollMs, cli.signal);
  }
}

async function startAndReport(
  cli: CliContext,
  {
    settings,
    timeoutSeconds,
    hasRunner = false,
    workingDirectory = cli.system.workingDirectory,
  }: DaemonStartOptions,
): Promise<void> {
  const { readAllSettings, readPaths } = await import("../../profile/settings.ts");
  const chosen = readPaths(cli.system, cli.flags);
  const isElsewhere = workingDirectory !== cli.system.workingDirectory;
  // Absolute: the daemon may run in the folder of an earlier start.
  const home = cli.flags.home !== undefined || isElsewhere ? chosen.home : undefined;
  const hasConfig = cli.flags.config !== undefined || isElsewhere;
  const config = hasConfig && existsSync(chosen.configFile) ? chosen.configFile : cli.flags.config;
  // Reports an invalid setting before anything is started.
  const system = { ...cli.system, workingDirectory };
  const { paths } = readAllSettings(system, { ...cli.flags, home, config }, settings);
  const words = [
    "serve",
    "--background",
    "--json",
    ...(home === undefined ? [] : [`--home=${home}`]),
    ...(config === undefined ? [] : [`--config=${config}`]),
    ...toServeWords(settings),
    ...(hasRunner ? ["--runner"] : []),
  ];
  const log = daemonLogPath(paths.stateDirectory);
  if (cli.flags.dryRun) throw new DryRun({ start: { data: paths.dataDirectory, words, log } });
  await makePrivateFolder(paths.stateDirectory);
  const started = await startInBackground(system, words, join(paths.stateDirectory, "daemon.err"));
  const line = await firstLineOf(cli, started, timeoutSeconds);
  const { urls, first_start: firstStart } = parseReady(line);
  const { pid } = started;
  await cli.output.done(
    { started: true, pid, urls, log, ...toFirstStartFields(cli, firstStart) },
    `${toReadyText(urls, firstStart ?? undefined, whatToType(cli))}\nStarted the daemon (process ${pid}). Its log: ${log}`,
  );
}

/** Secrets of the first start are printed in JSON only; rows in a pipe may end up in a log. */
function toFirstStartFields(cli: CliContext, firstStart: ShownFirstStart | null) {
  if (cli.output.isMachine) return { first_start: firstStart };
  return firstStart === null ? {} : { first_password: firstStart.password_file };
}

/** Returns the line with which the daemon reports that it is ready. */
async function firstLineOf(
  cli: CliContext,
  started: BackgroundProcess,
  timeoutSeconds: number,
): Promise<string> {
  const waiting = new AbortController();
  const deadline = cli.system
    .sleep(timeoutSeconds * 1000, AbortSignal.any([cli.signal, waiting.signal]))
    .then(() => "late" as const);
  try {
    const line = await Promise.race([started.firstLine, deadline]);
    if (line === "late")
      throw new CliError(
        "not_finished",
        `the daemon (process ${started.pid}) is not ready after ${timeoutSeconds} s`,
        { hint: '"croft daemon wait" continues to wait, "croft daemon stop" ends it' },
      );
    if (line === undefined) throw toStartFailure(await started.readErrors());
    return line;
  } catch (error) {
    if (cli.signal.aborted) cli.system.stopProcess(started.pid);
    throw error;
  } finally {
    deadline.catch(() => undefined);
    waiting.abort();
    started.release();
  }
}

function parseReady(line: string): {
  readonly urls: readonly string[];
  readonly first_start: ShownFirstStart | null;
} {
  const { urls, first_start: firstStart } = parseObject(line) ?? {};
  if (!isTexts(urls) || !(firstStart === null || isFirstStart(firstStart)))
    throw new CliError("unexpected", `the daemon printed an unexpected first line: ${line}`);
  return { urls, first_start: firstStart };
}

function isFirstStart(value: unknown): value is ShownFirstStart {
  const { home, forge, vault } = asObject(value) ?? {};
  return typeof home === "string" && [forge, vault].every((each) => asObject(each) !== undefined);
}

/** The failure that the daemon reported in its last line, with the same code; a crash reports other text. */
function toStartFailure(text: string): CliError {
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  const reported = parseFailure(last);
  if (reported === undefined)
    return new CliError(
      "unexpected",
      `the daemon ended before it was ready: ${last || "no reason"}`,
    );
  const { code, message, hint } = reported;
  return new CliError(code, message, { hint: hint ?? undefined });
}

function parseFailure(
  line: string,
):
  | { readonly code: CliErrorCode; readonly message: string; readonly hint: string | null }
  | undefined {
  // A crash ends with a stack trace of Node, which is not JSON.
  const { code, message, hint } = asObject(parseObject(line)?.["error"]) ?? {};
  if (!isErrorCode(code) || typeof message !== "string") return undefined;
  return { code, message, hint: typeof hint === "string" ? hint : null };
}

/** A croft process in its own session: it keeps running when this process and its terminal end. */
type BackgroundProcess = Awaited<ReturnType<typeof startInBackground>>;

/**
 * Runs this croft with `words` in the background. Its standard error goes to the file `errorPath`, which is emptied first.
 * @throws the system's error when the program cannot be started
 */
async function startInBackground(
  { program, env, workingDirectory }: Pick<System, "program" | "env" | "workingDirectory">,
  words: readonly string[],
  errorPath: string,
) {
  const [file, ...before] = program;
  const errors = openSync(errorPath, "w", 0o600);
  const { child, exited } = startWith(errors);
  if (child.pid === undefined) throw (await exited).error ?? new Error(`${file} failed to start`);
  const output = child.stdout;
  const firstLine = new Promise<string | undefined>((resolve, reject) => {
    createInterface(output).once("line", resolve);
    exited.then(() => resolve(undefined), reject);
  });
  return {
    pid: child.pid,
    /** The first line that it prints; undefined when it ends without one. */
    firstLine,
    /** Returns the standard error output. */
    readErrors: (): Promise<string> => readFile(errorPath, "utf8"),
    /** Allows this process to end while the other one runs. */
    release() {
      output.destroy();
      child.unref();
    },
  };

  function startWith(stderr: number) {
    try {
      return startProcess(file, [...before, ...words], {
        cwd: workingDirectory,
        env,
        detached: true,
        stdio: ["ignore", "pipe", stderr],
      });
    } finally {
      closeSync(stderr);
    }
  }
}
