import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createGit } from "../../../../storage/git/git.ts";
import { copyBranchesAndTags, fetchCommit } from "../../../../storage/git/share-objects.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
let folder: string;
let source: string;
let target: string;
const run = (cwd: string, args: readonly string[], input: Buffer | string = "") =>
  execFileSync("git", args, { cwd, input, encoding: "utf8" }).trim();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-share-"));
  source = join(folder, "source.git");
  target = join(folder, "target.git");
  for (const path of [source, target]) run(folder, ["init", "-q", "--bare", path]);
});
afterEach(() => rm(folder, { recursive: true }));

/** Writes a commit with one file to a branch and returns its id. */
function commit(branch: string, content: Buffer): string {
  const head =
    run(source, ["for-each-ref", "--format=%(refname)", branch]) === ""
      ? []
      : [`from ${branch}^0\n`];
  const person = "Ada <ada@example.org> 1700000000 +0000\n";
  const text = `commit ${branch}\nauthor ${person}committer ${person}data 6\nchange\n${head.join("")}M 100644 inline file\ndata ${content.byteLength}\n`;
  run(
    source,
    ["fast-import", "--quiet", "--done"],
    Buffer.concat([Buffer.from(text), content, Buffer.from("\ndone\n")]),
  );
  return run(source, ["rev-parse", branch]);
}

const listPacks = async (repository: string) =>
  (await readdir(join(repository, "objects/pack"))).toSorted();

test("branches and tags are copied with their objects, other refs are not", async () => {
  const main = commit("refs/heads/main", Buffer.from("1"));
  const topic = commit("refs/heads/tôpic/a", Buffer.from("2"));
  run(source, ["gc", "-q"]);
  const loose = commit("refs/heads/loose", Buffer.from("3"));
  run(source, ["update-ref", "refs/pull/1/head", topic]);
  run(source, [
    "-c",
    "user.name=A",
    "-c",
    "user.email=a@b",
    "tag",
    "-a",
    "-m",
    "First",
    "v1",
    main,
  ]);
  await copyBranchesAndTags(git, source, target);
  const refs = ["for-each-ref", "--format=%(refname) %(objectname)"];
  const expected = run(source, refs)
    .split("\n")
    .filter((line) => !line.startsWith("refs/pull/"));
  expect(run(target, refs).split("\n")).toEqual(expected);
  expect(run(target, ["rev-parse", "loose"])).toBe(loose);
  run(target, ["fsck", "--full", "--strict"]);
});

test("an empty repository has nothing to copy", async () => {
  await copyBranchesAndTags(git, source, target);
  expect(run(target, ["for-each-ref"])).toBe("");
});

test("a large pack is one file of both, also after each has packed, until the last is deleted", async () => {
  commit("refs/heads/main", randomBytes(11 * 1024 * 1024));
  run(source, ["gc", "-q"]);
  await copyBranchesAndTags(git, source, target);
  commit("refs/heads/main", Buffer.from("more"));
  for (const repository of [source, target]) run(repository, ["gc", "-q", "--prune=now"]);
  const [pack = ""] = (await listPacks(target)).filter((name) => name.endsWith(".pack"));
  const [ours, theirs] = await Promise.all(
    [source, target].map((repository) => stat(join(repository, "objects/pack", pack))),
  );
  expect(theirs?.ino).toBe(ours?.ino);
  expect(theirs?.nlink).toBe(2);
  await rm(source, { recursive: true });
  run(target, ["fsck", "--full"]);
  expect(run(target, ["cat-file", "-s", "main:file"])).toBe(String(11 * 1024 * 1024));
});

test("what small packs hold is not kept once no ref of a repository names it", async () => {
  const gone = commit("refs/heads/gone", Buffer.from("gone"));
  commit("refs/heads/main", Buffer.from("stays"));
  run(source, ["gc", "-q"]);
  await copyBranchesAndTags(git, source, target);
  run(target, ["update-ref", "-d", "refs/heads/gone"]);
  run(target, ["gc", "-q", "--prune=now"]);
  expect(() => run(target, ["cat-file", "-e", gone])).toThrow();
  run(source, ["cat-file", "-e", gone]);
});

test("a repository that git packs meanwhile is copied whole", async () => {
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < 5; index++) commit(`refs/heads/b${index}`, randomBytes(64));
    const copyTo = join(folder, `target-${round}.git`);
    run(folder, ["init", "-q", "--bare", copyTo]);
    await Promise.all([
      git.run(["repack", "-a", "-d", "-q"], { directory: source }),
      copyBranchesAndTags(git, source, copyTo),
    ]);
    run(copyTo, ["fsck", "--full"]);
    expect(run(copyTo, ["for-each-ref"])).toBe(run(source, ["for-each-ref"]));
  }
});

test("a commit of another repository comes with its history, although no ref of either names it", async () => {
  commit("refs/heads/main", Buffer.from("one"));
  await copyBranchesAndTags(git, source, target);
  const next = commit("refs/heads/main", Buffer.from("two"));
  run(source, ["update-ref", "refs/heads/main", `${next}~1`]);
  await fetchCommit(git, { source, commit: next }, { directory: target });
  await fetchCommit(git, { source, commit: next }, { directory: target });
  expect(run(target, ["cat-file", "-p", `${next}:file`])).toBe("two");
  expect(run(target, ["for-each-ref"])).not.toContain(next);
  const gone = fetchCommit(
    git,
    { source: `${source}.gone`, commit: "1".repeat(40) },
    { directory: target },
  );
  await expect(gone).rejects.toMatchObject({ code: "moved" });
});

test("large loose objects and many small packs are packed once, for both", async () => {
  for (let index = 0; index < 3; index++) {
    commit(`refs/heads/b${index}`, randomBytes(3 * 1024 * 1024));
    run(source, ["repack", "-d", "-q"]);
  }
  run(source, ["config", "fastimport.unpackLimit", "1000"]);
  commit("refs/heads/main", randomBytes(3 * 1024 * 1024));
  await copyBranchesAndTags(git, source, target);
  for (const repository of [source, target]) run(repository, ["gc", "-q", "--prune=now"]);
  const large = (await listPacks(target)).filter((name) => name.endsWith(".keep"));
  expect(large).toHaveLength(1);
  const pack = (large[0] ?? "").replace(/keep$/, "pack");
  expect((await stat(join(target, "objects/pack", pack))).nlink).toBe(2);
  run(target, ["fsck", "--full"]);
});
