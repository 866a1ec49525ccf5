import { createGit, GitError, type GitProcess } from "./git.ts";
import { type LauncherAnswer, type LauncherRequest, UNREAD_BYTES_MAX } from "./git-launcher.ts";

// Entry of the process that starts git for the daemon. When the daemon ends, it ends after its last run, which gets a moment.

interface Run extends GitProcess {
  /** Bytes of the output that the daemon has not read. */
  unread: number;
  /** The rest of its output is dropped, so that it can end. */
  isStopped: boolean;
}

/** Time for the runs of a daemon that has ended: a change of refs is made or not, and not left with its lock. */
const LAST_RUNS_MS = 10_000;

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const runs = new Map<number, Run>();

process.on("message", (message) => {
  const request = message as LauncherRequest;
  if (request.kind === "start") {
    start(request);
    return;
  }
  const run = runs.get(request.id);
  if (run === undefined) return;
  if (request.kind === "input") {
    if (request.bytes === undefined) run.stdin.end();
    else run.stdin.write(request.bytes);
  } else if (request.kind === "read") {
    run.unread -= request.bytes;
    run.stdout.resume();
  } else if (request.kind === "stop") {
    run.stop();
    run.isStopped = true;
    run.stdout.resume();
  } else {
    // As when the daemon closes a pipe of its own, git and its children hear of it.
    run.stdout.destroy();
  }
});
process.on("disconnect", () => {
  for (const run of runs.values()) {
    run.stdin.end();
    run.isStopped = true;
    run.stdout.resume();
  }
  const stopAll = () => {
    for (const run of runs.values()) {
      run.stop();
      run.stdout.destroy();
    }
  };
  // The time limits of runs are kept by the daemon, which is gone.
  setTimeout(stopAll, LAST_RUNS_MS).unref();
});
// Signals to the group, such as Ctrl-C, must not end runs that the daemon still waits for. Without a listener, SIGUSR1
// would open Node's debugger to every account of this machine.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"] as const)
  process.on(signal, () => undefined);
answer({ kind: "ready" });

function start({ id, args, options }: LauncherRequest & { readonly kind: "start" }): void {
  let run: Run;
  try {
    run = { ...git.launch(args, options), unread: 0, isStopped: false };
  } catch (error) {
    const code = error instanceof GitError ? error.code : undefined;
    answer({ kind: "failed", id, code, message: (error as Error).message });
    return;
  }
  runs.set(id, run);
  run.stdout.on("data", (bytes: Buffer) => {
    if (run.isStopped) return;
    answer({ kind: "output", id, bytes });
    run.unread += bytes.byteLength;
    if (run.unread >= UNREAD_BYTES_MAX) run.stdout.pause();
  });
  run.ended
    .then(({ exitCode, stderr }) => {
      runs.delete(id);
      answer({ kind: "ended", id, exitCode, stderr });
    })
    // The daemon hears that the process has ended.
    .catch(() => process.exit(1));
}

/** A daemon that has ended needs no answer. */
function answer(message: LauncherAnswer): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
