import {
  copyFileSync,
  fstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../../../storage/engine/sqlite.ts";
import type { SqliteDatabase } from "../../../../storage/engine/sqlite.ts";

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "croft-durable-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A sync of the log that waits until the test ends it, with the number of rows that were committed when it began. */
interface Sync {
  readonly committed: number;
  end(code?: string): void;
}

/** A database whose syncs are in the hands of the test. */
async function openHeld(path = join(makeDirectory(), "croft.db")) {
  const syncs: Sync[] = [];
  const other = { count: () => 0 };
  let isHeld = false;
  let arrived = (): void => {};
  const db = openSqlite({
    path,
    clock: () => 0,
    syncLog(descriptor) {
      expect(fstatSync(descriptor).ino).toBe(statSync(`${path}-wal`).ino);
      if (!isHeld) return Promise.resolve();
      return new Promise((resolve, reject) => {
        syncs.push({
          committed: other.count(),
          end: (code) =>
            code === undefined ? resolve() : reject(Object.assign(new Error(code), { code })),
        });
        arrived();
      });
    },
  });
  await db.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT) STRICT");
  const reader = path === ":memory:" ? undefined : new Sqlite(path, { readonly: true });
  if (reader !== undefined) {
    onTestFinished(() => void reader.close());
    other.count = () => reader.prepare("SELECT count(*) FROM notes").pluck().get() as number;
  }
  isHeld = true;
  return {
    db,
    path,
    syncs,
    /** Ends the other connection: the database's own ones are the last. */
    leave: () => reader?.close(),
    /** Resolves when the sync of that number has begun. */
    async begun(number: number): Promise<Sync> {
      while (syncs.length < number)
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      return syncs[number - 1] as Sync;
    },
    /** Lets this and all later syncs succeed. */
    release(): void {
      isHeld = false;
      for (const sync of syncs) sync.end();
    },
  };
}

const add = (db: Pick<SqliteDatabase, "run">, text: string) =>
  db.run("INSERT INTO notes (text) VALUES (?)", text);
const texts = async (db: Pick<SqliteDatabase, "all">) =>
  (await db.all<{ text: string }>("SELECT text FROM notes ORDER BY id")).map(({ text }) => text);

/** Records the names of the promises in the order in which they settle. */
function recorder() {
  const settled: string[] = [];
  return {
    settled,
    record: (name: string, promise: Promise<unknown>) =>
      promise.then(
        () => void settled.push(name),
        (error: { code: string }) => void settled.push(`${name} ${error.code}`),
      ),
  };
}

test("a write resolves when a sync that began after its commit has ended; writes that arrive meanwhile share the next sync", async () => {
  const { db, begun, syncs, release } = await openHeld();
  const { settled, record } = recorder();
  const first = record("first", add(db, "first"));
  expect(await begun(1)).toMatchObject({ committed: 1 });
  // A reader sees the commit before it is durable.
  expect(await texts(db)).toEqual(["first"]);
  const later = [
    record("statement", add(db, "statement")),
    record(
      "transaction",
      db.transaction((tx) => add(tx, "transaction")),
    ),
    record("row", db.get("INSERT INTO notes (text) VALUES ('row') RETURNING id")),
  ];
  await new Promise(setImmediate);
  expect(settled).toEqual([]);
  expect(syncs).toHaveLength(1);
  syncs[0]?.end();
  await first;
  expect(settled).toEqual(["first"]);
  expect(await begun(2)).toMatchObject({ committed: 4 });
  expect(settled).toEqual(["first"]);
  syncs[1]?.end();
  await Promise.all(later);
  expect(settled).toEqual(["first", "statement", "transaction", "row"]);
  expect(await texts(db)).toEqual(["first", "statement", "transaction", "row"]);
  // What changes nothing needs no sync.
  await expect(db.transaction(() => Promise.reject(new Error("rolled back")))).rejects.toThrow(
    "rolled back",
  );
  expect(syncs).toHaveLength(2);
  release();
  await db.close();
});

test("a close waits for the sync of the last commit", async () => {
  const { db, begun } = await openHeld();
  const { settled, record } = recorder();
  const written = record("write", add(db, "kept"));
  const sync = await begun(1);
  const closed = record("close", db.close());
  await new Promise(setImmediate);
  expect(settled).toEqual([]);
  sync.end();
  await Promise.all([written, closed]);
  expect(settled).toEqual(["write", "close"]);
});

