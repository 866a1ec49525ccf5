import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The result of a run of git. It never throws: tests check failures too. */
export interface GitRun {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
}

/** Git as a user has it, in a folder of its own, with no configuration of this machine. */
export interface GitClient extends AsyncDisposable {
  readonly folder: string;
  run(...args: readonly string[]): Promise<GitRun>;
  /** The same, from a folder below. */
  in(folder: string, ...args: readonly string[]): Promise<GitRun>;
}

/** Makes one; `await using` removes its folder. */
export async function createGitClient(
  env: Readonly<Record<string, string>> = {},
): Promise<GitClient> {
  const folder = await mkdtemp(join(tmpdir(), "croft-git-client-"));
  const run = (cwd: string, args: readonly string[]) =>
    new Promise<GitRun>((resolve) => {
      const options = { cwd, env: { ...clientEnvironment(folder), ...env }, maxBuffer: 1 << 26 };
      execFile("git", args, options, (error, output, errors) =>
        resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), output, errors }),
      );
    });
  return {
    folder,
    run: (...args) => run(folder, args),
    in: (below, ...args) => run(join(folder, below), args),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The environment of a git that never prompts and reads no settings. */
export function clientEnvironment(home: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_AUTHOR_NAME: "Mira",
    GIT_AUTHOR_EMAIL: "mira@example.org",
    GIT_COMMITTER_NAME: "Mira",
    GIT_COMMITTER_EMAIL: "mira@example.org",
  };
}
