import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import { join } from "node:path";
import { createWikiFolders } from "../../../../../daemon/forge/wiki/wiki-folders.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit, GitError } from "../../../../../storage/git/git.ts";
import { openRepositoryFiles } from "../../../../../storage/git/repository-files.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

let db: Database;
let root: string;

beforeEach(async () => {
  db = await openTestDatabase();
  root = await mkdtemp(join(tmpdir(), "croft-wiki-"));
});
afterEach(async () => {
  await db.close();
  await rm(root, { recursive: true });
});

test("a wiki that git cannot create for want of processes is refused as unavailable", async () => {
  const git = createGit({ searchPath: process.env["PATH"] ?? "" });
  const busy: typeof git = {
    ...git,
    run: () => Promise.reject(new GitError("busy", "git init failed to start")),
  };
  const mira = await db.transaction((tx) => insertUser(tx, newUserRow("mira")));
  const repository = await db.transaction((tx) =>
    insertRepository(tx, newRepositoryRow(mira, "cabin")),
  );
  const folders = createWikiFolders({
    db,
    git: busy,
    files: await openRepositoryFiles({ git: busy, root: join(root, "repositories") }),
    folders: {
      locate: async () => root,
      moves: undefined as never, // Nothing is moved: the wiki is not made.
    },
    newId: () => "one",
  });
  await expect(folders.ensure(repository)).rejects.toMatchObject({ code: "unavailable" });
});
