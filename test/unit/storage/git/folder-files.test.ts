import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readFirstFolderFiles, readFolderFiles } from "../../../../storage/git/folder-files.ts";
import { createGit, type Git } from "../../../../storage/git/git.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const limits = { name: /^[^/]+\.yml$/, filesMax: 2, bytesMax: 10 };
let directory: string;

const run = (args: readonly string[], input = "") =>
  execFileSync("git", args, { cwd: directory, input, encoding: "utf8" }).trim();

/** Writes a tree of these files; a text that begins with `->` is a symbolic link. Git takes its id for a commit's. */
function makeTree(files: Readonly<Record<string, string>>): string {
  const index = { cwd: directory, env: { PATH: process.env["PATH"], GIT_INDEX_FILE: "index-new" } };
  execFileSync("git", ["read-tree", "--empty"], index);
  const lines = Object.entries(files).map(([path, text]) => {
    const mode = text.startsWith("->") ? "120000" : "100644";
    return `${mode} ${run(["hash-object", "-w", "--stdin"], text)}\t${path}\n`;
  });
  execFileSync("git", ["update-index", "--index-info"], { ...index, input: lines.join("") });
  return execFileSync("git", ["write-tree"], { ...index, encoding: "utf8" }).trim();
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "croft-folder-files-"));
  execFileSync("git", ["init", "-q", "--bare"], { cwd: directory });
});
afterAll(() => rm(directory, { recursive: true }));

const first = (commit: string, folders: readonly string[], by: Git = git) =>
  readFirstFolderFiles(by, directory, { ...limits, commit, folders });

test("the first of several folders that has files hides the others, in any order of their names", async () => {
  const commit = makeTree({ "a/w/one.yml": "1", "b/w/two.yml": "2" });
  const one = { folder: "a/w", files: [{ name: "one.yml", text: "1" }] };
  const two = { folder: "b/w", files: [{ name: "two.yml", text: "2" }] };
  expect(await first(commit, ["a/w", "b/w"])).toEqual(one);
  expect(await first(commit, ["b/w", "a/w"])).toEqual(two);
  expect(await first(commit, ["c", "b/w"])).toEqual(two);
});

test("links, folders, other names and files of folders below do not count", async () => {
  const commit = makeTree({
    "a/deep/x.yml": "1",
    "a/link.yml": "->x",
    "a/other.txt": "2",
    "a/x.yml/y.yml": "3",
    "b/z.yml": "4",
  });
  expect(await first(commit, ["a", "b"])).toEqual({
    folder: "b",
    files: [{ name: "z.yml", text: "4" }],
  });
  expect(await readFolderFiles(git, directory, { ...limits, commit, folder: "a" })).toEqual([]);
});

test("files of each folder are counted alone, and the text of a large one is left out", async () => {
  const commit = makeTree({
    "a/one.yml": "long enough",
    "a/three.yml": "3",
    "a/two.yml": "2",
    "b/four.yml": "\ufeff4",
  });
  const files = [
    { name: "one.yml", text: undefined },
    { name: "three.yml", text: "3" },
  ];
  expect(await first(commit, ["a", "b"])).toEqual({ folder: "a", files });
  expect(await readFolderFiles(git, directory, { ...limits, commit, folder: "b" })).toEqual([
    { name: "four.yml", text: "4" },
  ]);
});

test("one run of git finds that none of several folders has files", async () => {
  const commit = makeTree({ a: "a file", "b/c.txt": "1" });
  const runs: (readonly string[])[] = [];
  const counting: Git = {
    ...git,
    run: (args, options) => {
      runs.push(args);
      return git.run(args, options);
    },
  };
  expect(await first(commit, ["a", "b", "c"], counting)).toBeUndefined();
  expect(runs.map(([command]) => command)).toEqual(["ls-tree"]);
});
