import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createGit, toGitFailure } from "../../../../storage/git/git.ts";
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

test.each([
  "error: unable to write symref for HEAD: No space left on device",
  "fatal: sha1 file 'objects/pack/tmp_pack_x' write error. Out of diskspace",
  "error: file write error: Disk quota exceeded",
  "fatal: update_ref failed for ref 'refs/heads/x': cannot lock ref 'refs/heads/x': Unable to create 'x.lock': No space left on device",
])("%s is a full disk, which is told as such", async (stderr) => {
  const failure = toGitFailure("git update-ref", { exitCode: 128, stderr });
  expect(failure.code).toBe("full");
  await expect(refusing(() => Promise.reject(failure))).rejects.toMatchObject({
    code: "storage_full",
  });
});

test("any other failure of git is none of the disk", () => {
  const stderr = "fatal: cannot lock ref 'refs/heads/x': reference already exists";
  expect(toGitFailure("git update-ref", { exitCode: 128, stderr }).code).toBe("failed");
});
