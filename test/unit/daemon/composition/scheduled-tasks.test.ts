import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLimiter } from "../../../../daemon/http/limits.ts";
import { createJobQueue } from "../../../../daemon/jobs/queue.ts";
import { PermanentJobError } from "../../../../daemon/jobs/job-kind.ts";
import type { Log } from "../../../../daemon/utilities/logging.ts";
import { isEnabled } from "../../../../daemon/forge/cron/cron.ts";
import { scheduledTasks } from "../../../../daemon/composition/scheduled-tasks.ts";
import { toDataDirectory } from "../../../../storage/data-directory.ts";
import { openSqlite, type SqliteDatabase } from "../../../../storage/engine/sqlite.ts";
import { createGit } from "../../../../storage/git/git.ts";
import { countJobs } from "../../../../storage/tables/common/jobs.ts";
import { insertDocument } from "../../../../storage/tables/vault/documents/documents.ts";
import { insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";
import { toAccountId, toDocumentId } from "../../../../storage/tables/vault/ids.ts";

const DAY = 86_400_000;
let now: number;
let db: SqliteDatabase;
let home: string;

beforeEach(async () => {
  now = Date.parse("2026-03-01T12:00:00Z");
  db = await openTestDatabase({ clock: () => now, engine: "sqlite" });
  home = await mkdtemp(join(tmpdir(), "croft-tasks-"));
  for (const folder of ["backups", "tmp"]) await mkdir(join(home, folder));
});
afterEach(async () => {
  await db.close();
  await rm(home, { recursive: true });
});

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

const clock = () => now;
const DOCUMENT_OBJECT = "d".repeat(64);
let inUse: boolean | undefined;

const tasks = (told: string[] = [], activityDays = 0) => {
  const list = scheduledTasks({
    db,
    directory: toDataDirectory(home),
    clock,
    limiter: createLimiter({ db, clock }),
    sessions: [{ deleteExpired: async () => told.push("sessions") }],
    hookLog: {
      prune: async (before) => told.push(`deliveries before ${new Date(before).toISOString()}`),
    },
    workflows: {
      failSilentTasks: async () => told.push("silent tasks"),
      stopOverdueTasks: async () => void told.push("overdue tasks"),
      cancelAbandonedJobs: async () => void told.push("abandoned jobs"),
      startDueSchedules: async () => void told.push("due schedules"),
      cleanUp: async () => void told.push("expired runs"),
    },
    activities: {
      deleteBefore: async (before) =>
        void told.push(`activities before ${new Date(before).toISOString()}`),
    },
    activityDays,
    cache: { reconcile: async () => void told.push("cache") },
    backUp: async () => told.push("backup of the home"),
    auditExports: { writeMissing: async () => told.push("exports") },
    objects: {
      sweep: async ({ before, isInUse }) => {
        told.push(`objects before ${new Date(before).toISOString()}`);
        inUse = await isInUse(DOCUMENT_OBJECT);
        return { objects: 0, bytes: 0 };
      },
    },
    documents: {
      documents: {
        reconcile: async () => {
          told.push("documents");
          return { correctedUsers: [], withoutBytes: [], withoutFile: [], discarded: 0 };
        },
      },
      uploads: { deleteExpired: async () => told.push("uploads") },
    },
    log,
    git: createGit({ searchPath: "" }),
    locate: async () => home,
  });
  const run = async (name: string) => {
    const task = list.find((each) => each.name === name);
    if (task === undefined || !isEnabled(task)) throw new Error(`no task ${name}`);
    await task.run(new AbortController().signal);
  };
  return { list, run };
};

test("every task has a name of its own", () => {
  const names = tasks().list.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test("ended windows and jobs that have long been dead are deleted, others stay", async () => {
  const limiter = createLimiter({ db, clock });
  const queue = createJobQueue({ db, clock, random: () => 0, log, owner: "a", alone: true });
  queue.register({ kind: "bad", run: () => Promise.reject(new PermanentJobError("no")) });
  const fail = async () => {
    await db.transaction((tx) => queue.enqueue(tx, { kind: "bad", payload: null }));
    await queue.runDue();
  };
  await limiter.consume("short", { max: 1, seconds: 60 });
  await limiter.consume("long", { max: 1, seconds: 86_400 * 365 });
  await fail();
  now += 20 * DAY;
  await fail();
  now += 20 * DAY;
  const { run } = tasks();
  await run("delete_ended_rate_windows");
  await run("delete_dead_jobs");
  expect(await db.all("SELECT key FROM rate_limits")).toHaveLength(1);
  expect((await countJobs(db)).dead).toBe(1);
});

test("sessions, deliveries of a week, documents, unused objects and the byte cache are tidied", async () => {
  const told: string[] = [];
  const { run } = tasks(told);
  await run("delete_expired_sessions");
  await run("cleanup_hook_task_table");
  await run("cleanup_packages");
  await run("reconcile_documents");
  await run("reconcile_byte_cache");
  expect(told).toEqual([
    "sessions",
    "deliveries before 2026-02-22T12:00:00.000Z",
    "uploads",
    `objects before ${new Date(now - DAY).toISOString()}`,
    "documents",
    "cache",
  ]);
});

test("activities are deleted only after a time that the settings name, as Gitea's task is disabled by default", async () => {
  const told: string[] = [];
  await expect(tasks(told).run("delete_old_actions")).rejects.toThrow("no task");
  await tasks(told, 365).run("delete_old_actions");
  expect(told).toEqual([`activities before ${new Date(now - 365 * DAY).toISOString()}`]);
});

test("the sweep of objects leaves the object of a document alone", async () => {
  const { run } = tasks();
  await run("cleanup_packages");
  expect(inUse).toBe(false);
  await db.transaction(async (tx) => {
    await insertVaultUser(tx, {
      id: toAccountId("u1"),
      handle: "mira",
      email: "mira@example.org",
      passwordHash: "",
      role: "user",
      passwordMustChange: false,
    });
    await insertDocument(tx, {
      id: toDocumentId("d1"),
      userId: toAccountId("u1"),
      filename: "a.txt",
      contentType: "text/plain",
      sizeBytes: 1,
      sha256: DOCUMENT_OBJECT,
      storageBackend: "internal",
      connectionId: undefined,
      providerItemId: undefined,
    });
  });
  await run("cleanup_packages");
  expect(inUse).toBe(true);
});

test("backups are whole databases, the seven newest are kept, other files are left alone", async () => {
  await writeFile(join(home, "backups", "mine.db"), "mine");
  const { run } = tasks();
  await run("optimize_database");
  for (let day = 0; day < 9; day += 1) {
    await run("backup_database");
    now += DAY;
  }
  const names = (await readdir(join(home, "backups"))).toSorted();
  expect(names).toEqual([
    ...[3, 4, 5, 6, 7, 8, 9].map((day) => `croft-2026030${day}-120000.db`),
    "mine.db",
  ]);
  expect(await readdir(join(home, "tmp"))).toEqual([]);
  const copy = openSqlite({ path: join(home, "backups", names[0] ?? ""), clock });
  expect(await copy.integrityCheck()).toEqual([]);
  await copy.close();
});

test("a failed backup removes nothing", async () => {
  const { run } = tasks();
  await run("backup_database");
  now += DAY;
  await rm(join(home, "tmp"), { recursive: true });
  await expect(run("backup_database")).rejects.toThrow();
  expect(await readdir(join(home, "backups"))).toHaveLength(1);
});
