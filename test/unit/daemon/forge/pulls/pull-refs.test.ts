import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPullRefs, toPullRef } from "../../../../../daemon/forge/pulls/pull-refs.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import { findIssueById } from "../../../../../storage/tables/forge/issues/issues.ts";
import { insertPullRows } from "../../../../support/forge/pull-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

let db: Database;
let folder: string;

beforeEach(async () => {
  db = await openTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "croft-pull-refs-"));
});
afterEach(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

test("the ref of a pull request is written when another git releases its lock", async () => {
  const issueId = await insertPullRows(db, folder);
  const directory = join(folder, ".git");
  const ref = toPullRef((await findIssueById(db, issueId))?.number ?? 0);
  const lock = join(directory, `${ref}.lock`);
  await mkdir(join(lock, ".."), { recursive: true });
  await writeFile(lock, "");
  const refs = createPullRefs({
    db,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    runInFolder: async (_repository, work) => work(directory),
  });
  const writing = refs.writeHead(issueId);
  await Promise.all([writing, sleep(500).then(() => rm(lock))]);
  const read = (name: string) =>
    execFileSync("git", ["rev-parse", name], { cwd: directory, encoding: "utf8" });
  expect(read(ref)).toBe(read("topic"));
});
