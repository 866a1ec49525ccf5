// Runs the git of this machine, and names croft as its credential helper.
import { resolve } from "node:path";
import { type OwnedProcess, startProcess } from "../../storage/start-process.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { toShellWord } from "../output/shell-word.ts";
import { findLastingProgram } from "./lasting-program.ts";

/** The parts of a run that git needs. */
type GitDeps = Pick<CliContext, "system" | "signal" | "flags" | "io">;

interface GitResult {
  readonly code: number;
  /** Standard output without its last line end. */
  readonly out: string;
}

/** More than all values of a git configuration take. */
const OUTPUT_BYTES_MAX = 1024 * 1024;

/**
 * Runs git and returns its output and exit code. Its messages are not shown.
 * @throws CliError `unsupported` when git is not installed
 */
export async function readGit(cli: GitDeps, words: readonly string[]): Promise<GitResult> {
  await using git = startProcess("git", words, {
    cwd: cli.system.workingDirectory,
    env: cli.system.env,
    stdio: ["ignore", "pipe", "ignore"],
    signal: cli.signal,
  });
  const { child } = git;
  const chunks: Buffer[] = [];
  let length = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    length += chunk.byteLength;
    if (length > OUTPUT_BYTES_MAX) child.kill();
    else chunks.push(chunk);
  });
  const code = await toExitCode(git, cli.signal);
  return {
    code,
    out: Buffer.concat(chunks)
      .toString("utf8")
      .replace(/\r?\n$/, ""),
  };
}

/** * Runs git and shows its messages and progress on standard error. @throws CliError `git_failed` when it fails */
export async function runGit(cli: GitDeps, words: readonly string[]): Promise<void> {
  await using git = startProcess("git", words, {
    cwd: cli.system.workingDirectory,
    env: cli.system.env,
    // Standard output is the result of the command.
    stdio: ["inherit", 2, "inherit"],
    signal: cli.signal,
  });
  const code = await toExitCode(git, cli.signal);
  if (code === 0) return;
  const verb = words.find((word) => /^[a-z]+$/.test(word)) ?? "";
  throw new CliError("git_failed", `"git ${verb}" failed with exit code ${code}`);
}

async function toExitCode({ ended }: OwnedProcess, signal: AbortSignal): Promise<number> {
  const { exitCode = 1, error } = await ended;
  signal.throwIfAborted();
  if (error?.code === "ENOENT")
    throw new CliError("unsupported", "git was not found", {
      hint: "install git, and run croft in a folder that exists",
      cause: error,
    });
  if (error !== undefined) throw error;
  return exitCode;
}

/**
 * Returns the value of `credential.helper` that names this croft. git runs it in a shell and appends `get`, `store` or
 * `erase`. The home, the profile and an address that this run was given are part of it.
 */
export async function toCredentialHelper(cli: HelperDeps): Promise<string> {
  const { system, flags } = cli;
  const { url, urlSource, profile } = await cli.config();
  const isUrlExplicit = urlSource === "flag" || urlSource === "environment";
  const toPath = (path: string | undefined) =>
    path === undefined || path === "" ? undefined : resolve(system.workingDirectory, path);
  const chosen = [
    ["--home", toPath(flags.home ?? system.env["CROFT_HOME"])],
    ["--config", toPath(flags.config ?? system.env["CROFT_CONFIG"])],
    ["--url", isUrlExplicit ? (url ?? undefined) : undefined],
    ["--profile", profile],
    ["--credential-store", flags.credentialStore ?? system.env["CROFT_CREDENTIAL_STORE"]],
  ].flatMap(([name = "", value]) => (value === undefined || value === "" ? [] : [name, value]));
  const { program } = findLastingProgram(system);
  return `!${[...program, ...chosen].map(toShellWord).join(" ")} ${HELPER_END}`;
}

type HelperDeps = Pick<CliContext, "system" | "flags" | "config">;

const HELPER_END = "git credential";

/** Whether a value of `credential.helper` names a croft, of any home or profile. */
export function isCredentialHelper(value: string): boolean {
  return value.startsWith("!") && value.endsWith(` ${HELPER_END}`);
}

/** Returns arguments before git's subcommand that make this run use croft as its only credential helper. */
export async function toHelperWords(cli: HelperDeps, url: string): Promise<readonly string[]> {
  const key = `credential.${url}.helper`;
  return ["-c", `${key}=`, "-c", `${key}=${await toCredentialHelper(cli)}`];
}
