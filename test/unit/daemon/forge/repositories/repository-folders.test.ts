import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createWikiFolders } from "../../../../../daemon/forge/wiki/wiki-folders.ts";
import { createRepositoryFolders } from "../../../../../daemon/forge/repositories/repository-folders.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import {
  openRepositoryFiles,
  type RepositoryFiles,
} from "../../../../../storage/git/repository-files.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  insertRepository,
  updateRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
let db: Database;
let root: string;
let files: RepositoryFiles;
let repository: ForgeRepository;
let warnings: string[];

const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: (...line: readonly unknown[]) => void warnings.push(String(line.at(-1))),
  error: quiet,
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => false,
};

/** The folders as one daemon uses them. */
const openFolders = () =>
  createRepositoryFolders({
    db,
    git,
    files,
    newId: () => "unique",
    log,
    isAlone: false,
    jobs: { enqueue: () => Promise.reject(new Error("no job here")), register: quiet },
  });

/** A repository whose creation is committed, and whose folder is still in its staging place. */
beforeEach(async () => {
  warnings = [];
  db = await openTestDatabase();
  root = await mkdtemp(join(tmpdir(), "croft-folders-"));
  files = await openRepositoryFiles({ git, root });
  const { path } = await files.create({
    key: "cabin",
    objectFormat: "sha1",
    defaultBranch: "main",
  });
  repository = await db.transaction(async (tx) => {
    const mira = await insertUser(tx, newUserRow("mira"));
    return insertRepository(tx, { ...newRepositoryRow(mira, "cabin"), path, needsMove: true });
  });
});
afterEach(async () => {
  await db.close();
  await rm(root, { recursive: true });
});

test("a reader that is faster than the move of a new repository gets its last place, where git starts", async () => {
  const folders = openFolders();
  const [found, isMoved] = await Promise.all([
    folders.locate(repository),
    folders.moves.complete(repository.id),
  ]);
  expect(found).toBe(join(root, "mira/cabin.git"));
  expect(isMoved).toBe(true);
  expect(await git.run(["symbolic-ref", "HEAD"], { directory: found })).toBeDefined();
  expect(await findRepositoryById(db, repository.id)).toMatchObject({
    path: "mira/cabin.git",
    needsMove: false,
  });
  // A row that was read before the move still finds the folder.
  expect(await folders.locate(repository)).toBe(found);
  expect(warnings).toEqual([]);
});

test("two daemons that complete the same move both find the folder at its last place", async () => {
  const place = files.place.bind(files);
  let calls = 0;
  const both = Promise.withResolvers<void>();
  // Each daemon has read the pending move before one of them moves the folder.
  files.place = async (path, target) => {
    calls += 1;
    if (calls === 2) both.resolve();
    await both.promise;
    return place(path, target);
  };
  const [one, other] = [openFolders(), openFolders()];
  const outcomes = await Promise.all([one.moves.complete(repository.id), other.locate(repository)]);
  expect(outcomes).toEqual([true, join(root, "mira/cabin.git")]);
  expect(warnings).toEqual([]);
});

test("a wiki that is created while another daemon moves its repository lies in the moved folder", async () => {
  const folders = openFolders();
  await folders.moves.complete(repository.id);
  const placeIn = files.placeIn.bind(files);
  let calls = 0;
  files.placeIn = async (...place) => {
    calls += 1;
    if (calls === 1) {
      await rename(join(root, "mira/cabin.git"), join(root, "mira/hut.git"));
      await db.transaction((tx) => updateRepository(tx, repository.id, { path: "mira/hut.git" }));
    }
    return placeIn(...place);
  };
  const wikis = createWikiFolders({ db, git, files, folders, newId: () => "wiki" });
  await wikis.ensure(repository);
  expect(calls).toBe(2);
  expect(await wikis.locate(repository)).toMatch(/^.*\/mira\/hut\.git\/[^/]+$/);
  expect(await readdir(join(root, "mira"))).toEqual(["hut.git"]);
  expect(await readdir(join(root, ".croft"))).toEqual([]);
  // Once more: it exists.
  await wikis.ensure(repository);
  expect(calls).toBe(2);
});
