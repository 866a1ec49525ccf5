import { serveThread } from "../../jobs/serve-thread.ts";
import type { ComputeRequest } from "./compute.ts";
import { type ComputeFunction, computeFunctions } from "./functions.ts";

// Entry of a worker thread that runs functions over values from users.
serveThread(async ({ name, input }: ComputeRequest): Promise<unknown> => {
  const called = computeFunctions[name] as ComputeFunction<unknown, unknown>;
  return called.run(input);
});
