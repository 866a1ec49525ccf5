import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createGit } from "../../../../storage/git/git.ts";
import { refusing } from "../../../../daemon/forge/repositories/git-refusals.ts";
import { skipUnless } from "../../../support/skip.ts";

const script = join(import.meta.dirname, "../../../support/storage/git-without-files.ts");

skipUnless(process.platform !== "win32", "ulimit does not exist")(
  "a git that cannot be started for want of descriptors is an error of its own, and the process lives on",
  async () => {
    const command = ["-c", 'ulimit -n 64 && exec "$0" "$1"', process.execPath, script];
    const { stdout } = await promisify(execFile)("sh", command);
    expect(JSON.parse(stdout)).toEqual(["busy", "done"]);
  },
);

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
