import { join } from "node:path";
import type { RunningDaemon } from "../../daemon/main.ts";
import { listSettings, type SettingName } from "../../daemon/settings/settings.ts";
import type { CliContext } from "../context.ts";
import { toJson } from "../output/sanitize.ts";
import { toShellWord } from "../output/shell-word.ts";
import { type JsonSchema, shape, toObjectSchema } from "../output/spec.ts";
import { RUN_SCRIPT } from "../runner/run-script.ts";
import { type DaemonLog, openDaemonLog } from "../profile/daemon-log.ts";
import type { SettingFlags } from "../profile/settings.ts";
import { toDaemonFailure } from "../support/daemon-failures.ts";
import { createServiceNotifier } from "../support/service-files.ts";
import { version } from "../version.ts";
import { keepForgeToken, STORED } from "./init.ts";
import { forge } from "../client/operations.ts";
import { CliError, toCliError } from "../errors.ts";
import { keepStartFlags } from "../profile/start-flags.ts";
import { warnOfHostJobs } from "./runner-run.ts";
import { commandDetails } from "../tree/command.ts";

/** Groups of settings that have flags of `serve`. */
const servedGroups: ReadonlySet<string> = new Set([
  "Listening",
  "Storage",
  "Limits",
  "Accounts and keys",
  "Logs",
]);

/** The settings with flags, each with its definition for commander. */
const flagged = listSettings().flatMap(([name, { flag, group, help }]) =>
  flag !== undefined && servedGroups.has(group) ? [{ name, flag, help }] : [],
);

/** A flag for each setting of these groups; `toSettingFlags` reads them. */
export const serveFlags: Readonly<Record<never, string>> = Object.fromEntries(
  flagged.map(({ flag, help }) => [flag, toFlagHelp(help)]),
);

/** Turns the sentence that describes a setting into the description of a flag. */
function toFlagHelp(help: string): string {
  return help.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
}

/** Returns `flags` as words of a command line. */
export function toServeWords(flags: SettingFlags): string[] {
  return flagged.flatMap(({ name, flag }) => {
    const value = flags[name];
    const [word = ""] = flag.split(" ");
    return value === undefined ? [] : [`${word}=${String(value)}`];
  });
}

/** The schema of the accounts that a first start created; null on later starts. */
export const firstStartSchema: JsonSchema = {
  anyOf: [
    toObjectSchema({
      home: "string",
      forge: toObjectSchema({ username: "string", token: "string" }),
      vault: toObjectSchema({ handle: "string", email: "string" }),
      password: "string?",
      password_file: "string?",
    }),
    { type: "null" },
  ],
};

export const serve = commandDetails({
  flags: {
    ...serveFlags,
    "--background": "write the log to the log file only",
    "--runner": "also run jobs of workflows, on this machine and unconfined",
  },
  output: shape({
    event: { const: "ready" },
    urls: { type: "array", items: { type: "string" } },
    pid: "integer",
    first_start: firstStartSchema,
  }),
  examples: [
    ["Run the daemon on loopback and print its address as JSON", "croft serve --port 0 --json"],
    ["Serve https with a certificate of its own", "croft serve --port 0 --tls self --tls-port 0"],
    ["Also run the workflows of your own repositories, on this machine", "croft serve --runner"],
  ],
  /**
   * Runs the daemon in the foreground until a stop signal, then lets running requests finish. Reports once, on standard
   * output, that it accepts requests.
   */
  async run(cli, { background: isBackground = false, runner: hasRunner = false, ...flags }) {
    const settingFlags = toSettingFlags(flags);
    cli.holdStops();
    const { assertKnownVariables, readAllSettings } = await import("../profile/settings.ts");
    assertKnownVariables(cli.system);
    const { settings, paths } = readAllSettings(cli.system, cli.flags, settingFlags);
    const { startDaemon } = await import("../../daemon/main.ts");
    const { pid, userId, stderr, processMark, program, onUnhandled } = cli.system;
    const log = await openDaemonLog(paths.stateDirectory, stderr, cli.clock);
    const daemon = await startDaemon({
      settings,
      paths,
      version,
      clock: cli.clock,
      process: { pid, mark: processMark(pid), userId },
      // The single executable contains Node.
      ...(program.length > 1 ? {} : { scriptProgram: [program[0], RUN_SCRIPT] }),
      logTo: isBackground ? { write: () => undefined } : log.screen,
      recordTo: log.records,
      onUnhandled,
      // The daemon bundles undici. Without this, h3 would make Node load its internal copy as well, for `Headers`.
      async beforeParts() {
        const { install } = await import("undici");
        install();
      },
    }).catch(async (thrown: unknown) => {
      const error = toDaemonFailure(thrown, {
        conflict: "already_running",
        invalid_argument: "usage",
      });
      recordFailedStart(log, cli.clock(), error);
      await log.close();
      throw error;
    });
    const notifier = createServiceNotifier(cli.system);
    let runner: Promise<void> | undefined;
    try {
      const { firstStart } = daemon;
      const { workingDirectory } = cli.system;
      const started = { settings: settingFlags, hasRunner, workingDirectory };
      await keepStartFlags(paths.stateDirectory, pid, started).catch((error: unknown) => {
        cli.io.warn(`"croft daemon restart" will not know the flags: ${toCliError(error).message}`);
      });
      const isStored = firstStart !== undefined && (await keepForgeToken(cli, firstStart.forge));
      const shown = await toShown(cli, paths.stateDirectory, firstStart);
      await announce(cli, daemon.urls, shown, isStored);
      notifier.ready();
      await tuneGarbageCollection();
      if (hasRunner) {
        runner = runServedRunner(cli, daemon.urls);
      }
      await stopSignal(cli.signal);
    } finally {
      notifier.stopping();
      // It reports the end of its jobs while the daemon still answers.
      await runner;
      await daemon.stop();
      await log.close();
    }
  },
});

