import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPushReader } from "../../../../../daemon/forge/git/commit-readers.ts";
import { createPushJournal } from "../../../../../daemon/forge/git/push-journal.ts";
import { createEvents } from "../../../../../daemon/forge/events.ts";
import { createPushRecorder } from "../../../../../daemon/forge/git/record-push.ts";
import { createRepositoryTasks } from "../../../../../daemon/forge/repositories/maintenance.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit, type Git, GitError } from "../../../../../storage/git/git.ts";
import { type ForgeUser, insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { listPushes } from "../../../../../storage/tables/forge/repositories/pushes.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { interruptOnce, openTestDatabase } from "../../../../support/storage/database.ts";

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
const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const ref = "refs/heads/main";

let db: Database;
let directory: string;
let mira: ForgeUser;
let repository: ForgeRepository;
/** Three commits, each the parent of the next. */
let ids: string[];
let now: number;
let published: string[];
let dueTimes: (number | undefined)[];

const gitIn = (...args: readonly string[]) =>
  execFileSync("git", args, { cwd: directory, encoding: "utf8" }).trim();

beforeEach(async () => {
  db = await openTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "croft-journal-"));
  gitIn("init", "--quiet", "--bare", "--initial-branch=main");
  const tree = gitIn("hash-object", "-t", "tree", "-w", "/dev/null");
  const identity = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"];
  ids = [];
  for (const name of ["one", "two", "three"])
    ids.push(
      gitIn(
        ...identity,
        "commit-tree",
        tree,
        ...ids.slice(-1).flatMap((id) => ["-p", id]),
        "-m",
        name,
      ),
    );
  mira = await db.transaction((tx) => insertUser(tx, newUserRow("mira")));
  repository = await db.transaction((tx) => insertRepository(tx, newRepositoryRow(mira, "cabin")));
  now = Date.now();
  published = [];
  dueTimes = [];
});
afterEach(async () => {
  await db.close();
  await rm(directory, { recursive: true });
});

/** The journal of one daemon on the database. */
function openJournal() {
  const locate = async () => directory;
  const { emit, subscribe } = createEvents();
  subscribe({
    async push(_tx, { changes }) {
      published.push(...changes.map(({ after }) => after ?? ""));
    },
  });
  const { recordPush } = createPushRecorder({ db, git, locate, emit });
  const journal = createPushJournal({
    db,
    clock: () => now,
    git,
    locate,
    recordPush,
    enqueue: async (_tx, { runAt }) => dueTimes.push(runAt),
    log,
  });
  /** Moves the branch as a push does; a push that is not recorded fails with the database. */
  const push = async (from: number, to: number, isRecorded: boolean) => {
    const changes = [{ ref, before: ids[from], after: ids[to] }];
    const note = await journal.begin(repository, mira.id, changes);
    gitIn("update-ref", ref, ids[to] ?? "");
    if (isRecorded) await recordPush({ noteId: note.id, repository, pusher: mira, changes });
    note.end();
  };
  const recover = () => journal.job.run();
  return { push, recover, begin: journal.begin };
}

test("a push that could not be recorded is recorded before the next one to its ref", async () => {
  const { push } = openJournal();
  await push(-1, 0, false);
  await push(0, 1, true);
  expect(published).toEqual([ids[0], ids[1]]);
});

test("a push of a process that died is recorded although later pushes to its ref were recorded first", async () => {
  const died = openJournal();
  const other = openJournal();
  await died.push(-1, 0, false);
  await died.push(0, 1, false).catch(quiet);
  published.length = 0;
  await other.push(1, 2, true);
  now += 100_000;
  await openJournal().recover();
  expect(published).toEqual([ids[2], ids[1]]);
});

test("of two pushes by two daemons at once the record has the branches of both, and HEAD", async () => {
  const locate = async () => directory;
  const recorderOn = (database: Database) =>
    createPushRecorder({ db: database, git, locate, emit: createEvents().emit }).recordPush;
  const journal = openJournal().begin;
  const push = async (name: string, record: ReturnType<typeof recorderOn>) => {
    const changes = [{ ref: `refs/heads/${name}`, before: undefined, after: ids[0] }];
    const note = await journal(repository, mira.id, changes);
    gitIn("update-ref", `refs/heads/${name}`, ids[0] ?? "");
    await record({ noteId: note.id, repository, pusher: mira, changes });
    note.end();
  };
  // The other daemon moves and records a branch after this one has read the refs.
  const other = () => push("alpha", recorderOn(db));
  await push("beta", recorderOn(interruptOnce(db, other)));
  expect(await findRepositoryById(db, repository.id)).toMatchObject({
    branchCount: 2,
    isEmpty: false,
    defaultBranch: "beta",
  });
  expect(gitIn("symbolic-ref", "HEAD")).toBe("refs/heads/beta");
  expect(await listPushes(db)).toEqual([]);
});

