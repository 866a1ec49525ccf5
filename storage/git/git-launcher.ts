import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  type MessagingProcess,
  type OwnedProcess,
  ProcessStartError,
  startScript,
} from "../start-process.ts";
import {
  type GitEnd,
  GitError,
  type GitErrorCode,
  type GitLauncher,
  type GitLaunchOptions,
  type GitProcess,
} from "./git.ts";

/** Message to the process. */
export type LauncherRequest =
  | {
      readonly kind: "start";
      readonly id: number;
      readonly args: readonly string[];
      readonly options: GitLaunchOptions;
    }
  /** Input of a git whose input was not whole at its start; without bytes, its end. */
  | { readonly kind: "input"; readonly id: number; readonly bytes?: Uint8Array }
  /** This many bytes of the output were read. */
  | { readonly kind: "read"; readonly id: number; readonly bytes: number }
  /** The daemon does not read the rest of the output. */
  | { readonly kind: "discard"; readonly id: number }
  | { readonly kind: "stop"; readonly id: number };

/** Message from the process: it is ready, a git has written something or has ended, or it could not start one. */
export type LauncherAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "output"; readonly id: number; readonly bytes: Uint8Array }
  | {
      readonly kind: "ended";
      readonly id: number;
      readonly exitCode: number | undefined;
      readonly stderr: string;
    }
  | {
      readonly kind: "failed";
      readonly id: number;
      /** That of a `GitError`; undefined for any other error. */
      readonly code: GitErrorCode | undefined;
      readonly message: string;
    };

/** The process sends at most this many bytes of one git's output before the daemon has read them. */
export const UNREAD_BYTES_MAX = 1024 * 1024;

export interface GitLauncherOptions {
  /** The program that runs a script as Node would, with the arguments before the script's path. */
  readonly program: readonly [file: string, ...args: string[]];
  /** As in `PATH`. */
  readonly searchPath: string;
  /** Is told why there is no process where there should be one; git is run without it. */
  readonly onLost: (reason: unknown) => void;
  /** The process starts when this many runs have followed each other; 10 when absent. */
  readonly runsBeforeStart?: number;
}

/** The process takes 45 MiB: it starts when runs follow each other, and ends without one. */
const RUNS_BEFORE_START = 10;
const IDLE_MS = 60_000;

interface Running extends OwnedProcess<MessagingProcess> {
  readonly runs: Map<number, LaunchedGit>;
  /** Resolves when the process has ended and each of its runs has its end. */
  readonly gone: Promise<void>;
  isReady: boolean;
}

/** A git that the process has started, and what the process tells of it. */
interface LaunchedGit extends GitProcess {
  /** Whether its whole input was given at its start, so that it ends by itself. */
  readonly isFed: boolean;
  take(bytes: Uint8Array): void;
  end(end: GitEnd): void;
}

/**
 * Starts git from a small process beside the daemon. The system lets a process wait until a program that it starts has
 * begun: on a busy machine each run held the event loop for 37 ms (p99; 204 at most), here for 9, and it takes 0.4 ms of the
 * daemon's processor time instead of 1.3. The process starts when runs follow each other, and ends a minute after the last.
 */
