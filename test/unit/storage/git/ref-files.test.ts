import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCommits, hashRefs, readTip } from "../../../../storage/git/ref-files.ts";
import { findCommitId } from "../../../../storage/git/commits.ts";
import { createGit } from "../../../../storage/git/git.ts";
import { importRepository } from "../../../support/forge/import-stream.ts";

let runs = 0;
const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const counted = {
  run: (...input: Parameters<typeof git.run>) => ((runs += 1), git.run(...input)),
  start: git.start,
  launch: git.launch,
};
let folder: string;
let directory: string;
let first: string;
let second: string;

const run = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=Mira", "-c", "user.email=mira@example.org", ...args], {
    cwd: directory,
    encoding: "utf8",
  }).trim();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-tips-"));
  directory = join(folder, "a.git");
  await importRepository(folder, "a.git", [
    { message: "one", files: [{ path: "a.txt", content: "1" }] },
    { message: "two", files: [{ path: "a.txt", content: "2" }] },
  ]);
  [second, first] = run("rev-list", "main").split("\n") as [string, string];
});
afterAll(() => rm(folder, { recursive: true }));

test("the commit of a branch is read from its file, from the packed refs, and from the newer of both", async () => {
  run("update-ref", "refs/heads/team/fähre+1", first);
  run("update-ref", "refs/pull/7/head", first);
  const names = ["refs/heads/main", "refs/heads/team/fähre+1", "refs/pull/7/head"];
  const read = () => names.map((name) => readTip(directory, name));
  expect(read()).toEqual([second, first, first]);
  run("pack-refs", "--all");
  expect(read()).toEqual([second, first, first]);
  run("update-ref", "refs/heads/team/fähre+1", second);
  expect(read()).toEqual([second, second, first]);
  run("update-ref", "-d", "refs/heads/team/fähre+1");
  expect(read()).toEqual([second, undefined, first]);
});

test("a ref that only git can resolve is left to git", async () => {
  run("symbolic-ref", "refs/heads/alias", "refs/heads/main");
  run("tag", "-a", "-m", "first", "v1", first);
  run("update-ref", "refs/heads/above/below", first);
  await writeFile(join(directory, "refs/heads/torn"), `${second.slice(0, 20)}\n`);
  await writeFile(join(directory, "refs/heads/main.lock"), `${first}\n`);
  for (const name of [
    ...["alias", "torn", "main.lock", "above", "missing", "main/below", "../heads/main"],
    ...["a/../main", "./main", "a//main", "main^{commit}", "main~1", "m\0", "-main", ""],
  ])
    expect(readTip(directory, `refs/heads/${name}`)).toBeUndefined();
  for (const name of ["HEAD", "main", "config", "refs/tags/v1", "refs/pull/x/head", second])
    expect(readTip(directory, name)).toBeUndefined();
  await rm(join(directory, "refs/heads/main.lock"));
  await rm(join(directory, "refs/heads/torn"));
  expect(await findCommitId(git, directory, "refs/heads/alias")).toBe(second);
});

test("commits of branches are found without a run of git, and all others in one", async () => {
  runs = 0;
  expect(await findCommitId(counted, directory, "refs/heads/main")).toBe(second);
  expect(
    await findCommits(counted, ["refs/heads/main", "refs/heads/above/below"], { directory }),
  ).toEqual([second, first]);
  expect(runs).toBe(0);
  const names = ["refs/tags/v1", "refs/heads/main", "refs/heads/none", first.slice(0, 12)];
  expect(await findCommits(counted, names, { directory })).toEqual([
    first,
    second,
    undefined,
    first,
  ]);
  expect(runs).toBe(1);
});

test("the hash of all branches and tags changes with each of them", async () => {
  const other = join(folder, "hashed.git");
  execFileSync("git", ["clone", "-q", "--bare", directory, other]);
  const change = async (...args: string[]) => {
    execFileSync("git", args, { cwd: other });
    return hashRefs(other);
  };
  const hashes = [
    await change("update-ref", "refs/heads/new", first),
    await change("update-ref", "refs/heads/new", second),
    await change("tag", "v2", first),
    await change("update-ref", "-d", "refs/heads/new"),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(hashes).not.toContain(undefined);
  expect(hashRefs(other)).toBe(hashes.at(-1));
  expect(await change("update-ref", "refs/pull/7/head", first)).toBe(hashes.at(-1));
  expect(await change("symbolic-ref", "refs/heads/alias", "refs/heads/main")).toBeUndefined();
  await change("symbolic-ref", "--delete", "refs/heads/alias");
  for (let number = 1; number <= 70; number += 1)
    await change("update-ref", `refs/heads/many-${number}`, first);
  expect(hashRefs(other)).toBeUndefined();
  expect(await change("pack-refs", "--all")).toBeDefined();
});

test("the commit of a branch in a repository of SHA-256 is read from its file", async () => {
  const other = join(folder, "sha256.git");
  execFileSync("git", ["init", "-q", "--bare", "--object-format=sha256", other]);
  const tree = execFileSync("git", ["hash-object", "-t", "tree", "-w", "--stdin"], {
    cwd: other,
    input: "",
    encoding: "utf8",
  }).trim();
  const commit = execFileSync(
    "git",
    ["-c", "user.name=m", "-c", "user.email=m@example.org", "commit-tree", tree, "-m", "one"],
    { cwd: other, encoding: "utf8" },
  ).trim();
  execFileSync("git", ["update-ref", "refs/heads/main", commit], { cwd: other });
  expect(readTip(other, "refs/heads/main")).toBe(commit);
});
