// Bare repositories, read and written by the git of the system. Start here (running git), then repository-files.ts
// (folders of repositories) and refs.ts.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { devNull } from "node:os";
import type { Readable, Writable } from "node:stream";

/**
 * Why git could not do what it was asked to. `missing`: there is no git; `busy`: this process has too many files open to
 * start one; `failed`: it ended with a failure; `too_long`: more output or time than allowed.
 */
export type GitErrorCode = "missing" | "busy" | "failed" | "too_long";

/** A run of git that failed. The message is for the log: it may hold paths and what git said. */
export class GitError extends Error {
  readonly code: GitErrorCode;
  constructor(code: GitErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "GitError";
    this.code = code;
  }
}

/** A running git whose standard input and output belong to the caller. */
export interface GitProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** How it ended, when it has and its output is at its end: never rejects. `stderr` is its beginning. */
  readonly ended: Promise<GitEnd>;
  /** Asks it to end, and makes it end a little later. */
  stop(): void;
}

/** How a run of git ended. */
export interface GitEnd {
  /** The exit code; undefined when a signal ended it or it never started. */
  readonly exitCode: number | undefined;
  readonly stderr: string;
}

export interface GitRunOptions {
  /** The repository; git looks nowhere else for one. */
  readonly directory: string;
  readonly input?: string | Uint8Array;
  /** Variables besides the fixed ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Configuration besides the fixed one. */
  readonly config?: Readonly<Record<string, string>>;
  /** Most bytes of output; 16 MiB. */
  readonly outputBytesMax?: number;
  /** Longest time; 60 s. */
  readonly timeoutMs?: number;
  /** Exit codes that are no failure besides 0. */
  readonly accept?: readonly number[];
}

export interface Git {
  /** Runs a command of git to its end and returns what it printed. @throws GitError */
  run(args: readonly string[], options: GitRunOptions): Promise<Buffer>;
  /** Starts a command of git for streaming. @throws GitError `busy` */
  start(
    args: readonly string[],
    options: Pick<GitRunOptions, "directory" | "env" | "config">,
  ): GitProcess;
}

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
const STDERR_BYTES_MAX = 4096;
const TERMINATE_AFTER_MS = 3_000;
const KILL_AFTER_MS = 5_000;

/**
 * What every run is configured with; it outranks the repository's own file. No hook of anybody's runs, nothing is
 * fetched from elsewhere, nothing goes on in the background, and what was acknowledged survives a power cut.
 */
const fixedConfig: Readonly<Record<string, string>> = {
  "safe.directory": "*",
  "core.hooksPath": devNull,
  "core.fsmonitor": "false",
  "core.fsync": "objects,reference",
  "core.alternateRefsCommand": "false",
  "protocol.allow": "never",
  "receive.autogc": "false",
  "receive.advertisePushOptions": "true",
  "gc.auto": "0",
  "maintenance.auto": "false",
  "uploadpack.allowFilter": "true",
  // A partial clone asks for what it left out by its id; version 2 of the protocol lets it anyway.
  "uploadpack.allowAnySHA1InWant": "true",
  // The caller's own folders stay private whatever the mask of the process is.
  "core.sharedRepository": "0600",
  // With that, `git init` writes that a branch cannot be pushed anew by force. Whoever may push may do that, too.
  "receive.denyNonFastForwards": "false",
};

/** Runs the git found on `searchPath` (as in `PATH`) with an environment of its own: none of the caller's reaches it. */
export function createGit({ searchPath }: { readonly searchPath: string }): Git {
  const start: Git["start"] = (args, { directory, env = {}, config = {} }) => {
    const child = spawn("git", [...args], {
      cwd: directory,
      env: toEnvironment(searchPath, env, config),
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    // Without descriptors for the pipes there are none, whatever the types say, and an error follows that somebody must hear.
    if ((child.stdin as Writable | undefined) === undefined) {
      child.once("error", () => undefined);
      throw new GitError("busy", `git ${args[0] ?? ""} cannot be started: too many open files`);
    }
    return toProcess(child);
  };

  return {
    start,
    async run(args, options) {
      const child = start(args, options);
      const limit = options.outputBytesMax ?? OUTPUT_BYTES_MAX;
      let excess: string | undefined;
      const timer = setTimeout(() => {
        excess = "time";
        child.stop();
      }, options.timeoutMs ?? TIMEOUT_MS);
      const chunks: Buffer[] = [];
      let size = 0;
      child.stdout.on("data", (chunk: Buffer) => {
        size += chunk.byteLength;
        if (size <= limit) chunks.push(chunk);
        else if (excess === undefined) {
          excess = "output";
          child.stop();
        }
      });
      child.stdin.end(options.input);
      const { exitCode, stderr } = await child.ended;
      clearTimeout(timer);
      const what = `git ${args[0] ?? ""}`;
      if (excess !== undefined) throw new GitError("too_long", `${what}: too much ${excess}`);
      // The system says the same of a folder that is gone.
      if (exitCode === undefined && stderr.includes("ENOENT") && existsSync(options.directory))
        throw new GitError("missing", `${what}: ${stderr}`);
      if (exitCode !== 0 && !options.accept?.includes(exitCode ?? -1))
        throw new GitError("failed", `${what} ended with ${exitCode ?? "a signal"}: ${stderr}`);
      return Buffer.concat(chunks);
    },
  };
}

function toProcess(child: ChildProcessByStdio<Writable, Readable, Readable>): GitProcess {
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (stderr.length < STDERR_BYTES_MAX)
      stderr += chunk.toString("utf8", 0, STDERR_BYTES_MAX - stderr.length);
  });
  // A git that exits early closes its input; `ended` says why. An unhandled error of a pipe would end the daemon.
  for (const pipe of [child.stdin, child.stdout, child.stderr])
    pipe.on("error", () => pipe.destroy());
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<GitEnd>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined)
        resolve({ exitCode: undefined, stderr: error.code ?? error.message });
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ exitCode: code ?? undefined, stderr: stderr.trim() });
    });
  });
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    ended,
    stop() {
      if (child.exitCode !== null || child.signalCode !== null || timer !== undefined) return;
      const kill = () => {
        child.kill("SIGTERM");
        timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
        timer.unref();
      };
      if (child.stdin.writableEnded) {
        kill();
        return;
      }
      // A git that waits for more ends by itself when no more comes, with its children, and cleans up behind all of
      // them. A signal would end it before them.
      child.stdin.destroy();
      timer = setTimeout(kill, TERMINATE_AFTER_MS);
      timer.unref();
    },
  };
}

function toEnvironment(
  searchPath: string,
  env: Readonly<Record<string, string>>,
  config: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries({ ...fixedConfig, ...config });
  return {
    PATH: searchPath,
    HOME: devNull,
    LC_ALL: "C",
    TZ: "UTC",
    GIT_DIR: ".",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_LAZY_FETCH: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
    ...env,
  };
}