export function createGitLauncher(
  options: GitLauncherOptions,
): GitLauncher & { close(): Promise<void> } {
  let running: Running | undefined;
  let recentRuns = 0;
  let lastId = 0;
  let isClosed = false;

  /** Ends the process after its runs. */
  const end = () => {
    const ended = running;
    running = undefined;
    recentRuns = 0;
    if (ended?.child.connected === true) ended.child.disconnect();
    return ended;
  };
  const idle = setTimeout(() => {
    if (running === undefined || running.runs.size === 0) end();
    else idle.refresh();
  }, IDLE_MS).unref();

  const start = () => {
    const [execPath, ...execArgv] = options.program;
    const script = fileURLToPath(new URL("./git-launcher.process.ts", import.meta.url));
    const owned = startScript(script, {
      execPath,
      execArgv,
      // Nothing that git does needs the daemon's environment, which may hold secrets.
      env: { PATH: options.searchPath, MALLOC_ARENA_MAX: "2" },
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const runs: Running["runs"] = new Map();
    const gone = owned.exited.then(({ exitCode, signal, error }) => {
      if (running === started) {
        end();
        options.onLost(error ?? signal ?? exitCode);
      }
      for (const run of runs.values()) run.end(toLostEnd());
    });
    const started: Running = { ...owned, runs, gone, isReady: false };
    running = started;
    // Only its runs keep the daemon's process alive.
    started.child.unref();
    started.child.channel?.unref();
    started.child.on("message", (message) => take(started, message as LauncherAnswer));
  };

  return {
    start(args, run) {
      if (isClosed) return undefined;
      recentRuns++;
      idle.refresh();
      if (running !== undefined)
        return running.isReady ? launch(running, ++lastId, { args, options: run }) : undefined;
      if (recentRuns < (options.runsBeforeStart ?? RUNS_BEFORE_START)) return undefined;
      try {
        start();
      } catch (error) {
        if (!(error instanceof ProcessStartError)) throw error;
        recentRuns = 0;
        options.onLost(error);
      }
      return undefined;
    },
    async close() {
      isClosed = true;
      clearTimeout(idle);
      const runs = [...(running?.runs.values() ?? [])].filter(({ isFed }) => isFed);
      await Promise.all(runs.map(({ ended }) => ended));
      running?.child.ref();
      await end()?.gone;
    },
  };
}

/** Has the process start a git, whose streams are made of messages. */
function launch(
  { child, runs }: Running,
  id: number,
  { args, options }: { readonly args: readonly string[]; readonly options: GitLaunchOptions },
): GitProcess {
  const ended = Promise.withResolvers<GitEnd>();
  const send = (request: LauncherRequest, sent: () => void = () => undefined) =>
    child.send(request, (error) => {
      if (error !== null) run.end(toLostEnd(error));
      sent();
    });
  const tell = (request: LauncherRequest) => {
    if (runs.has(id)) send(request);
  };
  const isFed = options.input !== undefined;
  const stdin = new Writable({
    write: (bytes: Buffer, _, written) => send({ kind: "input", id, bytes }, written),
    final: (finished) => (isFed ? finished() : send({ kind: "input", id }, finished)),
  });
  let untold = 0;
  const stdout = new Readable({
    read() {
      // Told in halves of what may be on its way, so that the output of most runs takes no message back.
      if (untold < UNREAD_BYTES_MAX / 2) return;
      tell({ kind: "read", id, bytes: untold });
      untold = 0;
    },
    destroy(error, destroyed) {
      tell({ kind: "discard", id });
      destroyed(error);
    },
  });
  // Readers get the error as well. Without a listener it would end the daemon.
  for (const stream of [stdin, stdout]) stream.on("error", () => undefined);
  const run: LaunchedGit = {
    stdin,
    stdout,
    hookSocket: undefined,
    ended: ended.promise,
    isFed,
    take(bytes) {
      untold += bytes.byteLength;
      stdout.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    },
    end(end) {
      if (!runs.delete(id)) return;
      if (runs.size === 0) child.channel?.unref();
      if (end.error === undefined) stdout.push(null);
      else stdout.destroy(end.error);
      stdin.destroy();
      ended.resolve(end);
    },
    stop: () => tell({ kind: "stop", id }),
  };
  runs.set(id, run);
  child.channel?.ref();
  if (isFed) stdin.end();
  send({ kind: "start", id, args, options });
  return run;
}

function take(running: Running, answer: LauncherAnswer): void {
  if (answer.kind === "ready") {
    running.isReady = true;
    return;
  }
  const run = running.runs.get(answer.id);
  if (answer.kind === "output") run?.take(answer.bytes);
  else if (answer.kind === "ended") run?.end({ exitCode: answer.exitCode, stderr: answer.stderr });
  else run?.end(toFailedEnd(new GitError(answer.code ?? "failed", answer.message)));
}

const toLostEnd = (cause?: unknown) =>
  toFailedEnd(new GitError("busy", "the process that runs git ended before the run did", cause));

const toFailedEnd = (error: GitError): GitEnd => ({
  exitCode: undefined,
  stderr: error.message,
  error,
});
