import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createGit } from "../../../../storage/git/git.ts";
import { refusing } from "../../../../daemon/forge/repositories/git-refusals.ts";

test("a moved folder is distinguished from a missing git, and is a refusal with a retry", async () => {
  const moved = { directory: join(tmpdir(), "croft-no-such-folder") };
  const git = createGit({ searchPath: process.env["PATH"] ?? "" });
  await expect(git.run(["version"], moved)).rejects.toMatchObject({ code: "moved" });
  await expect(refusing(() => git.run(["version"], moved))).rejects.toMatchObject({
    code: "unavailable",
    message: "the repository is being moved, try again in a moment",
  });
  const absent = createGit({ searchPath: moved.directory });
  await expect(absent.run(["version"], { directory: tmpdir() })).rejects.toMatchObject({
    code: "missing",
  });
});
