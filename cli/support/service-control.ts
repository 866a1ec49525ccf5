import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startProcess } from "../../storage/start-process.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { toShellWord } from "../output/shell-word.ts";
import { findLastingProgram } from "./lasting-program.ts";
import {
  fromFileBytes,
  type ServiceFile,
  SYSTEM_HOME,
  toServiceFile,
  toSystemService,
} from "./service-files.ts";

/** The service of this home: its settings come from the configuration file, not from the environment of this shell. */
export interface HomeService {
  readonly service: ServiceFile;
  /** The text of the file at its path; undefined when the service is not installed. */
  readonly installed: string | undefined;
  readonly keys: string;
  /** The folder of the log and of the password of a first start. */
  readonly state: string;
  /** Settings that exist only in the environment of this shell. */
  readonly unseen: readonly string[];
}

/** Whose service: that of this user, or one of the whole machine. */
export type ServiceScope = "user" | "system";

/**
 * Returns the service of this home. The first home of a user that is installed has the plain name; others have names with
 * the hash of their home. A service of the whole machine
 * serves the home that `--home` names, else `/var/lib/croft`. @throws CliError `unsupported` on a system without a known
 * service manager
 */
export async function readService(
  cli: CliContext,
  scope: ServiceScope = "user",
): Promise<HomeService> {
  const { system } = cli;
  const flags =
    scope === "system" && cli.flags.home === undefined
      ? { ...cli.flags, home: SYSTEM_HOME }
      : cli.flags;
  const { readAllSettings } = await import("../profile/settings.ts");
  const { paths, values } = readAllSettings(system, flags, {});
  const hasConfig = (flags.config ?? system.env["CROFT_CONFIG"] ?? "") !== "";
  // Absolute: the service manager runs the program in another folder.
  const homeWords = [
    ...(paths.home === undefined ? [] : [`--home=${paths.home}`]),
    ...(hasConfig ? [`--config=${paths.configFile}`] : []),
  ];
  const path = system.env["PATH"];
  const program = {
    words: [...findLastingProgram(system).program, "serve", "--background", ...homeWords],
    // The daemon finds git on the PATH.
    env: path === undefined ? {} : { PATH: path },
    errorLog: join(paths.stateDirectory, "daemon.err"),
  };
  const toFile = (suffix?: string): ServiceFile | undefined => {
    if (scope === "user") return toServiceFile(system, { ...program, suffix });
    const home = paths.home ?? SYSTEM_HOME;
    return system.platform === "linux" ? toSystemService(home, { ...program, suffix }) : undefined;
  };
  const first = toFile();
  const hash = createHash("sha256").update(homeWords.join("\0")).digest("hex");
  const other = toFile(hash.slice(0, 8));
  if (first === undefined || other === undefined)
    throw new CliError(
      "unsupported",
      scope === "user"
        ? `croft does not support the service manager of ${system.platform}`
        : "a service of the whole machine needs systemd on Linux",
      { hint: '"croft daemon start" runs it in the background' },
    );
  const unseen = values
    .filter(({ key, source }) => source === "environment" && key !== "home" && key !== "config")
    .map(({ key }) => key);
  const rest = { keys: join(paths.dataDirectory, "keys"), state: paths.stateDirectory, unseen };
  const firstText = await readText(first);
  const otherText = await readText(other);
  if (otherText !== undefined) return { service: other, installed: otherText, ...rest };
  if (firstText === undefined || isOfHome(first, firstText, homeWords))
    return { service: first, installed: firstText, ...rest };
  return { service: other, installed: undefined, ...rest };
}

async function readText(service: ServiceFile): Promise<string | undefined> {
  const bytes = await readFile(service.path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  return bytes === undefined ? undefined : fromFileBytes(service, bytes);
}

/** Whether the text of a service has exactly these flags of a home, whichever program it starts. */
function isOfHome(
  { toArgument }: ServiceFile,
  text: string,
  homeWords: readonly string[],
): boolean {
  const count = text.match(/--(?:home|config)=/g)?.length ?? 0;
  const hasWord = (word: string) =>
    text
      .split(toArgument(word))
      .slice(1)
      .some((rest) => /^(?:[\s<]|$)/.test(rest));
  return count === homeWords.length && homeWords.every(hasWord);
}

/** Returns the service of this home; undefined when it is not installed. */
export async function findInstalledService(
  cli: CliContext,
  scope: ServiceScope = "user",
): Promise<ServiceFile | undefined> {
  const found = await readService(cli, scope).catch((error: unknown) => {
    if (error instanceof CliError && error.code === "unsupported") return undefined;
    throw error;
  });
  return found?.installed === undefined ? undefined : found.service;
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