/** The flags of a line that are settings, without the common ones. */
export function toSettingFlags(flags: object): SettingFlags {
  const names = new Set<SettingName>(flagged.map(({ name }) => name));
  const settings = Object.entries(flags).filter(([name]) => names.has(name as SettingName));
  return Object.fromEntries(settings);
}

/** Writes the reason of a failed start to the log file: a service has no screen. */
function recordFailedStart({ records }: DaemonLog, now: number, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  const time = new Date(now).toISOString();
  records.write(
    `${JSON.stringify({ level: "fatal", time, reason, message: "failed to start" })}\n`,
  );
}

/** The first major version of V8 that has the second flag below; an older one prints an error for it. */
const ACCOUNTED_SINCE_V8 = 14;

/** Sets how the engine collects garbage while the daemon serves. */
async function tuneGarbageCollection(): Promise<void> {
  const { setFlagsFromString } = await import("node:v8");
  // After the start the heap has enough room for the memory that requests allocate. Under load V8 would grow it fourfold,
  // which makes the process larger and no request faster.
  setFlagsFromString("--semi-space-growth-factor=1");
  // Otherwise the engine collects the whole heap for every 32 MiB that pass through buffers: half of the processor time of
  // uploads and cold downloads (0.8 and 1.5 s for 200 MiB, against 0.4 and 0.8 s), at the same peak of memory.
  if (Number(process.versions.v8.split(".")[0]) >= ACCOUNTED_SINCE_V8)
    setFlagsFromString("--external-memory-accounted-in-global-limit");
}

/** The message of the first start: the password, or the file with the password. */
export type ShownFirstStart = Omit<NonNullable<RunningDaemon["firstStart"]>, "password"> & {
  readonly password: string | null;
  readonly password_file: string | null;
};

/**
 * Output that is not a terminal may be a log that others read. Then the password is written to a file of mode 0600.
 */
async function toShown(
  cli: CliContext,
  folder: string,
  firstStart: RunningDaemon["firstStart"],
): Promise<ShownFirstStart | undefined> {
  if (firstStart === undefined) return undefined;
  if (cli.io.isOutputTerminal) return { ...firstStart, password_file: null };
  const { writePrivateFile } = await import("../profile/private-files.ts");
  const path = await findFreeName(join(folder, "first-password"));
  await writePrivateFile(path, `${firstStart.password}\n`);
  return { ...firstStart, password: null, password_file: path };
}

/** Never overwrites the password of an earlier home, whose backup may be restored. */
async function findFreeName(path: string): Promise<string> {
  const { access } = await import("node:fs/promises");
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? path : `${path}-${number}`;
    const isTaken = await access(candidate).then(
      () => true,
      () => false,
    );
    if (!isTaken) return candidate;
  }
}