test("a push that was read before its refs moved is recorded with them, and with those of a push in between", async () => {
  const locate = async () => directory;
  const failing: Git = { ...git, run: () => Promise.reject(new GitError("busy", "no process")) };
  const on = (runs: Git) =>
    createPushRecorder({ db, git: runs, locate, emit: createEvents().emit });
  const recorder = on(git);
  const push = async (names: readonly string[], to: string | undefined, observer = recorder) => {
    const changes = names.map((name) => ({
      ref: `refs/heads/${name}`,
      before: to === undefined ? ids[0] : undefined,
      after: to,
    }));
    const note = await openJournal().begin(repository, mira.id, changes);
    const observed = observer.observeRefs(repository);
    await observed;
    for (const name of names)
      gitIn("update-ref", ...(to === undefined ? ["-d"] : []), `refs/heads/${name}`, to ?? "");
    return async () => {
      await recorder.recordPush({ noteId: note.id, repository, pusher: mira, changes, observed });
      note.end();
    };
  };
  const count = async () => (await findRepositoryById(db, repository.id))?.branchCount;
  await (
    await push(["topic", "beta"], ids[0])
  )();
  expect(await findRepositoryById(db, repository.id)).toMatchObject({
    branchCount: 2,
    isEmpty: false,
    defaultBranch: "beta",
  });
  await (
    await push(["topic"], undefined)
  )();
  expect(await count()).toBe(1);
  const slow = await push(["gamma"], ids[1]);
  const quick = await push(["delta", "main"], ids[1]);
  await quick();
  await slow();
  expect(await count()).toBe(4);
  // What could not be read then is read at the end.
  await (
    await push(["epsilon"], ids[1], on(failing))
  )();
  expect(await count()).toBe(5);
  expect(await listPushes(db)).toEqual([]);
});

test("the nightly count of branches does not undo that of a push meanwhile", async () => {
  const locate = async () => directory;
  const { recordPush } = createPushRecorder({ db, git, locate, emit: createEvents().emit });
  const push = async () => {
    const changes = [{ ref, before: undefined, after: ids[0] }];
    const note = await openJournal().begin(repository, mira.id, changes);
    gitIn("update-ref", ref, ids[0] ?? "");
    await recordPush({ noteId: note.id, repository, pusher: mira, changes });
    note.end();
  };
  const tasks = createRepositoryTasks({ db: interruptOnce(db, push), git, locate });
  const count = tasks.find(({ name }) => name === "check_repo_stats");
  await count?.run(new AbortController().signal);
  expect(await findRepositoryById(db, repository.id)).toMatchObject({ branchCount: 1 });
});

test("the next check of a push is at a whole millisecond", async () => {
  const { push } = openJournal();
  await push(0, 0, false);
  for (let round = 0; round < 8; round += 1) {
    now += 60_001 + round;
    await openJournal().recover();
  }
  expect(dueTimes.length).toBeGreaterThan(5);
  expect(dueTimes.filter((time) => !Number.isInteger(time))).toEqual([]);
});

test("a failure of git is not a push without commits", async () => {
  const change = { ref, before: ids[0], after: ids[1] };
  const failing = (failure: GitError): Git => ({
    ...git,
    run: async () => Promise.reject(failure),
    launch: () => {
      throw failure;
    },
  });
  const read = (used: Git, at = change) =>
    createPushReader({ git: used, locate: async () => directory })(repository, at, 5);
  for (const failure of [
    new GitError("busy", "git rev-parse failed to start: EMFILE"),
    new GitError("too_long", "git rev-parse: too much time"),
    new GitError("failed", "git rev-parse ended with a signal: "),
    new GitError("failed", "git rev-parse ended with 128: fatal: not a git repository: '.'"),
    new GitError("failed", "git rev-parse ended with 1: error: x: Too many open files"),
    new GitError(
      "failed",
      "git log ended with 128: error: Too many open files\nfatal: bad object 1",
    ),
  ])
    await expect(read(failing(failure))).rejects.toBe(failure);
  expect((await read(git))?.total).toBe(1);
  // Commits that are gone, as after a forced push and `git gc`.
  const missing = "1".repeat(40);
  expect(await read(git, { ...change, after: missing })).toMatchObject({ head: undefined });
  expect(await read(git, { ...change, before: missing })).toBeUndefined();
});
