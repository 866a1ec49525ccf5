// Bare repositories, read and written by the system's git. Start here (running git), then repository-files.ts
// (folders of repositories) and refs.ts.
import type { ChildProcessByStdio } from "node:child_process";
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { devNull } from "node:os";
import type { Duplex, Readable, Writable } from "node:stream";
import { type OwnedProcess, ProcessStartError, startProcess } from "../start-process.ts";

/**
 * Why git failed. `missing`: git is not installed; `moved`: the folder is missing, or not there any more; `busy`: the
 * system has too few file descriptors, processes or memory to start git now; `full`: the disk is; `failed`: git exited with
 * another failure, or its arguments are too long; `too_long`: it exceeded the limit on output or time.
 */
export type GitErrorCode = "missing" | "moved" | "busy" | "full" | "failed" | "too_long";

/** A failed run of git. The message is for the log: it may contain paths and git's own output. */
export class GitError extends Error {
  readonly code: GitErrorCode;
  constructor(code: GitErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "GitError";
    this.code = code;
  }
}

/** Git reports a full disk only in its messages. */
const FULL = /No space left on device|Disk quota exceeded|Out of diskspace/;
/** Some of its messages do not say why it could not write. */
const UNWRITTEN = /(?:unable|failed) to write|could not (?:write|set)|write (?:error|failure)/i;
/** A disk with less room is full: a write that failed gives back what it had taken. */
const ROOM_BYTES_MIN = 1024 * 1024;

/** Returns the error of a git that ended with a failure, `full` or `failed`. */
export function toGitFailure(
  command: string,
  { exitCode, stderr }: { readonly exitCode: number | undefined; readonly stderr: string },
): GitError {
  const code = FULL.test(stderr) ? "full" : "failed";
  return new GitError(code, `${command} ended with ${exitCode ?? "a signal"}: ${stderr}`);
}

/** A running git whose standard input and output belong to the caller. */
export interface GitProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** The other end of descriptor 3 of git and its hooks; undefined unless `hasHookSocket`. Destroyed when git has ended. */
  readonly hookSocket: Duplex | undefined;
  /** Resolves when git has exited and its output has ended; never rejects. `stderr` is truncated. */
  readonly ended: Promise<GitEnd>;
  /** Ends git gracefully, and kills it a little later. */
  stop(): void;
}

/** The end of a run of git. */
export interface GitEnd {
  /** The exit code; undefined when a signal ended git, it never started, or its end is not known. */
  readonly exitCode: number | undefined;
  readonly stderr: string;
  /** Why the launcher could not start git or lost it. Its output fails with the same error. */
  readonly error?: GitError;
}

export interface GitRunOptions {
  /** The repository; git searches no other place for one. */
  readonly directory: string;
  readonly input?: string | Uint8Array;
  /** Environment variables besides the fixed ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Configuration besides the fixed entries. */
  readonly config?: Readonly<Record<string, string>>;
  /** Maximum bytes of output; default 16 MiB. */
  readonly outputBytesMax?: number;
  /** Milliseconds before a timeout; default 60 s. */
  readonly timeoutMs?: number;
  /** Exit codes besides 0 that count as success. */
  readonly accept?: readonly number[];
  /** Stops git when it is aborted; the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export type GitLaunchOptions = Pick<GitRunOptions, "directory" | "env" | "config"> & {
  /** The whole input. Without it the caller writes the input, and ends it. */
  readonly input?: string | Uint8Array;
};

/** Starts git from another process. */
export interface GitLauncher {
  /** Undefined when the caller must start git itself, because there is no such process. */
  start(args: readonly string[], options: GitLaunchOptions): GitProcess | undefined;
}

export type Git = ReturnType<typeof createGit>;

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
/** Where more may be read or written, the launcher would copy it twice for no gain. */
const LAUNCHED_BYTES_MAX = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
const STDERR_BYTES_MAX = 4096;
const TERMINATE_AFTER_MS = 3_000;
const KILL_AFTER_MS = 5_000;

