import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, onTestFinished, test, vi } from "vitest";
import { createJobQueue, type JobQueueOptions } from "../../../../daemon/jobs/queue.ts";
import { createSchedules, everyMs } from "../../../../daemon/jobs/schedule.ts";
import type { Log } from "../../../../daemon/utilities/logging.ts";
import { type Database, StorageError } from "../../../../storage/engine/database.ts";
import { migrate, readMigrations } from "../../../../storage/engine/migrate.ts";
import { openPostgres } from "../../../../storage/engine/postgres.ts";
import { openSqlite } from "../../../../storage/engine/sqlite.ts";
import { listJobs } from "../../../../storage/tables/common/jobs.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";
import { createPostgresPool } from "../../../support/storage/postgres.ts";

let now = 1_000_000;
const clock = () => now;

function makeQueue(db: Database, changes: Partial<JobQueueOptions> = {}) {
  const logged: string[] = [];
  const note = (_facts: unknown, message?: string) => void logged.push(message ?? "");
  const log: Log = {
    debug: note,
    info: note,
    warn: note,
    error: note,
    fatal: note,
    child: () => log,
    isLevelEnabled: () => true,
  };
  const owned = { db, clock, steadyClock: clock, random: () => 0, log, owner: "a", alone: true };
  const queue = createJobQueue({ ...owned, pollMs: 2, ...changes });
  onTestFinished(() => queue.stop(1));
  return { queue, logged };
}

const enqueue = ({ queue }: ReturnType<typeof makeQueue>, db: Database, runAt?: number) =>
  db.transaction((tx) =>
    queue.enqueue(tx, { kind: "test", payload: null, ...(runAt === undefined ? {} : { runAt }) }),
  );

/** A database on a file whose write lock another program holds between `leave` and `comeBack`. */
async function openLockable() {
  const folder = await mkdtemp(join(tmpdir(), "croft-jobs-"));
  const db = openSqlite({ path: join(folder, "croft.db"), clock, busyTimeoutMs: 1 });
  await migrate(db, readMigrations());
  const other = new Sqlite(db.path);
  onTestFinished(async () => {
    other.close();
    await db.close();
    await rm(folder, { recursive: true });
  });
  return {
    db,
    leave: () => void other.exec("BEGIN IMMEDIATE"),
    comeBack: () => void other.exec("COMMIT"),
  };
}

/** A database on PostgreSQL whose server refuses connections between `leave` and `comeBack`. */
async function openLosable() {
  const pool = await createPostgresPool();
  let isAway = false;
  const refused = () => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const url = { ...pool, connect: () => (isAway ? Promise.reject(refused()) : pool.connect()) };
  const db = await openPostgres({ url, clock });
  await migrate(db, readMigrations());
  onTestFinished(() => db.close());
  return { db, leave: () => void (isAway = true), comeBack: () => void (isAway = false) };
}

test.each([
  ["SQLite's write lock is held by another program", openLockable],
  ["the PostgreSQL server is away", openLosable],
])("jobs run again after %s at a due time", async (_name, open) => {
  const { db, leave, comeBack } = await open();
  const made = makeQueue(db);
  const { queue, logged } = made;
  const ran: string[] = [];
  queue.register({ kind: "test", run: async () => void ran.push("job") });
  const tick = { name: "tick", next: everyMs(1_000), run: async () => void ran.push("tick") };
  await queue.start();
  await createSchedules({ queue, db, clock }, [tick]).start();
  await enqueue(made, db, now + 1_000);
  leave();
  now += 1_000;
  await vi.waitFor(() => expect(logged).toContain("failed to claim jobs, will retry"), {
    timeout: 60_000,
  });
  now += 60_000;
  expect(queue.stalledMs()).toBeGreaterThanOrEqual(60_000);
  expect(ran).toEqual([]);
  comeBack();
  await vi.waitFor(() => expect(ran.toSorted()).toEqual(["job", "tick"]), { timeout: 60_000 });
  expect(queue.stalledMs()).toBe(0);
  expect(logged.filter((line) => line.startsWith("failed to claim"))).toHaveLength(1);
  expect(logged).toContain("claims jobs again");
  now += 1_000;
  await vi.waitFor(() => expect(ran.filter((name) => name === "tick")).toHaveLength(2), {
    timeout: 60_000,
  });
});