test.each([
  ["EIO", "failed", "check the disk, then restart the daemon"],
  ["ENOSPC", "full", "free some disk space, then restart the daemon"],
  ["EDQUOT", "full", "free some disk space, then restart the daemon"],
])(
  "after a sync that failed with %s the writes that it covers and all later ones fail as %s until the database is opened again",
  async (errno, code, remedy) => {
    const { db, path, begun, syncs, leave } = await openHeld();
    const { settled, record } = recorder();
    const covered = [
      record("a", add(db, "a")),
      record(
        "b",
        db.transaction((tx) => add(tx, "b")),
      ),
    ];
    const sync = await begun(1);
    const waiting = record("c", add(db, "c"));
    sync.end(errno);
    await Promise.all([...covered, waiting]);
    expect(settled).toEqual([`a ${code}`, `b ${code}`, `c ${code}`]);
    const refused = { code, message: expect.stringContaining(remedy) as string };
    await expect(add(db, "d")).rejects.toMatchObject(refused);
    await expect(db.transaction((tx) => add(tx, "e"))).rejects.toMatchObject(refused);
    expect(db.assertWritable).toThrow(remedy);
    expect(syncs).toHaveLength(1);
    expect(await texts(db)).toEqual(["a", "b"]);
    // SQLite must not copy from the log what the disk may not have.
    const [log, file] = [`${path}-wal`, path].map((name) => readFileSync(name));
    leave();
    await db.close();
    expect(readFileSync(`${path}-wal`).equals(log as Buffer)).toBe(true);
    expect(readFileSync(path).equals(file as Buffer)).toBe(true);
    const again = openSqlite({ path, clock: () => 0 });
    await add(again, "after");
    expect(await texts(again)).toEqual(["a", "b", "after"]);
    await again.close();
  },
);

test("an opening makes the commits durable that a killed process had not synced", async () => {
  const { db, path, begun, release } = await openHeld();
  const written = add(db, "visible");
  await begun(1);
  const crashed = join(makeDirectory(), "croft.db");
  for (const end of ["", "-wal"]) copyFileSync(path + end, crashed + end);
  release();
  await written;
  await db.close();
  const opened = openSqlite({ path: crashed, clock: () => 0 });
  // The database file alone: without the log, which no sync has covered.
  const alone = join(makeDirectory(), "croft.db");
  copyFileSync(crashed, alone);
  await opened.close();
  const copy = openSqlite({ path: alone, clock: () => 0 });
  expect(await texts(copy)).toEqual(["visible"]);
  await copy.close();
});

test("the log stays the one that is synced when another process truncates it or closes its connection", async () => {
  const { db, path, release } = await openHeld();
  release();
  await add(db, "before");
  const log = statSync(`${path}-wal`).ino;
  const other = new Sqlite(path);
  expect(other.pragma("wal_checkpoint(TRUNCATE)")).toMatchObject([{ busy: 0 }]);
  expect(statSync(`${path}-wal`).size).toBe(0);
  await add(db, "truncated");
  other.close();
  await add(db, "closed");
  expect(statSync(`${path}-wal`).ino).toBe(log);
  expect(await texts(db)).toEqual(["before", "truncated", "closed"]);
  await db.close();
});

test("a log that was removed or replaced takes no more writes, and a stop keeps what it holds", async () => {
  const { db, path, release } = await openHeld();
  release();
  await add(db, "before");
  renameSync(`${path}-wal`, `${path}-moved`);
  await expect(add(db, "lost")).rejects.toMatchObject({
    code: "detached",
    message: expect.stringContaining("restart the daemon") as string,
  });
  copyFileSync(`${path}-moved`, `${path}-wal`);
  expect(db.assertWritable).toThrow("was removed or replaced");
  rmSync(`${path}-wal`);
  await db.close();
  const again = openSqlite({ path, clock: () => 0 });
  expect(await texts(again)).toEqual(["before"]);
  await again.close();
});

test("a database in memory syncs nothing", async () => {
  const { db, syncs } = await openHeld(":memory:");
  await add(db, "a");
  await db.transaction((tx) => add(tx, "b"));
  expect(await texts(db)).toEqual(["a", "b"]);
  expect(syncs).toHaveLength(0);
  await db.close();
});