/** Faults that old programs left in many histories. They do no harm, and a push cannot repair them. */
const harmlessFaults = [
  "badDate",
  "badDateOverflow",
  "badEmail",
  "badName",
  "badTagName",
  "badTimezone",
  "missingEmail",
  "missingNameBeforeEmail",
  "missingSpaceBeforeDate",
  "missingSpaceBeforeEmail",
  "missingTaggerEntry",
  "multipleAuthors",
  "nulInCommit",
  "zeroPaddedDate",
  "zeroPaddedFilemode",
];

/** The configuration that has `git fsck` find the faults for which a push is refused. */
export const fsckConfig = ignoring("fsck");
/** The configuration that has `git fetch` refuse what a push may not have. */
export const checkedFetchConfig: Readonly<Record<string, string>> = {
  "fetch.fsckObjects": "true",
  ...ignoring("fetch.fsck"),
};

function ignoring(section: string): Readonly<Record<string, string>> {
  return Object.fromEntries(harmlessFaults.map((fault) => [`${section}.${fault}`, "ignore"]));
}

/**
 * The configuration of every run; it overrides the repository's own file. No hook runs, nothing is fetched from elsewhere,
 * no background maintenance starts, and acknowledged writes survive a power cut.
 */
const fixedConfig: Readonly<Record<string, string>> = {
  "safe.directory": "*",
  "core.hooksPath": devNull,
  "core.fsmonitor": "false",
  "core.fsync": "objects,reference",
  "core.alternateRefsCommand": "false",
  "protocol.allow": "never",
  "receive.autogc": "false",
  // Only the forge writes the heads of pull requests.
  "receive.hideRefs": "refs/pull",
  "receive.advertisePushOptions": "true",
  "gc.auto": "0",
  "maintenance.auto": "false",
  "uploadpack.allowFilter": "true",
  // A partial clone requests its missing objects by id; protocol version 2 allows that anyway.
  "uploadpack.allowAnySHA1InWant": "true",
  // Repositories stay private regardless of the umask of the process.
  "core.sharedRepository": "0600",
  // A push with names that lead out of a clone, such as `..` and `.git`, or with a dangerous `.gitmodules` is refused.
  "receive.fsckObjects": "true",
  ...ignoring("receive.fsck"),
  // Keeps `git init` from forbidding forced pushes: every user who may push may also force.
  "receive.denyNonFastForwards": "false",
};

/** Runs the git found on `searchPath` (as in `PATH`) with an environment of its own; it inherits no variable of the daemon. */
export function createGit({
  searchPath,
  launcher,
}: {
  readonly searchPath: string;
  readonly launcher?: GitLauncher;
}) {
  const start = (
    args: readonly string[],
    {
      directory,
      env = {},
      config = {},
      hasHookSocket = false,
    }: Pick<GitRunOptions, "directory" | "env" | "config"> & {
      /** Opens a socket to git's hooks, which inherit it as descriptor 3. */
      readonly hasHookSocket?: boolean;
    },
  ): GitProcess => {
    const command = `git ${args[0] ?? ""}`;
    const options = { cwd: directory, env: toEnvironment(searchPath, env, config) };
    const child = startGit(command, args, { ...options, hasHookSocket });
    // The system reports a missing folder in the same way as a missing program, and at once: no process exists.
    if (child.child.pid === undefined && !existsSync(directory))
      throw new GitError("moved", `${command} failed to start: its folder is missing`);
    return toProcess(child);
  };

  const startHere = (args: readonly string[], options: GitLaunchOptions): GitProcess => {
    const child = start(args, options);
    if (options.input !== undefined) child.stdin.end(options.input);
    return child;
  };
  const launch = (args: readonly string[], options: GitLaunchOptions): GitProcess =>
    launcher?.start(args, options) ?? startHere(args, options);

  return {
    /** Starts a git command that may read and write much. @throws GitError `busy`, `moved`, `failed` */
    start,
    /**
     * Starts a git command that reads and writes little, by the launcher where there is one: then a failure to start is one of
     * the output. @throws GitError `busy`, `moved`, `failed`
     */
    launch,
    /** Runs a git command to its end and returns its output. @throws GitError */
    async run(args: readonly string[], options: GitRunOptions): Promise<Buffer> {
      options.signal?.throwIfAborted();
      const { directory, env = {}, config = {}, input = "" } = options;
      const bytes = Math.max(input.length, options.outputBytesMax ?? 0);
      const begin = bytes <= LAUNCHED_BYTES_MAX ? launch : startHere;
      const child = begin(args, { directory, env, config, input });
      options.signal?.addEventListener("abort", child.stop, { once: true });
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
      const { exitCode, stderr, error } = await child.ended;
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", child.stop);
      options.signal?.throwIfAborted();
      if (error !== undefined) throw error;
      const command = `git ${args[0] ?? ""}`;
      if (excess !== undefined) throw new GitError("too_long", `${command}: too much ${excess}`);
      if (exitCode === undefined && stderr.includes("ENOENT"))
        throw new GitError("missing", `${command}: ${stderr}`);
      if (exitCode === undefined && stderr === "EAGAIN")
        throw new GitError("busy", `${command} failed to start: too many processes`);
      if (exitCode !== 0 && !options.accept?.includes(exitCode ?? -1))
        throw await withReason(toGitFailure(command, { exitCode, stderr }), options.directory);
      return Buffer.concat(chunks);
    },
  };
}

