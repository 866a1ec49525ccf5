import { createProcessorShares } from "../../../daemon/jobs/processor-shares.ts";
import { type Compute, type ComputeOptions, createCompute } from "../../../daemon/forge/compute.ts";

/** Creates the threads of the daemon for a test; their budget is large unless the test sets one. */
export function createTestCompute(
  options: Partial<Omit<ComputeOptions, "workerUrl">> = {},
): Compute {
  return createCompute({
    workerUrl: new URL("../../../daemon/composition/compute.worker.ts", import.meta.url),
    budgetMs: 60_000,
    shares: createProcessorShares({ clock: Date.now, shareMs: 3_600_000 }),
    ...options,
  });
}
