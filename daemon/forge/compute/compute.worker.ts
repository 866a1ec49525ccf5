import { serveThread } from "../../jobs/serve-thread.ts";
import type { ComputeRequest } from "./compute.ts";
import { type ComputeFunction, createComputeFunctions } from "./functions.ts";

const functions = createComputeFunctions();

// Entry of a worker thread that runs functions over values from users.
serveThread(async ({ name, input }: ComputeRequest): Promise<unknown> => {
  const called = functions[name] as ComputeFunction<unknown, unknown>;
  return called.run(input);
});
