import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { applyPatch } from "../../../../storage/git/apply-patch.ts";
import { createGit } from "../../../../storage/git/git.ts";
import { openQuarantine } from "../../../../storage/git/object-quarantine.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const MIB = 1024 * 1024;

test("a short patch of long files is refused before they take memory", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-patch-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const run = (input: string | Buffer, ...args: string[]) =>
    execFileSync("git", args, { cwd: folder, input, encoding: "utf8", maxBuffer: 64 * MIB });
  run("", "init", "-q", "--bare");
  const makeTree = (sizes: readonly number[]) => {
    const lines = sizes.map((size, at) => {
      const id = run(Buffer.alloc(size), "hash-object", "-w", "--stdin").trim();
      return `100644 blob ${id}\t${at}\n`;
    });
    return run(lines.join(""), "mktree").trim();
  };
  const who = "Mira <mira@example.org> 1700000000 +0000";
  const empty = makeTree([]);
  const text = `tree ${empty}\nauthor ${who}\ncommitter ${who}\n\nempty\n`;
  const commit = run(text, "hash-object", "-t", "commit", "-w", "--stdin").trim();
  await mkdir(join(folder, "objects"), { recursive: true });
  const apply = async (key: string, sizes: readonly number[]) => {
    const patch = run("", "diff-tree", "-p", "--binary", empty, makeTree(sizes));
    await using quarantine = await openQuarantine(folder, key);
    return await applyPatch(git, folder, commit, patch, quarantine);
  };
  const refused = { kind: "refused", reason: "its files are too large" };
  expect(await apply("a", [30 * MIB, 35 * MIB])).toEqual(refused);
  expect(await apply("b", [MIB, 2 * MIB])).toMatchObject({ kind: "applied" });
});
