// Run with `prlimit --nproc=1`: starts a program, git and a thread when no process may start. Prints the results.
import { tmpdir } from "node:os";
import { createThreadPool } from "../../../daemon/jobs/thread-pool.ts";
import { createGit } from "../../../storage/git/git.ts";
import { startProcess } from "../../../storage/start-process.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const threads = createThreadPool({
  workerUrl: new URL("../../unit/daemon/jobs/endless.worker.ts", import.meta.url),
  workerData: undefined,
  threadsMax: 2,
  runningPerCallerMax: 2,
  queue: { lengthMax: 10, lengthPerCallerMax: 10, sizeMax: 10 },
  idleMs: 1_000,
});

// The limit does not apply to root.
if (process.getuid?.() === 0) process.setuid?.(65_534);

await using started = startProcess("git", ["version"], { stdio: ["pipe", "pipe", "pipe"] });
const { error } = await started.ended;
const gitError = await git
  .run(["version"], { directory: tmpdir() })
  .catch((caught: unknown) => caught);
const options = { budgetMs: 1_000, caller: "ann", size: 1 };
const jobs = await Promise.all([threads.run("a", options), threads.run("b", options)]);
process.stdout.write(
  JSON.stringify([
    error?.code,
    (gitError as { readonly code?: string }).code,
    ...jobs.map(({ kind }) => kind),
  ]),
);
