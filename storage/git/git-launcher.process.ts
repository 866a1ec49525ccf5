import { createGit, GitError } from "./git.ts";
import type { LauncherAnswer, LauncherRequest } from "./git-launcher.ts";

// Entry of the process that runs git for the daemon. When the daemon ends, it ends after its last run.

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const running = new Map<number, AbortController>();

process.on("message", async (message) => {
  const request = message as LauncherRequest;
  const { id } = request;
  if (request.kind === "stop") {
    running.get(id)?.abort();
    return;
  }
  const stop = new AbortController();
  running.set(id, stop);
  try {
    const output = await git.run(request.args, { ...request.options, signal: stop.signal });
    answer({ kind: "output", id, output });
  } catch (error) {
    const code = error instanceof GitError ? error.code : undefined;
    answer({ kind: "failed", id, code, message: (error as Error).message });
  } finally {
    running.delete(id);
  }
});
// Signals to the group, such as Ctrl-C, must not end runs that the daemon still waits for. Without a listener, SIGUSR1
// would open Node's debugger to every account of this machine.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"] as const)
  process.on(signal, () => undefined);
answer({ kind: "ready" });

/** A daemon that has ended needs no answer. */
function answer(message: LauncherAnswer): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
