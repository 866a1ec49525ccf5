import { setPriority } from "node:os";
import type { ProcessJob, ProcessMessage } from "./process-pool.ts";
import { createThreadPool, type ThreadPoolOptions } from "./thread-pool.ts";

/** A lower priority than the daemon's, so that requests come first. */
const NICENESS = 2;

/**
 * Runs the jobs of a process pool in threads of this process, each under its budget. The entry of a process calls it once.
 */
export function serveProcess<Input, Output>(options: ThreadPoolOptions): void {
  try {
    setPriority(NICENESS);
  } catch {
    // Some systems do not let a process lower its own priority; it is optional.
  }
  const pool = createThreadPool<Input, Output>(options);
  process.on("message", (message) => {
    const { input, options: jobOptions } = message as ProcessJob<Input>;
    pool.run(input, jobOptions).then(
      (outcome) => {
        const answer: ProcessMessage<Output> = {
          outcome,
          residentBytes: process.memoryUsage.rss(),
        };
        process.send?.(answer);
        // An outcome that cannot be sent: the parent settles the job as failed when this process ends.
      },
      () => process.exit(1),
    );
  });
  // The parent ends this process: a stop signal to both must not abort a job that the parent still waits for.
  process.on("disconnect", () => process.exit());
  // Without a listener, SIGUSR1 would open Node's debugger to every account of this machine.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"] as const)
    process.on(signal, () => undefined);
}
