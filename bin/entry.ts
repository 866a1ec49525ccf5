import { processSystem, run } from "../cli/main.ts";

// The process: all that croft may know of it is in `processSystem()`, and `run` resolves to its exit code. Until then
// it is 1: a promise that never settles lets the process end by itself, which must not count as success. No top-level
// await here: in the bundle, chunks that are loaded later import from this one and would wait for its end.
process.exitCode = 1;
void run(process.argv.slice(2), processSystem()).then((exitCode) => {
  process.exitCode = exitCode;
});
