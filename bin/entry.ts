import { processSystem, run } from "../cli/main.ts";

// The entry of the process. `processSystem()` is croft's only access to the process, and `run` resolves to its exit code.
// Until then the exit code is 1, because a promise that never settles lets the process end, which is no success. No top-level
// await here: in the bundle, chunks that are loaded later import from this one and would wait for its end.
process.exitCode = 1;
run(process.argv.slice(2), processSystem()).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.stderr.write(`croft: ${String(error)}\n`);
  },
);
