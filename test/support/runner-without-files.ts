// Run with few file descriptors: runs a program of a job, looks for a container engine and makes the folder of a task when
// none are left, then again with some. Prints the results.
import { closeSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import { findEngine, SILENT } from "../../cli/runner/places/engine.ts";
import { createJobProcesses } from "../../cli/runner/places/job-processes.ts";
import { createTaskFolder } from "../../cli/runner/task-folder.ts";

const root = await mkdtemp(join(tmpdir(), "croft-runner-files-"));
const processes = createJobProcesses({
  mark: "0a1b",
  platform: process.platform,
  sleep: () => Promise.resolve(),
});
const { signal } = new AbortController();
const env = { PATH: process.env["PATH"] ?? "" };
let id = 0;
const works: readonly (() => Promise<unknown>)[] = [
  () => processes.run({ argv: ["true"], env, cwd: root, sink: SILENT, signal }),
  () => findEngine(env),
  () => createTaskFolder(root, (id += 1), "0a1b").then(() => "made"),
];
const resultsOf = async () => {
  const results = [];
  for (const work of works)
    results.push(await work().catch((error: NodeJS.ErrnoException) => error.code));
  return results.map((each) => each ?? "none");
};

const held: number[] = [];
try {
  for (;;) held.push(openSync(devNull, "r"));
} catch {
  // No file descriptor is left.
}
const without = await resultsOf();
for (const each of held) closeSync(each);
process.stdout.write(JSON.stringify({ without, with: await resultsOf() }));
await rm(root, { recursive: true });
