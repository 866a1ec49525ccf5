import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toShellWord } from "../../output/shell-word.ts";
import { warnUnlessLasting } from "../../support/lasting-program.ts";
import { readService, runServiceManager } from "../../support/service-control.ts";
import { toFileBytes } from "../../support/service-files.ts";
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
  const { service, keys, state, unseen } = await readService(cli);
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
  await writeFile(service.path, toFileBytes(service), { mode: 0o600 });
  const before = await readFolder(state);
  if (start) for (const words of service.start) await runServiceManager(cli, words);
  const added = (await readFolder(state)).filter((name) => !before.includes(name));
  const passwordFile = added.find((name) => name.startsWith("first-password"));
  const key = await describeKey(keys);
  const advice = start
    ? "Started it."
    : `To start it: ${service.start.map((words) => words.map(toShellWord).join(" ")).join(" && ")}`;
  await cli.output.done(
    { installed: true, file: service.path, started: start, key },
    [`Installed ${service.path}.`, advice, key].filter((text) => text !== null).join(" "),
  );
  if (passwordFile !== undefined)
    cli.io.note(`The password of both administrators is in ${join(state, passwordFile)}.`);
}

async function readFolder(path: string): Promise<string[]> {
  return readdir(path).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
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
    await runServiceManager(cli, words).catch((error: Error) => cli.io.warn(error.message));
  await rm(path);
  for (const words of forget)
    await runServiceManager(cli, words).catch((error: Error) => cli.io.warn(error.message));
  await cli.output.done({ uninstalled: true, file: path }, `Removed ${path}. The home stays.`);
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
