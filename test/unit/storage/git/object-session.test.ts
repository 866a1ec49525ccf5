import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGit } from "../../../../storage/git/git.ts";
import { openObjectSession } from "../../../../storage/git/object-session.ts";
import { findEntries } from "../../../../storage/git/trees.ts";
import { importRepository } from "../../../support/forge/import-stream.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
let folder: string;
let directory: string;
let commit: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-session-"));
  directory = join(folder, "a.git");
  const submodule = { id: "1".repeat(40) };
  await importRepository(folder, "a.git", [
    {
      message: "one",
      files: [
        { path: "a.txt", content: "first\n" },
        { path: "docs/b c.txt", content: "second missing\n" },
        { path: "docs/:!*", content: "pattern" },
        { path: "docs/empty", content: "" },
        { path: "docs/run", mode: "100755", content: "run" },
        { path: "docs/link", mode: "120000", content: "../a.txt" },
        { path: "module", mode: "160000", content: submodule },
        { path: "big", content: "x".repeat(300_000) },
      ],
    },
  ]);
  commit = execFileSync("git", ["rev-parse", "main"], { cwd: directory, encoding: "utf8" }).trim();
});
afterAll(() => rm(folder, { recursive: true }));

test("a session finds and reads objects one after the other in one run of git", async () => {
  let runs = 0;
  const counted = {
    ...git,
    launch: (...input: Parameters<typeof git.launch>) => {
      runs += 1;
      return git.launch(...input);
    },
  };
  const session = openObjectSession(counted, { directory });
  const names = ["refs/heads/main^{commit}", "refs/heads/none", `${commit}:docs/b c.txt`];
  expect(await session.find(names)).toMatchObject([
    { id: commit, type: "commit" },
    undefined,
    { type: "blob", size: 15 },
  ]);
  for (const path of ["a.txt", "docs/b c.txt", "docs/:!*", "docs/empty", "docs/run", "docs/link"]) {
    const found = await session.findFile(commit, path);
    expect(found).toEqual((await findEntries(git, commit, [path], { directory })).get(path));
  }
  const found = await session.findFile(commit, "docs/b c.txt");
  expect(String(await session.read(found?.id ?? "", 100))).toBe("second missing\n");
  const big = await session.findFile(commit, "big");
  expect((await session.read(big?.id ?? "", 300_000)).byteLength).toBe(300_000);
  await expect(session.read(big?.id ?? "", 299_999)).rejects.toMatchObject({ code: "too_long" });
  expect(String(await session.read(found?.id ?? "", 100))).toBe("second missing\n");
  session.end();
  expect(runs).toBe(1);
});

test("a session reads the beginning of several objects, and whole ones after them", async () => {
  const session = openObjectSession(git, { directory });
  const found = await session.find([`${commit}:a.txt`, `${commit}:big`, `${commit}:docs/empty`]);
  const ids = found.map((each) => each?.id ?? "");
  const [small, big, empty] = await session.readBeginnings(ids);
  expect([String(small?.bytes), small?.isCut]).toEqual(["first\n", false]);
  expect([big?.bytes.byteLength, big?.isCut]).toEqual([256 * 1024, true]);
  expect([empty?.bytes.byteLength, empty?.isCut]).toEqual([0, false]);
  expect(String(await session.read(ids[0] ?? "", 100))).toBe("first\n");
  expect(await session.readBeginnings([])).toEqual([]);
  await expect(session.readBeginnings(["2".repeat(40)])).rejects.toMatchObject({ code: "failed" });
  session.end();
});

test("a session leaves folders, submodules and odd or missing paths to other ways", async () => {
  const session = openObjectSession(git, { directory });
  for (const path of [
    "docs",
    "module",
    "none",
    "docs/none",
    "a.txt/b",
    "x\ny/z",
    "none/x",
    "./a.txt",
    "../a.txt",
    "b\ufffd",
  ])
    expect(await session.findFile(commit, path), path).toBeUndefined();
  expect(await session.find(["none\nmissing", commit])).toMatchObject([undefined, { id: commit }]);
  await expect(session.read("2".repeat(40), 10)).rejects.toMatchObject({ code: "failed" });
  session.end();
});

test("a session ends with its signal, and reports a folder that is no repository", async () => {
  const controller = new AbortController();
  const session = openObjectSession(git, { directory, signal: controller.signal });
  await session.find([commit]);
  controller.abort(new Error("gone"));
  await expect(session.find([commit])).rejects.toThrow("gone");
  session.end();
  const none = openObjectSession(git, { directory: folder });
  await expect(none.find([commit])).rejects.toMatchObject({ code: "failed" });
  none.end();
  const lost = openObjectSession(createGit({ searchPath: folder }), { directory });
  await expect(lost.find([commit])).rejects.toMatchObject({ code: "missing" });
  lost.end();
  openObjectSession(git, { directory }).end();
});

test("a session that takes too long is told apart from a failure of git", async () => {
  const silent = join(folder, "silent");
  await mkdir(silent);
  // It reads its input, as git does, and never answers.
  await writeFile(join(silent, "git"), "#!/bin/sh\nexec cat >/dev/null\n", { mode: 0o700 });
  const slow = createGit({ searchPath: `${silent}:${process.env["PATH"] ?? ""}` });
  const objects = openObjectSession(slow, { directory, timeoutMs: 100 });
  await expect(objects.find([commit])).rejects.toMatchObject({ code: "too_long" });
  objects.end();
});
