import { processSystem, run } from "../cli/main.ts";

/** The process: everything that croft may know of it is in `processSystem()`, and its exit code is what `run` resolves to. */
process.exitCode = await run(process.argv.slice(2), processSystem());
