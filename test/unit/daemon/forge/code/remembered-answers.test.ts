import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBrowsing } from "../../../../../daemon/forge/code/browsing.service.ts";
import { createCommits } from "../../../../../daemon/forge/code/commits.service.ts";
import { createContents } from "../../../../../daemon/forge/code/contents.service.ts";
import { createFolderListings } from "../../../../../daemon/forge/code/folder-listings.ts";
import type {
  CodeAccess,
  CodeRequest,
  OpenedCode,
} from "../../../../../daemon/forge/code/open-code.ts";
import type { OpenedRepository } from "../../../../../daemon/forge/opened.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit, type Git } from "../../../../../storage/git/git.ts";
import { toRepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { createTestCompute } from "../../../../support/forge/compute.ts";
import { importRepository } from "../../../../support/forge/import-stream.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

let folder: string;
let directory: string;
let db: Database;
let starts = 0;
const plain = createGit({ searchPath: process.env["PATH"] ?? "" });
const git: Git = {
  start: (...args) => ((starts += 1), plain.start(...args)),
  launch: (...args) => ((starts += 1), plain.launch(...args)),
  run: (...args) => ((starts += 1), plain.run(...args)),
};
const compute = createTestCompute();
const signal = new AbortController().signal;
const toOwned = (id: number) =>
  ({ repository: { id: toRepositoryId(id), defaultBranch: "main" } }) as OpenedRepository;
const access = {
  read: ({ opened }, work) =>
    work({ owned: opened, git, directory, signal, caller: undefined } satisfies OpenedCode),
} as CodeAccess;
const toRequest = (id: number) =>
  ({ opened: toOwned(id), caller: undefined, address: "", signal }) as CodeRequest;
const run = (...args: string[]) =>
  execFileSync("git", args, { cwd: directory, encoding: "utf8" }).trim();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-remembered-"));
  directory = join(folder, "a.git");
  const files = (content: string) => [
    { path: "README.md", content },
    { path: "docs/large.txt", content: content.repeat(70_000) },
  ];
  await importRepository(folder, "a.git", [
    { message: "one", files: files("1") },
    { message: "two", files: files("2") },
  ]);
  db = await openTestDatabase();
});
afterAll(async () => {
  await db.close();
  await compute.close();
  await rm(folder, { recursive: true });
});

test("a page of a repository that was read before starts no git, and shows each change of a branch", async () => {
  const contents = createContents({ access, listings: createFolderListings(git) });
  const commits = createCommits({ db, access });
  const browsing = createBrowsing({ db, access, compute });
  const filter = { sha: "", path: "", not: "", since: "", until: "" };
  const parts = { withFiles: false, withStats: false, withVerification: false };
  const read = async (id: number) => {
    const request = toRequest(id);
    const file = await contents.get(request, "README.md", "");
    const top = await contents.get(request, "", "");
    const list = await commits.list(request, filter, { page: 1, limit: 10 }, parts);
    return {
      file: file.entries[0]?.content?.toString(),
      last: top.entries.map(({ last }) => last?.title),
      messages: list.commits.map(({ commit }) => commit.message),
      names: await browsing.refNames(request),
    };
  };
  const first = await read(1);
  expect(first).toEqual({
    file: "2",
    last: ["two", "two"],
    messages: ["two", "one"],
    names: { branches: ["main"], tags: [] },
  });
  starts = 0;
  expect(await read(1)).toEqual(first);
  expect(starts).toBe(0);
  // Another repository may have lost an object that this one has.
  expect(await read(2)).toEqual(first);
  expect(starts).toBeGreaterThan(0);

  run("update-ref", "refs/heads/old", "main");
  run("update-ref", "refs/heads/main", "main~1");
  run("tag", "v1", "main");
  expect(await read(1)).toMatchObject({
    file: "1",
    messages: ["one"],
    names: { branches: ["main", "old"], tags: ["v1"] },
  });
});

test("a large file is read each time, and whole", async () => {
  const contents = createContents({ access, listings: createFolderListings(git) });
  const read = async () => (await contents.get(toRequest(1), "docs/large.txt", "")).entries[0];
  expect((await read())?.content).toHaveLength(70_000);
  starts = 0;
  expect((await read())?.content).toHaveLength(70_000);
  expect(starts).toBe(1);
});
