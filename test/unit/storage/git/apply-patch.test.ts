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

test("a short patch that copies a file many times is refused by the sum of its files", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-patch-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const run = (input: string, ...args: string[]) =>
    execFileSync("git", args, { cwd: folder, input, encoding: "utf8" }).trim();
  run("", "init", "-q", "--bare");
  const blob = run(`first\n${"line\n".repeat(2_000)}`, "hash-object", "-w", "--stdin");
  const tree = run(`100644 blob ${blob}\tlong\n`, "mktree");
  const who = "Mira <mira@example.org> 1700000000 +0000";
  const text = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\none\n`;
  const commit = run(text, "hash-object", "-t", "commit", "-w", "--stdin");
  const apply = async (copies: number) => {
    const patch = Array.from(
      { length: copies },
      (_, at) =>
        `diff --git a/long b/copy-${at}\nsimilarity index 99%\ncopy from long\ncopy to copy-${at}\n--- a/long\n+++ b/copy-${at}\n@@ -1,4 +1,4 @@\n-first\n+copy ${at}\n line\n line\n line\n`,
    ).join("");
    await using quarantine = await openQuarantine(folder, `copies-${copies}`);
    return await applyPatch(git, folder, commit, patch, quarantine, 50_000);
  };
  expect(await apply(4)).toMatchObject({ kind: "applied" });
  expect(await apply(6)).toEqual({ kind: "refused", reason: "its files are too large" });
});
