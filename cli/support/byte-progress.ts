import type { CliContext } from "../context.ts";
import type { Transfer } from "../output/progress.ts";

/** Receives the bytes that are done, and how many there are; undefined while that is unknown. */
export type OnProgress = (done: number, total: number | undefined) => void;

/**
 * Runs work that reports its bytes and shows them as one transfer of this name: a bar with the rate and the time left where a
 * person looks, events with `--progress json`, else nothing. The transfer begins with the first bytes.
 */
export async function withByteProgress<T>(
  cli: Pick<CliContext, "progress">,
  name: string,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const progress = await cli.progress();
  let transfer: Transfer | undefined;
  let isDone = false;
  try {
    const result = await work((done, total) => {
      transfer ??= progress.begin(name, total);
      transfer.update(done);
    });
    isDone = true;
    return result;
  } finally {
    transfer?.end(isDone ? "done" : "failed");
  }
}
