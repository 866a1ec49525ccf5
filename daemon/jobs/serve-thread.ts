import { parentPort } from "node:worker_threads";
import type { ThreadMessage } from "./thread-pool.ts";

/** Runs the jobs of a thread pool with `work`. The entry of a worker thread calls it once. */
export function serveThread<Input>(work: (input: Input) => Promise<unknown>): void {
  const answer = (message: ThreadMessage) => parentPort?.postMessage(message);
  parentPort?.on("message", (input: Input) => {
    work(input).then(
      (value) => answer({ kind: "done", value }),
      (error: unknown) =>
        answer({
          kind: "failed",
          error: error instanceof Error ? error : new Error(String(error)),
        }),
    );
  });
  answer({ kind: "ready" });
}
