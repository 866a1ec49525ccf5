import { spawn } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toShellWord } from "../../output/shell-word.ts";
import { findLastingProgram, warnUnlessLasting } from "../../support/lasting-program.ts";
import { type ServiceFile, toServiceFile } from "../../support/service-files.ts";
import type { CommandModule } from "../../tree/entry.ts";

export interface InstallServiceOptions {
  /** Write the definition only. */
  readonly start: boolean;
}

const serviceOutput = { file: "string", started: "boolean", key: "string?" } as const;

export const installService = {
  operations: [],
  output: shape({ installed: "boolean", ...serviceOutput }),
  writes: true,
  destructive: true,
  define(command, cli, run = runInstallService): void {
    command
      .option("--no-start", "write the service file only")
      .action(({ start }: { readonly start: boolean }) => run(cli, { start }));
  },
} satisfies CommandModule;

/**
 * Installs the daemon as a service of this user: a systemd user unit, a launchd agent or a Windows task. Shows the file
 * before it is written. @throws CliError `unsupported` on other systems, `unexpected` when the service manager refuses
 */
async function runInstallService(cli: CliContext, { start }: InstallServiceOptions): Promise<void> {
  const { service, keys, unseen } = await readService(cli);
  if (cli.flags.dryRun)
    throw new DryRun({ write: { file: service.path, text: service.text }, run: service.start });
  if (await cli.prompts.canAsk()) cli.io.note(`${service.path}:\n\n${service.text}`);
  warnUnlessLasting(cli);
  await cli.prompts.confirm(`Write ${service.path}?`);
  if (unseen.length > 0)
    cli.io.warn(
      `the service does not see the environment of this shell, which sets ${unseen.join(", ")}: ` +
        '"croft config set" keeps a setting in the configuration file',
    );
  await mkdir(dirname(service.path), { recursive: true });
  await writeFile(service.path, service.text, { mode: 0o600 });
  if (start) for (const words of service.start) await runProgram(cli, words);
  const key = await describeKey(keys);
  const advice = start
    ? "Started it."
    : `To start it: ${service.start.map((words) => words.map(toShellWord).join(" ")).join(" && ")}`;
  await cli.output.done(
    { installed: true, file: service.path, started: start, key },
    [`Installed ${service.path}.`, advice, key].filter((text) => text !== null).join(" "),
  );
}

export const uninstallService = {
  operations: [],
  output: shape({ uninstalled: "boolean", file: "string" }),
  writes: true,
  destructive: true,
  define(command, cli, run = runUninstallService): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Stops the service of this user and removes its file; the home stays. */
async function runUninstallService(cli: CliContext): Promise<void> {
  const { service } = await readService(cli);
  const { path, stop, forget } = service;
  const exists = await readFile(path).then(
    () => true,
    () => false,
  );
  if (!exists)
    throw new CliError("not_found", `there is no service file ${path}`, {
      hint: '"croft daemon install" writes it',
    });
  if (cli.flags.dryRun) throw new DryRun({ remove: path, run: [...stop, ...forget] });
  await cli.prompts.confirm(`Stop the service and remove ${path}?`);
  for (const words of stop)
    await runProgram(cli, words).catch((error: Error) => cli.io.warn(error.message));
  await rm(path);
  for (const words of forget)
    await runProgram(cli, words).catch((error: Error) => cli.io.warn(error.message));
  await cli.output.done({ uninstalled: true, file: path }, `Removed ${path}. The home stays.`);
}

/** The service file for this home: settings come from the configuration file, not from the environment of this shell. */
async function readService(cli: CliContext): Promise<{
  readonly service: ServiceFile;
  readonly keys: string;
  /** Settings that exist only in the environment of this shell. */
  readonly unseen: readonly string[];
}> {
  const { system, flags } = cli;
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { paths, values } = readAllSettings(system, flags, {});
  const home = flags.home ?? system.env["CROFT_HOME"];
  const config = flags.config ?? system.env["CROFT_CONFIG"];
  const path = system.env["PATH"];
  const service = toServiceFile(system, {
    words: [
      ...findLastingProgram(system).program,
      "serve",
      "--background",
      ...(home === undefined ? [] : [`--home=${home}`]),
      ...(config === undefined ? [] : [`--config=${config}`]),
    ],
    // The daemon finds git on the PATH.
    env: path === undefined ? {} : { PATH: path },
    errorLog: join(paths.stateDirectory, "daemon.err"),
  });
  if (service === undefined)
    throw new CliError(
      "unsupported",
      `croft does not support the service manager of ${system.platform}`,
      {
        hint: '"croft daemon start" runs it in the background',
      },
    );
  const unseen = values
    .filter(({ key, source }) => source === "environment" && key !== "home" && key !== "config")
    .map(({ key }) => key);
  return { service, keys: join(paths.dataDirectory, "keys"), unseen };
}

/** Settings of a service for a master key that is not in a file; null when the daemon finds the key by itself. */
async function describeKey(keys: string): Promise<string | null> {
  const note = await readFile(join(keys, "master.json"), "utf8").catch(() => "");
  if (!/"keyring"/.test(note)) return null;
  return (
    "The master key is in the system's keyring. While that is locked, before you sign in, the daemon cannot start; " +
    "the service tries again every few seconds until it is unlocked. To start without it, move the key into a file: " +
    '"croft daemon backup FILE --with-keys", then "croft daemon restore FILE --with-keys".'
  );
}

/** @throws CliError `unexpected` when the program is missing or fails */
async function runProgram(cli: CliContext, words: readonly string[]): Promise<void> {
  const [program = "", ...args] = words;
  const line = words.map(toShellWord).join(" ");
  const child = spawn(program, args, {
    env: cli.system.env,
    stdio: ["ignore", "ignore", "pipe"],
    signal: cli.signal,
  });
  let reason = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (reason.length < REASON_LENGTH_MAX) reason += text;
  });
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code) =>
      resolve(code === 0 ? undefined : reason.trim() || `exit code ${code}`),
    );
  });
  if (failure !== undefined)
    throw new CliError("unexpected", `${line}: ${failure}`, {
      hint: "--no-start writes the service file only",
    });
}

const REASON_LENGTH_MAX = 4_096;
