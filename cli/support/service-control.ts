import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startProcess } from "../../storage/start-process.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { toShellWord } from "../output/shell-word.ts";
import { findLastingProgram } from "./lasting-program.ts";
import { fromFileBytes, type ServiceFile, toServiceFile } from "./service-files.ts";

/** The service file for this home: settings come from the configuration file, not from the environment of this shell. */
export async function readService(cli: CliContext): Promise<{
  readonly service: ServiceFile;
  readonly keys: string;
  /** The folder of the log and of the password of a first start. */
  readonly state: string;
  /** Settings that exist only in the environment of this shell. */
  readonly unseen: readonly string[];
}> {
  const { system, flags } = cli;
  const { readAllSettings } = await import("../profile/settings.ts");
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
      { hint: '"croft daemon start" runs it in the background' },
    );
  const unseen = values
    .filter(({ key, source }) => source === "environment" && key !== "home" && key !== "config")
    .map(({ key }) => key);
  return {
    service,
    keys: join(paths.dataDirectory, "keys"),
    state: paths.stateDirectory,
    unseen,
  };
}

/** Returns the service of this home; undefined when it is not installed, or when the one that is serves another home. */
export async function findInstalledService(cli: CliContext): Promise<ServiceFile | undefined> {
  const service = await readService(cli).then(
    (found) => found.service,
    (error: unknown) => {
      if (error instanceof CliError && error.code === "unsupported") return undefined;
      throw error;
    },
  );
  if (service === undefined) return undefined;
  const bytes = await readFile(service.path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  const isOwn = bytes !== undefined && fromFileBytes(service, bytes).includes(service.command);
  return isOwn ? service : undefined;
}

/** Runs a program of the service manager. @throws CliError `unexpected` when the program is missing or fails */
export async function runServiceManager(cli: CliContext, words: readonly string[]): Promise<void> {
  const [program = "", ...args] = words;
  const line = words.map(toShellWord).join(" ");
  await using started = startProcess(program, args, {
    env: cli.system.env,
    stdio: ["ignore", "ignore", "pipe"],
    signal: cli.signal,
  });
  let reason = "";
  started.child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (reason.length < REASON_LENGTH_MAX) reason += text;
  });
  const { exitCode, signal, error } = await started.ended;
  const failure = error?.message ?? (reason.trim() || `exit code ${exitCode ?? signal}`);
  if (exitCode !== 0)
    throw new CliError("unexpected", `${line}: ${failure}`, {
      hint: '"croft daemon logs" shows why the daemon ended, if it was started',
    });
}

const REASON_LENGTH_MAX = 4_096;
