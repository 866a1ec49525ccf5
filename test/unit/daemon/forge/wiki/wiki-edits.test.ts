import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEvents } from "../../../../../daemon/forge/events.ts";
import { createWikiEdits } from "../../../../../daemon/forge/wiki/wiki-edits.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  type ForgeRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import {
  insertWikiEdit,
  listWikiEdits,
} from "../../../../../storage/tables/forge/repositories/wiki-edits.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => false,
};
const ref = "refs/heads/main";

let db: Database;
let directory: string;
let mira: ForgeUser;
let repository: ForgeRepository;
/** Three commits, each the parent of the next. */
let ids: string[];
let now: number;
let published: string[];
/** Times of the next runs of the job. */
let enqueued: number[];

const gitIn = (...args: readonly string[]) =>
  execFileSync("git", args, { cwd: directory, encoding: "utf8" }).trim();

beforeEach(async () => {
  db = await openTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "croft-wiki-"));
  gitIn("init", "--quiet", "--bare", "--initial-branch=main");
  const tree = gitIn("hash-object", "-t", "tree", "-w", "/dev/null");
  const identity = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"];
  ids = [];
  for (const name of ["one", "two", "three"]) {
    const parents = ids.slice(-1).flatMap((id) => ["-p", id]);
    ids.push(gitIn(...identity, "commit-tree", tree, ...parents, "-m", name));
  }
  mira = await db.transaction((tx) => insertUser(tx, newUserRow("mira")));
  repository = await db.transaction((tx) => insertRepository(tx, newRepositoryRow(mira, "cabin")));
  now = Date.now();
  published = [];
  enqueued = [];
});
afterEach(async () => {
  await db.close();
  await rm(directory, { recursive: true });
});

/** The job of a daemon that starts on the database. */
function openJob() {
  const { emit, subscribe } = createEvents();
  subscribe({
    async wiki(_tx, { action, page, comment, actor }) {
      published.push(`${action} ${page} (${comment}) by ${actor.name}`);
    },
  });
  const notUsed = () => Promise.reject(new Error("the job creates no wiki"));
  const { job } = createWikiEdits({
    db,
    clock: () => now,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    folders: {
      locate: async ({ name }) => (name === "cabin" ? directory : join(directory, "none")),
      ensure: notUsed,
      follow: notUsed,
    },
    emit,
    async enqueue(_tx, { runAt }) {
      enqueued.push(runAt ?? 0);
      return 1;
    },
    log,
  });
  return job;
}

/** Writes the entry of a change whose process died before it had published it. */
const die = (commitId: string, page: string, { id } = repository) =>
  db.transaction((tx) =>
    insertWikiEdit(tx, {
      repositoryId: id,
      actorId: mira.id,
      ref,
      commitId,
      action: "edited",
      page,
      comment: "why",
    }),
  );

test("a page whose process died after it had moved the branch is published once, also after later changes", async () => {
  await die(ids[0] ?? "", "Home");
  await die(ids[1] ?? "", "Notes");
  gitIn("update-ref", ref, ids[2] ?? "");
  now += 121_000;
  await openJob().run();
  await openJob().run();
  expect(published).toEqual(["edited Home (why) by mira", "edited Notes (why) by mira"]);
  expect(await listWikiEdits(db)).toEqual([]);
});

test("a page whose process died before it had moved the branch is forgotten, with objects and without", async () => {
  gitIn("update-ref", ref, ids[0] ?? "");
  await die(ids[1] ?? "", "Home");
  await die("1".repeat(40), "Notes");
  now += 121_000;
  await openJob().run();
  expect([published, await listWikiEdits(db)]).toEqual([[], []]);
});

test("a wiki that git cannot read keeps its entry for a week, stops none of the others and fails no job", async () => {
  const damaged = await db.transaction((tx) =>
    insertRepository(tx, newRepositoryRow(mira, "damaged")),
  );
  await die(ids[0] ?? "", "Lost", damaged);
  await die(ids[1] ?? "", "Home");
  gitIn("update-ref", ref, ids[2] ?? "");
  now += 121_000;
  await openJob().run();
  expect(published).toEqual(["edited Home (why) by mira"]);
  expect(await listWikiEdits(db)).toMatchObject([{ page: "Lost" }]);
  // The next look is in an hour, not at once.
  expect(enqueued).toEqual([now + 3_600_000]);
  await openJob().run();
  expect(await listWikiEdits(db)).toHaveLength(1);
  now += 7 * 86_400_000;
  enqueued = [];
  await openJob().run();
  expect([await listWikiEdits(db), published, enqueued]).toEqual([
    [],
    ["edited Home (why) by mira"],
    [],
  ]);
});

test("an entry that a process may still work on stays", async () => {
  gitIn("update-ref", ref, ids[0] ?? "");
  await die(ids[0] ?? "", "Home");
  await openJob().run();
  expect(published).toEqual([]);
  expect(await listWikiEdits(db)).toHaveLength(1);
});
