import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFolderListings } from "../../../../../daemon/forge/code/folder-listings.ts";
import { createGit, type Git } from "../../../../../storage/git/git.ts";
import { withObjectSession } from "../../../../../storage/git/object-session.ts";
import { toRepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { importRepository } from "../../../../support/forge/import-stream.ts";

let folder: string;
let directory: string;
let ids: string[];
let starts = 0;
const plain = createGit({ searchPath: process.env["PATH"] ?? "" });
const git: Git = {
  ...plain,
  launch(...args) {
    starts += 1;
    return plain.launch(...args);
  },
  run(...args) {
    starts += 1;
    return plain.run(...args);
  },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-listings-"));
  directory = join(folder, "a.git");
  const commit = (path: string) => ({ message: path, files: [{ path, content: path }] });
  await importRepository(folder, "a.git", ["a", "docs/b", "c"].map(commit));
  const log = execFileSync("git", ["rev-list", "main"], { cwd: directory, encoding: "utf8" });
  ids = log.trim().split("\n");
});
afterAll(() => rm(folder, { recursive: true }));

test("the listing of a folder of a commit is read once, in each repository and with last commits", async () => {
  const listings = createFolderListings(git);
  const list = (repository: number, withLast = true) =>
    withObjectSession(git, { directory }, async (objects) => {
      const [commitId = ""] = ids;
      const query = { commitId, path: "", tree: commitId, directory };
      const { entries, total } = await listings.list(
        objects,
        { ...query, repositoryId: toRepositoryId(repository) },
        withLast,
      );
      return { total, last: entries.map(({ entry, last }) => [entry.path, last?.id]) };
    });
  const [newest, second, first] = ids;
  const expected = {
    total: 3,
    last: [
      ["a", first],
      ["c", newest],
      ["docs", second],
    ],
  };
  expect(await list(1)).toEqual(expected);
  starts = 0;
  expect(await list(1)).toEqual(expected);
  expect(starts).toBe(0);
  expect((await list(1, false)).last[0]).toEqual(["a", undefined]);
  expect(await list(2)).toEqual(expected);
  expect(starts).toBeGreaterThan(0);
});

test("a prepared repository lists its top folder without a search", async () => {
  const listings = createFolderListings(git);
  const repository = { id: toRepositoryId(1), defaultBranch: "main" };
  await listings.prepare(repository, { directory });
  starts = 0;
  const [commitId = ""] = ids;
  const query = { repositoryId: repository.id, commitId, path: "", tree: commitId, directory };
  const { entries } = await withObjectSession(git, { directory }, (objects) =>
    listings.list(objects, query, true),
  );
  expect([entries.length, starts]).toEqual([3, 0]);
  await listings.prepare({ ...repository, defaultBranch: "missing" }, { directory });
});
