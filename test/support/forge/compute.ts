import { type Compute, type ComputeOptions, createCompute } from "../../../daemon/forge/compute.ts";

/** Creates the threads of the daemon for a test; their budget is large unless the test sets one. */
export function createTestCompute(options: Omit<ComputeOptions, "workerUrl"> = {}): Compute {
  return createCompute({
    workerUrl: new URL("../../../daemon/composition/compute.worker.ts", import.meta.url),
    budgetMs: 60_000,
    ...options,
  });
}