async function announce(
  cli: CliContext,
  urls: readonly string[],
  firstStart: ShownFirstStart | undefined,
  isTokenStored: boolean,
): Promise<void> {
  const ready = { event: "ready", urls, pid: cli.system.pid, first_start: firstStart ?? null };
  // Scripts wait for exactly one line, so the document is not indented.
  if (
    cli.flags.json === true &&
    !cli.flags.meta &&
    cli.flags.format === undefined &&
    cli.flags.jq === undefined
  )
    return cli.io.write(`${toJson(ready)}\n`);
  await cli.output.text(toReadyText(urls, firstStart, whatToType(cli), isTokenStored), ready);
}

/**
 * Returns the command that runs this croft: after `npm start` the shell finds it only through npx. Repeats a home that
 * was named.
 */
export function whatToType({ system, flags }: CliContext): string {
  const croft = system.env["npm_lifecycle_event"] === "start" ? "npx croft" : "croft";
  if (flags.home === undefined) return croft;
  const home = /^[\w./-]+$/.test(flags.home) ? flags.home : toShellWord(flags.home);
  return `${croft} --home ${home}`;
}

export function toReadyText(
  urls: readonly string[],
  firstStart: ShownFirstStart | undefined,
  croft: string,
  isTokenStored = true,
): string {
  const lines = [`croft listens on ${urls.join(" and ")}`];
  if (firstStart !== undefined) {
    const { home, forge, vault, password, password_file: file } = firstStart;
    // Output that is not a terminal shows no secrets.
    const shownToken =
      password === null ? `not stored; ${croft} login forge makes one` : forge.token;
    const token = isTokenStored ? STORED : shownToken;
    lines.push(
      "",
      `First start: created ${home} with an administrator of forge and vault.`,
      `  forge user   ${forge.username}`,
      `  forge token  ${token}`,
      `  vault user   ${vault.handle} (${vault.email})`,
      `  password     ${password ?? `in ${file}`}`,
      password === null
        ? "Delete that file after you have read it."
        : "The password is not shown again.",
      "",
      "Try next, in another terminal:",
      `  ${croft} admin user list`,
      `  ${croft} git setup              # git over http uses this sign-in`,
      `  ${croft} login vault --email ${vault.email}`,
      // The vault's administrator manages accounts and has no files.
      `  ${croft} vault register --handle mira --email mira@example.org`,
      `  ${croft} --help`,
    );
  }
  return `${lines.join("\n")}\n`;
}

function stopSignal(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Maximum number of jobs that run at a time beside the daemon. */
const CAPACITY = 2;

/** How long jobs may continue when the daemon stops. */
const FINISH_WITHIN_MS = 5_000;

/**
 * Runs the runner of this home for the daemon at `urls`, until the command is stopped. The first time it is registered for
 * the repositories of the signed-in user. A failure is printed and does not end the daemon.
 */
async function runServedRunner(cli: CliContext, urls: readonly string[]): Promise<void> {
  try {
    const { readRunnerState } = await import("../runner/runner-state.ts");
    const { paths } = await cli.config();
    const state = readRunnerState(paths) ?? (await register(cli, urls));
    if (state.url !== null && !urls.includes(state.url))
      throw new CliError("conflict", `the runner of this home is registered with ${state.url}`, {
        hint: '"croft runner run" runs it',
      });
    warnOfHostJobs(cli, state);
    const { openRunner } = await import("../runner/open-runner.ts");
    await openRunner(
      cli,
      { ...state, url: urls[0] ?? null },
      {
        capacity: CAPACITY,
        finishWithinMs: FINISH_WITHIN_MS,
        signal: cli.signal,
        note: cli.io.note,
      },
    );
  } catch (error) {
    const { message, details } = toCliError(error);
    cli.io.warn(`The runner does not run: ${message}${details.hint ? `; ${details.hint}` : ""}`);
  }
}

async function register(cli: CliContext, urls: readonly string[]) {
  const { url } = await cli.client.target();
  if (!urls.includes(url))
    throw new CliError("conflict", `commands of this home go to ${url}, not to its own daemon`, {
      hint: "use a profile without an address, and no --url or CROFT_URL",
    });
  const { body } = await cli.client.call(forge.getCurrentUser);
  const { registerRunner } = await import("../runner/register-runner.ts");
  return registerRunner(cli, {
    token: undefined,
    level: { kind: "user", params: {} },
    name: undefined,
    labels: undefined,
    allow: [body.login],
    isEphemeral: false,
  });
}
