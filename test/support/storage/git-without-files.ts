// Run with few file descriptors: starts git when none are left, and prints the results of that run and of the next one.
import { closeSync, openSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { createGit, GitError } from "../../../storage/git/git.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const run = () =>
  git.run(["version"], { directory: tmpdir() }).then(
    () => "done",
    (error: unknown) => (error instanceof GitError ? error.code : String(error)),
  );

const held: number[] = [];
try {
  for (;;) held.push(openSync(devNull, "r"));
} catch {
  // No file descriptor is left.
}
const without = await run();
for (const each of held) closeSync(each);
process.stdout.write(JSON.stringify([without, await run()]));
