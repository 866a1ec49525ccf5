// Run with few file descriptors: starts a program, a script and git when none are left. Prints their results, those of a
// program that does not exist, and those of the next starts.
import { closeSync, openSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { createProcessPool } from "../../../daemon/jobs/process-pool.ts";
import { createGit, GitError } from "../../../storage/git/git.ts";
import { ProcessStartError, startProcess, startScript } from "../../../storage/start-process.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const runGit = () => git.run(["version"], { directory: tmpdir() }).then(() => "done");

const runProgram = async (program = "git") => {
  await using started = startProcess(program, ["version"], { stdio: ["pipe", "pipe", "pipe"] });
  started.child.stdout.resume();
  started.child.stderr.resume();
  const { exitCode, error } = await started.ended;
  return error?.code ?? exitCode;
};

const runScript = async () => {
  await using started = startScript(process.argv[2] ?? "", { stdio: "ignore", silent: false });
  started.child.send("end");
  return (await started.exited).exitCode;
};

const pool = createProcessPool({
  scriptUrl: new URL("../../unit/daemon/jobs/endless.process.ts", import.meta.url),
  program: [process.execPath],
  queue: { lengthMax: 10, lengthPerCallerMax: 10, sizeMax: 10 },
  idleMs: 1_000,
  idleBytesMax: 1024 ** 3,
});
const runJobs = async () => {
  const options = { budgetMs: 10_000, caller: "ann", size: 1 };
  const outcomes = await Promise.all(["a", "b"].map((input) => pool.run(input, options)));
  return outcomes.map(({ kind }) => kind);
};

const resultsOf = async () => {
  const results = [];
  for (const run of [() => runProgram(), runScript, runGit, runJobs])
    results.push(
      await run().catch((error: unknown) =>
        error instanceof ProcessStartError || error instanceof GitError
          ? error.code
          : String(error),
      ),
    );
  return results;
};

const held: number[] = [];
try {
  for (;;) held.push(openSync(devNull, "r"));
} catch {
  // No file descriptor is left.
}
const without = await resultsOf();
for (const each of held) closeSync(each);
const absent = await runProgram("croft-no-such-program");
process.stdout.write(JSON.stringify({ without, absent, with: await resultsOf() }));
await pool.close();