async function withReason(failure: GitError, directory: string): Promise<GitError> {
  if (failure.code !== "failed" || !UNWRITTEN.test(failure.message)) return failure;
  // A folder that was moved meanwhile tells nothing.
  const room = await statfs(directory).catch(() => undefined);
  const isFull = room !== undefined && room.bavail * room.bsize < ROOM_BYTES_MIN;
  return isFull ? new GitError("full", failure.message) : failure;
}

/**
 * Waits until all runs of git have ended, then returns their results or throws the first failure. `Promise.all` would return
 * at the first failure, and the limit on git processes would count runs as ended that still go on.
 */
export async function allEnded<T extends readonly unknown[] | []>(
  runs: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(runs);
  return Promise.all(runs);
}

type GitChild = OwnedProcess<ChildProcessByStdio<Writable, Readable, Readable>>;

/** @throws GitError `busy`, `failed` */
function startGit(
  command: string,
  args: readonly string[],
  {
    hasHookSocket,
    ...options
  }: {
    readonly cwd: string;
    readonly env: Record<string, string>;
    readonly hasHookSocket: boolean;
  },
): GitChild {
  try {
    const more = hasHookSocket ? (["pipe"] as const) : [];
    return startProcess("git", args, { ...options, stdio: ["pipe", "pipe", "pipe", ...more] });
  } catch (error) {
    if (!(error instanceof ProcessStartError)) throw error;
    const code = error.code === "E2BIG" ? "failed" : "busy";
    throw new GitError(code, `${command} failed to start: ${error.code}`, error);
  }
}

function toProcess({ child, ended: closed }: GitChild): GitProcess {
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (stderr.length < STDERR_BYTES_MAX)
      stderr += chunk.toString("utf8", 0, STDERR_BYTES_MAX - stderr.length);
  });
  const hookSocket = (child.stdio[3] ?? undefined) as Duplex | undefined;
  // Its closing is part of the end of the process, and an unread socket would never close.
  child.once("exit", () => hookSocket?.destroy());
  let timer: NodeJS.Timeout | undefined;
  const ended = closed.then(({ exitCode, error }): GitEnd => {
    clearTimeout(timer);
    const reason = exitCode === undefined ? error?.code : undefined;
    return { exitCode, stderr: reason ?? stderr.trim() };
  });
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    hookSocket,
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
      // A git that waits for input exits on its own when the input ends, waits for its children and cleans up after
      // them. A signal would end git before its children.
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
    // Ignores `refs/replace/`, so that an id always names the object with this id. Beside such refs git would ignore
    // the commit-graph.
    GIT_NO_REPLACE_OBJECTS: "1",
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
