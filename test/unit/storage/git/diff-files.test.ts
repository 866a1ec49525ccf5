import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readDiff } from "../../../../storage/git/diff-files.ts";
import { createGit } from "../../../../storage/git/git.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
let work: string;
const run = (...args: string[]) =>
  execFileSync("git", args, { cwd: work, encoding: "utf8" }).trim();

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "croft-diff-"));
  run("init", "-q", "-b", "main");
  run("config", "user.name", "Ada");
  run("config", "user.email", "ada@example.org");
});
afterEach(() => rm(work, { recursive: true }));

async function commit(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(work, name, ".."), { recursive: true });
    await writeFile(join(work, name), content);
  }
  run("add", "-A");
  run("commit", "-q", "--allow-empty", "-m", "change");
  return run("rev-parse", "HEAD");
}

const diff = (before: string, after: string, more = {}) =>
  readDiff(git, { before, after }, { directory: join(work, ".git"), filesMax: 100, ...more });

const text = Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join("");

test("each kind of change is told with its lines", async () => {
  const before = await commit({
    "changed.txt": "1\n2\n3\n",
    "gone.txt": "1\n2\n",
    "tool.sh": "#!/bin/sh\n",
    "old ä\tname": text,
    "picture.bin": Buffer.from([0, 1, 2]),
    link: "target",
  });
  run("mv", "old ä\tname", "new name");
  run("rm", "-q", "gone.txt", "link");
  await symlink("target", join(work, "link"));
  run("update-index", "--chmod=+x", "tool.sh");
  run("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},module`);
  execFileSync("chmod", ["+x", join(work, "tool.sh")]);
  await mkdir(join(work, "module"));
  for (const [name, content] of [
    ["changed.txt", "1\ntwo\n3\n4\n"],
    ["new name", text.replace("line 3", "third")],
    ["picture.bin", Buffer.from([0, 9])],
    ["added.txt", "1"],
  ] as const)
    await writeFile(join(work, name), content);
  run("add", "added.txt", "changed.txt", "new name", "picture.bin", "link");
  run("commit", "-q", "-m", "change");
  const { files, ...totals } = await diff(before, run("rev-parse", "HEAD"));
  const file = (path: string) => files.find((each) => each.path === path);
  expect(files.map(({ path }) => path)).toEqual(files.map(({ path }) => path).toSorted());
  expect(file("added.txt")).toMatchObject({ status: "added", additions: 1, deletions: 0 });
  expect(file("changed.txt")).toMatchObject({ status: "changed", additions: 2, deletions: 1 });
  expect(file("gone.txt")).toMatchObject({ status: "deleted", additions: 0, deletions: 2 });
  expect(file("new name")).toMatchObject({
    status: "renamed",
    formerPath: "old ä\tname",
    additions: 1,
    deletions: 1,
  });
  expect(file("picture.bin")).toMatchObject({ isBinary: true, additions: 0, deletions: 0 });
  expect(file("tool.sh")).toMatchObject({ status: "changed", changesMode: true, additions: 0 });
  expect(file("link")).toMatchObject({ status: "changed", changesMode: true });
  expect(file("module")).toMatchObject({ status: "added", additions: 1 });
  expect(totals).toMatchObject({ changedFiles: files.length });
  expect(totals.additions).toBe(files.reduce((sum, { additions }) => sum + additions, 0));
  expect(totals.deletions).toBe(files.reduce((sum, { deletions }) => sum + deletions, 0));
});

test("the totals count files beyond the limit", async () => {
  const before = await commit({ a: "a\n" });
  const after = await commit({ b: "b\n", c: "c\nc\n", d: "d\n" });
  const summary = await diff(before, after, { filesMax: 2 });
  expect(summary.files.map(({ path }) => path)).toEqual(["b", "c"]);
  expect(summary).toMatchObject({ changedFiles: 3, additions: 4, deletions: 0 });
});

test("files that differ in white space alone are left out on request", async () => {
  const before = await commit({ a: "a b\n", b: "b\n" });
  const after = await commit({ a: "a   b\n", b: "b c\n" });
  expect((await diff(before, after)).changedFiles).toBe(2);
  const summary = await diff(before, after, { ignoredSpace: "all" });
  expect(summary.files.map(({ path }) => path)).toEqual(["b"]);
  expect(summary.changedFiles).toBe(1);
});

test("equal commits have no files", async () => {
  const before = await commit({ a: "a\n" });
  expect(await diff(before, await commit({}))).toEqual({
    files: [],
    changedFiles: 0,
    additions: 0,
    deletions: 0,
  });
});
