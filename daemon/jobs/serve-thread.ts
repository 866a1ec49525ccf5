import { parentPort } from "node:worker_threads";
import type { ThreadMessage } from "./thread-pool.ts";

/** The other end of a thread pool: to be called once by a `*.worker.ts` file with what it does with each input. */
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
