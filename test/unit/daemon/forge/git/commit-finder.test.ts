import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCommitFinder } from "../../../../../daemon/forge/git/commit-readers.ts";
import { createGit, type Git } from "../../../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { clientEnvironment } from "../../../../support/forge/git-client.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const repository = {} as ForgeRepository;
const started: (string | undefined)[] = [];
/** Notes the commands that it starts. */
const watched: Git = {
  start: (args, options) => {
    started.push(args[0]);
    return git.start(args, options);
  },
  launch: (args, options) => {
    started.push(args[0]);
    return git.launch(args, options);
  },
  run: (args, options) => {
    started.push(args[0]);
    return git.run(args, options);
  },
};
const find = createCommitFinder({ git: watched, locate: async () => directory });
let directory: string;
let first: string;
let second: string;

const run = (...args: readonly string[]) =>
  execFileSync("git", args, {
    cwd: directory,
    env: clientEnvironment(directory),
    encoding: "utf8",
  }).trim();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "croft-commit-finder-"));
  run("init", "-q", "--bare");
  const tree = run("hash-object", "-w", "-t", "tree", "/dev/null");
  first = run("commit-tree", tree, "-m", "first");
  second = run("commit-tree", tree, "-p", first, "-m", "second");
  run("update-ref", "refs/heads/main", second);
  run("update-ref", `refs/heads/${first}`, second);
  run("update-ref", `refs/heads/${first.slice(0, 8)}`, second);
});
afterAll(() => rm(directory, { recursive: true }));

test("a whole id is found at once, also beside a branch of that name", async () => {
  started.length = 0;
  expect(await find(repository, first)).toMatchObject({ id: first, message: "first\n" });
  expect(started).toEqual(["rev-parse", "log"]);
});

test("a branch is found before the commit whose abbreviated id it has as its name", async () => {
  expect((await find(repository, first.slice(0, 8)))?.id).toBe(second);
  expect((await find(repository, first.slice(0, 9)))?.id).toBe(first);
  expect((await find(repository, "main"))?.id).toBe(second);
});

test("an unknown whole id and an expression find nothing", async () => {
  expect(await find(repository, "1".repeat(40))).toBeUndefined();
  expect(await find(repository, "main~1")).toBeUndefined();
});