test("a claim that loses against the writes of other daemons is tried again, without an error", async () => {
  const real = await openTestDatabase({ clock });
  onTestFinished(() => real.close());
  const lost = new StorageError("busy", "could not serialize access (SQLSTATE 40001)", {
    cause: Object.assign(new Error("could not serialize access"), { code: "40001" }),
  });
  let losses = 0;
  const db: Database = {
    ...real,
    all: (sql, ...values) =>
      losses > 0 && losses-- > 0 ? Promise.reject(lost) : real.all(sql, ...values),
  };
  const made = makeQueue(db);
  const ran: string[] = [];
  made.queue.register({ kind: "test", run: async () => void ran.push("job") });
  await made.queue.start();
  losses = 2;
  await enqueue(made, real);
  await vi.waitFor(() => expect(ran).toEqual(["job"]), { timeout: 60_000 });
  expect(losses).toBe(0);
  expect(new Set(made.logged)).toEqual(
    new Set(["lost the claim of jobs to other daemons, will retry"]),
  );
});

test("a daemon is not stalled when its clock is set forward", async () => {
  const db = await openTestDatabase({ clock });
  onTestFinished(() => db.close());
  const { queue } = makeQueue(db, { steadyClock: () => 5_000, pollMs: 60_000 });
  await queue.start();
  now += 3_600_000;
  expect(queue.stalledMs()).toBe(0);
});

test("a job whose end could not be recorded is retried when its lease has expired", async () => {
  const real = await openTestDatabase({ clock });
  onTestFinished(() => real.close());
  let refusals = 1;
  const db: Database = {
    ...real,
    run: (sql, ...values) =>
      sql.startsWith("DELETE FROM jobs") && refusals-- > 0
        ? Promise.reject(new StorageError("busy", "held"))
        : real.run(sql, ...values),
  };
  const made = makeQueue(db);
  let runs = 0;
  made.queue.register({ kind: "test", run: async () => void (runs += 1) });
  await made.queue.start();
  await enqueue(made, db);
  await vi.waitFor(() => expect(made.logged).toContain("failed to record the end of a job"), {
    timeout: 60_000,
  });
  for (let lease = 0; lease < 5; lease++) {
    now += 15_000;
    await vi.waitFor(() => expect(made.queue.stalledMs()).toBe(0), { timeout: 60_000 });
  }
  await vi.waitFor(() => expect(runs).toBe(2), { timeout: 60_000 });
  await vi.waitFor(
    async () => expect(await listJobs(db, {}, { limit: 9, offset: 0 })).toEqual([]),
    { timeout: 60_000 },
  );
});

test("a process that stood still aborts its jobs that another process has reclaimed", async () => {
  const db = await openTestDatabase({ clock });
  onTestFinished(() => db.close());
  const made = makeQueue(db, { alone: false });
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  made.queue.register({
    kind: "test",
    async run(_payload, { signal }) {
      signal.addEventListener("abort", () => aborted.resolve());
      begun.resolve();
      await aborted.promise;
    },
  });
  await made.queue.start();
  await enqueue(made, db);
  await begun.promise;
  await db.run("UPDATE jobs SET lease_owner = 'b'");
  now += 15_000;
  await aborted.promise;
  const [job] = await listJobs(db, {}, { limit: 1, offset: 0 });
  expect(job).toMatchObject({ state: "running", attempts: 1 });
});

test("a job that ignores the end of its time gives its slot to the next one and is retried", async () => {
  const db = await openTestDatabase({ clock });
  onTestFinished(() => db.close());
  const made = makeQueue(db, { abandonMs: 1 });
  const never = Promise.withResolvers<never>();
  const payloads: unknown[] = [];
  made.queue.register({
    kind: "test",
    timeoutMs: 1,
    run(payload) {
      payloads.push(payload);
      return payload === "hangs" ? never.promise : Promise.resolve();
    },
  });
  await made.queue.start();
  for (const payload of ["hangs", "next"])
    await db.transaction((tx) => made.queue.enqueue(tx, { kind: "test", payload }));
  await vi.waitFor(() => expect(payloads).toEqual(["hangs", "next"]), { timeout: 60_000 });
  const rows = () => listJobs(db, {}, { limit: 9, offset: 0 });
  await vi.waitFor(async () => expect(await rows()).toHaveLength(1), { timeout: 60_000 });
  expect((await rows())[0]).toMatchObject({
    state: "waiting",
    payload: "hangs",
    lastError: "did not end when its time was over",
  });
});
