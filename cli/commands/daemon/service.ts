import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, toCliError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toShellWord } from "../../output/shell-word.ts";
import { findLastingProgram, warnUnlessLasting } from "../../support/lasting-program.ts";
import {
  readService,
  runServiceManager,
  type ServiceScope,
} from "../../support/service-control.ts";
import { type ServiceFile, toFileBytes } from "../../support/service-files.ts";
import { commandDetails } from "../../tree/command.ts";

const systemFlag = {
  "--system": "the service of the whole machine, with an account of its own (systemd, as root)",
} as const;

export const installService = commandDetails({
  flags: { "--no-start": "write the service file only", ...systemFlag },
  output: shape({
    installed: "boolean",
    file: "string",
    started: "boolean",
    starts_at_boot: { type: ["boolean", "null"] },
    key: "string?",
  }),
  writes: true,
  destructive: true,
  examples: [
    ["Show the service file without writing it", "croft daemon install --dry-run"],
    [
      "Write the service file, and start the daemon yourself",
      "croft daemon install --no-start --yes",
    ],
    ["Show the unit for the whole machine", "croft daemon install --system --dry-run"],
  ],
  /**
   * Installs the daemon as a service of this user: a systemd user unit, a launchd agent or a Windows task; with `system` as
   * a unit of the whole machine. Shows the file before it is written. @throws CliError `unsupported` on other systems and
   * where the service manager cannot be reached, `unexpected` when it refuses
   */
  async run(cli, { start, system = false }) {
    const { service, installed, keys, state, unseen } = await readService(cli, scopeOf(system));
    if (cli.flags.dryRun)
      throw new DryRun({ write: { file: service.path, text: service.text }, run: service.start });
    if (system) assertForMachine(cli);
    if (start) await assertReachable(cli, service);
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
    if (start) await startOrUndo(cli, service, installed);
    const added = (await readFolder(state)).filter((name) => !before.includes(name));
    const passwordFile = added.find((name) => name.startsWith("first-password"));
    const key = await describeKey(keys);
    const startsAtBoot = start ? await startAtBoot(cli, service, system) : null;
    const advice = start
      ? "Started it."
      : `To start it: ${service.start.map((words) => words.map(toShellWord).join(" ")).join(" && ")}`;
    await cli.output.done(
      { installed: true, file: service.path, started: start, starts_at_boot: startsAtBoot, key },
      [`Installed ${service.path}.`, advice, key].filter((text) => text !== null).join(" "),
    );
    if (passwordFile !== undefined)
      cli.io.note(`The password of both administrators is in ${join(state, passwordFile)}.`);
  },
});

function scopeOf(system: boolean): ServiceScope {
  return system ? "system" : "user";
}

/** @throws CliError when this user may not install it, or its account could not run this croft */
function assertForMachine(cli: CliContext): void {
  if (cli.system.userId !== 0)
    throw new CliError("usage", "only root installs a service of the whole machine", {
      hint: "run it with sudo; without --system it is a service of your user",
    });
  const hidden = findLastingProgram(cli.system).program.find((word) =>
    /^\/(?:home|root|run\/user)\//.test(word),
  );
  if (hidden !== undefined)
    throw new CliError(
      "usage",
      `${hidden} is in the home of a user, which the service cannot read`,
      {
        hint: "copy the executable dist/croft to /usr/local/bin, and run this with that one",
      },
    );
}

/** Asks before anything is written. @throws CliError `unsupported` with the reason */
async function assertReachable(cli: CliContext, { probe }: ServiceFile): Promise<void> {
  if (probe === undefined) return;
  try {
    await runServiceManager(cli, probe);
  } catch (error) {
    if (cli.signal.aborted) throw error;
    const { message } = toCliError(error);
    throw new CliError("unsupported", `there is no service manager to talk to (${message})`, {
      hint:
        "sign in as this user, not by su or sudo; --system installs a service of the whole machine; " +
        '"croft daemon start" runs the daemon without a service',
    });
  }
}

/** Lets the service of a user run before that user signs in. Prints the command if that takes an administrator. */
async function startAtBoot(
  cli: CliContext,
  service: ServiceFile,
  system: boolean,
): Promise<boolean | null> {
  if (system) return true;
  if (service.startAtBoot === undefined) return null;
  try {
    await runServiceManager(cli, service.startAtBoot);
    return true;
  } catch (error) {
    if (cli.signal.aborted) throw error;
    cli.io.warn(
      `the daemon starts when you sign in, and ends with your last session (${toCliError(error).message}); ` +
        `an administrator changes that: "sudo loginctl enable-linger ${cli.system.env["USER"] ?? "YOUR-NAME"}"`,
    );
    return false;
  }
}

/** Registers and starts a service. When the service manager refuses, the file is as it was before. */
async function startOrUndo(
  cli: CliContext,
  service: ServiceFile,
  before: string | undefined,
): Promise<void> {
  try {
    for (const words of service.start) await runServiceManager(cli, words);
  } catch (error) {
    // What refused to start it may refuse this as well, and the first failure is the one to report.
    const undo = async (lines: ServiceFile["stop"]) => {
      for (const words of lines) await runServiceManager(cli, words).catch(() => undefined);
    };
    if (before === undefined) await undo(service.stop);
    if (before === undefined) await rm(service.path, { force: true });
    else await writeFile(service.path, toFileBytes({ ...service, text: before }), { mode: 0o600 });
    await undo(service.forget);
    const { code, message, details } = toCliError(error);
    throw new CliError(
      code,
      `${message}; ${service.path} was ${before === undefined ? "removed" : "put back"}`,
      {
        ...details,
        hint: '"croft daemon start" runs the daemon without a service; --no-start writes the file only',
      },
    );
  }
}

async function readFolder(path: string): Promise<string[]> {
  return readdir(path).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}

export const uninstallService = commandDetails({
  flags: systemFlag,
  output: shape({ uninstalled: "boolean", file: "string" }),
  writes: true,
  destructive: true,
  examples: [
    ["Show what would be removed", "croft daemon uninstall --dry-run"],
    ["Remove the service", "croft daemon uninstall --yes"],
  ],
  /** Stops the service of this user, or of the machine, and removes its file; the home and its account stay. */
  async run(cli, { system = false }) {
    const { service, installed } = await readService(cli, scopeOf(system));
    const { path, stop, forget } = service;
    if (installed === undefined)
      throw new CliError("not_found", `this home has no service: there is no ${path}`, {
        hint: '"croft daemon install" writes it; --home names another home',
      });
    if (cli.flags.dryRun) throw new DryRun({ remove: path, run: [...stop, ...forget] });
    await cli.prompts.confirm(`Stop the service and remove ${path}?`);
    for (const words of stop)
      await runServiceManager(cli, words).catch((error: Error) => cli.io.warn(error.message));
    await rm(path);
    for (const words of forget)
      await runServiceManager(cli, words).catch((error: Error) => cli.io.warn(error.message));
    await cli.output.done({ uninstalled: true, file: path }, `Removed ${path}. The home stays.`);
  },
});

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
