import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLimiter } from "../../../../daemon/http/limits.ts";
import { createJobQueue } from "../../../../daemon/jobs/queue.ts";
import { PermanentJobError } from "../../../../daemon/jobs/job-kind.ts";
import type { Log } from "../../../../daemon/utilities/logging.ts";
import { createUpkeepTasks } from "../../../../daemon/home/upkeep.ts";
import { toDataDirectory } from "../../../../storage/data-directory.ts";
import { openSqlite, type SqliteDatabase } from "../../../../storage/engine/sqlite.ts";
import { takeLease } from "../../../../storage/tables/common/leases.ts";
import { countJobs } from "../../../support/storage/count-jobs.ts";
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

const tasks = (calls: string[] = []) => {
  const list = createUpkeepTasks({
    db,
    directory: toDataDirectory(home),
    clock,
    limiter: createLimiter({ db, clock }),
    sessions: [{ deleteExpired: async () => calls.push("sessions") }],
    backUp: async () => calls.push("backup of the home"),
    backupSchedule: "45 3 * * *",
    objects: {
      sweep: async ({ before, isInUse }) => {
        calls.push(`objects before ${new Date(before).toISOString()}`);
        inUse = await isInUse(DOCUMENT_OBJECT);
        return { objects: 0, bytes: 0 };
      },
    },
    uploads: { deleteExpired: async () => calls.push("uploads") },
  });
  const run = async (name: string) => {
    const task = list.find((each) => each.name === name);
    if (task === undefined) throw new Error(`no task ${name}`);
    await task.run(new AbortController().signal);
  };
  return { run };
};

test("ended windows and leases, and jobs that have long been dead, are deleted, others stay", async () => {
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
  await takeLease(db, { name: "of a daemon that died", owner: "a", until: now + 60_000 }, now);
  now += 20 * DAY;
  await takeLease(db, { name: "held", owner: "a", until: now + 60_000 }, now);
  const { run } = tasks();
  await run("delete_ended_rate_windows");
  await run("delete_dead_jobs");
  expect(await db.all("SELECT key FROM rate_limits")).toHaveLength(1);
  expect(await db.all("SELECT name FROM leases")).toEqual([{ name: "held" }]);
  expect((await countJobs(db)).dead).toBe(1);
});

test("expired sessions, expired uploads and objects that have been unused for a day are deleted", async () => {
  const calls: string[] = [];
  const { run } = tasks(calls);
  await run("delete_expired_sessions");
  await run("cleanup_packages");
  await run("backup_home");
  expect(calls).toEqual([
    "sessions",
    "uploads",
    `objects before ${new Date(now - DAY).toISOString()}`,
    "backup of the home",
  ]);
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
