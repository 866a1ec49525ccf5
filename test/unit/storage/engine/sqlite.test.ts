import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../../../storage/engine/sqlite.ts";
import type { SqliteDatabase, SqliteOptions } from "../../../../storage/engine/sqlite.ts";

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "croft-sqlite-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function openFile(
  directory = makeDirectory(),
  options: Partial<SqliteOptions> = {},
): Promise<SqliteDatabase> {
  const db = openSqlite({ path: join(directory, "croft.db"), clock: () => 0, ...options });
  onTestFinished(() => db.close());
  await db.run(
    "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE) STRICT",
  );
  return db;
}

const add = (db: Pick<SqliteDatabase, "run">, text: string) =>
  db.run("INSERT INTO notes (text) VALUES (?)", text);
const count = async (db: Pick<SqliteDatabase, "get">) =>
  (await db.get<{ n: number }>("SELECT count(*) AS n FROM notes"))?.n;

/** Resolves with a timer, so that the event loop has turned. */
const nextTimer = () => new Promise((resolve) => void setTimeout(resolve, 25));

/** How many commits the write-ahead log holds: a frame that ends a transaction carries the size of the database. */
function countCommits(path: string): number {
  const log = readFileSync(`${path}-wal`);
  const pageSize = log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at < log.length; at += 24 + pageSize)
    if (log.readUInt32BE(at + 4) > 0) commits++;
  return commits;
}

describe("a group of writes", () => {
  test("shares one commit, statements and transactions alike", async () => {
    const db = await openFile();
    const before = countCommits(db.path);
    await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        index % 2 === 0 ? add(db, `${index}`) : db.transaction((tx) => add(tx, `${index}`)),
      ),
    );
    expect(countCommits(db.path) - before).toBe(1);
    expect(await count(db)).toBe(64);
  });

  test("a group of writes has committed when the first of its promises resolves", async () => {
    const db = await openFile();
    const other = new Sqlite(db.path, { readonly: true });
    onTestFinished(() => void other.close());
    const seen = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        add(db, `${index}`).then(() => other.prepare("SELECT count(*) FROM notes").pluck().get()),
      ),
    );
    expect(seen).toEqual(Array.from({ length: 20 }, () => 20));
  });

  test("a group of writes is split when a thousand wait, and no write is lost", async () => {
    const db = await openFile();
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => add(db, `${index}`)));
    expect(await count(db)).toBe(1_000);
    expect(countCommits(db.path)).toBeLessThan(10);
  });

  test("loses only the member whose deferred foreign key refuses the commit", async () => {
    const db = await openFile();
    await db.run(
      "CREATE TABLE links (note_id INTEGER REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED) STRICT",
    );
    const link = (id: number) => db.run("INSERT INTO links (note_id) VALUES (?)", id);
    const results = await Promise.allSettled([
      add(db, "a"),
      link(77),
      db.transaction(async (tx) => {
        await tx.run("INSERT INTO links (note_id) VALUES (?)", 1);
        return "linked";
      }),
      add(db, "b"),
    ]);
    expect(results.map((result) => result.status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    expect(results[1]).toMatchObject({ reason: { code: "conflict" } });
    expect(await db.all("SELECT note_id FROM links")).toEqual([{ note_id: 1 }]);
    expect(await count(db)).toBe(2);
  });

  test("fails as busy while another process holds the file, and works again after", async () => {
    const db = await openFile(undefined, { busyTimeoutMs: 1 });
    const other = new Sqlite(db.path);
    onTestFinished(() => void other.close());
    other.exec("BEGIN IMMEDIATE");
    const single = add(db, "alone");
    await expect(single).rejects.toMatchObject({ code: "busy" });
    const group = await Promise.allSettled([add(db, "a"), db.transaction((tx) => add(tx, "b"))]);
    for (const result of group) expect(result).toMatchObject({ reason: { code: "busy" } });
    expect(await count(db)).toBe(0);
    other.exec("ROLLBACK");
    await add(db, "c");
    expect(await count(db)).toBe(1);
  });

  test("writes wait in their order for another process's lock, each is done once, and reads and timers go on", async () => {
    const db = await openFile(undefined, { busyTimeoutMs: 60_000 });
    const other = new Sqlite(db.path);
    onTestFinished(() => void other.close());
    await add(db, "before");
    other.exec("BEGIN IMMEDIATE; INSERT INTO notes (text) VALUES ('theirs')");
    let begun = 0;
    const written = Promise.all([
      add(db, "first"),
      db.transaction(async (tx) => {
        begun += 1;
        return add(tx, "second");
      }),
      db.get("INSERT INTO notes (text) VALUES ('third') RETURNING id"),
    ]);
    for (let turn = 0; turn < 5; turn++) {
      await nextTimer();
      expect(await count(db)).toBe(1);
    }
    const alone = add(db, "fourth");
    await nextTimer();
    expect(begun).toBe(0);
    other.exec("COMMIT");
    await Promise.all([written, alone]);
    expect(begun).toBe(1);
    expect(await db.all("SELECT text FROM notes ORDER BY id")).toEqual(
      ["before", "theirs", "first", "second", "third", "fourth"].map((text) => ({ text })),
    );
  });

  test("a statement alone waits for another process's lock too", async () => {
    const db = await openFile(undefined, { busyTimeoutMs: 60_000 });
    const other = new Sqlite(db.path);
    onTestFinished(() => void other.close());
    other.exec("BEGIN IMMEDIATE");
    const written = add(db, "once");
    await nextTimer();
    other.exec("COMMIT");
    await written;
    expect(await count(db)).toBe(1);
  });

  test("a close completes the writes that wait for another process's lock", async () => {
    const directory = makeDirectory();
    const db = await openFile(directory, { busyTimeoutMs: 60_000 });
    const other = new Sqlite(db.path);
    other.exec("BEGIN IMMEDIATE");
    const written = add(db, "late");
    const closed = db.close();
    await nextTimer();
    other.close();
    await Promise.all([written, closed]);
    expect(await count(await openFile(directory))).toBe(1);
  });
});

describe("the database file", () => {
  test("the database file is its owner's alone, and so is its log", async () => {
    const db = await openFile();
    for (const suffix of ["", "-wal", "-shm"])
      expect(statSync(db.path + suffix).mode & 0o777).toBe(0o600);
  });

  test("the database file is set for durable commits", async () => {
    const db = await openFile();
    expect(
      await db.all(
        "SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys, pragma_trusted_schema",
      ),
    ).toEqual([{ journal_mode: "wal", synchronous: 1, foreign_keys: 1, trusted_schema: 0 }]);
    const writer = await db.transaction((tx) =>
      tx.get("SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys"),
    );
    expect(writer).toEqual({ journal_mode: "wal", synchronous: 1, foreign_keys: 1 });
  });

  test("the database file is complete without its log after a close", async () => {
    const directory = makeDirectory();
    const db = await openFile(directory);
    await add(db, "kept");
    await db.close();
    expect(() => statSync(`${db.path}-wal`)).toThrow("ENOENT");
    const again = await openFile(directory);
    expect(await count(again)).toBe(1);
  });

  test("a file that is not a database is refused and stays unchanged", () => {
    const path = join(makeDirectory(), "croft.db");
    const text = "not a database, but someone's notes\n".repeat(100);
    writeFileSync(path, text);
    expect(() => openSqlite({ path, clock: () => 0 })).toThrow("damaged or no SQLite database");
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  test("the database file of another program is refused and stays unchanged", () => {
    const path = join(makeDirectory(), "croft.db");
    const foreign = new Sqlite(path);
    foreign.exec("CREATE TABLE theirs (n)");
    foreign.close();
    const before = readFileSync(path);
    expect(() => openSqlite({ path, clock: () => 0 })).toThrow("another program");
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("the database file that lost its end is reported as corrupt by a statement that needs it", async () => {
    const directory = makeDirectory();
    const db = await openFile(directory);
    const long = "x".repeat(2_000);
    await Promise.all(Array.from({ length: 200 }, (_, index) => add(db, `${index} ${long}`)));
    await db.close();
    const whole = readFileSync(db.path);
    whole.fill(0xff, Math.floor(whole.length / 2 / 4096) * 4096);
    writeFileSync(db.path, whole);
    const again = openSqlite({ path: db.path, clock: () => 0 });
    onTestFinished(() => again.close());
    await expect(again.all("SELECT text FROM notes")).rejects.toMatchObject({ code: "corrupt" });
    expect(await again.quickCheck()).not.toEqual([]);
    expect(await again.integrityCheck()).not.toEqual([]);
  });

  test("the database file in a directory that is absent is refused by name", () => {
    const path = join(makeDirectory(), "absent", "croft.db");
    expect(() => openSqlite({ path, clock: () => 0 })).toThrow(`${path} cannot be opened`);
  });
});

describe("a check", () => {
  test("finds no damage in an intact database", async () => {
    const db = await openFile();
    await add(db, "a");
    expect(await db.integrityCheck()).toEqual([]);
    expect(await db.quickCheck()).toEqual([]);
  });

  test("finds a row with a dangling reference", async () => {
    const db = await openFile();
    await db.run("CREATE TABLE links (note_id INTEGER REFERENCES notes (id)) STRICT");
    const careless = new Sqlite(db.path);
    careless.pragma("foreign_keys = OFF");
    careless.exec("INSERT INTO links VALUES (77)");
    careless.close();
    expect(await db.integrityCheck()).toEqual(["a row of links names an absent row of notes"]);
  });
});

describe("a backup", () => {
  test("a backup has the state of its start, despite concurrent writes", async () => {
    const directory = makeDirectory();
    const db = await openFile(directory);
    const long = "x".repeat(3_000);
    await Promise.all(Array.from({ length: 1_500 }, (_, index) => add(db, `${index} ${long}`)));
    let running = true;
    const copying = db.backup(join(directory, "copy.db")).finally(() => {
      running = false;
    });
    for (let index = 0; running; index++) await add(db, `meanwhile ${index}`);
    await copying;
    expect(await count(db)).toBeGreaterThan(1_500);
    const copy = openSqlite({ path: join(directory, "copy.db"), clock: () => 0 });
    onTestFinished(() => copy.close());
    expect(await count(copy)).toBe(1_500);
    expect(await copy.integrityCheck()).toEqual([]);
    expect(statSync(copy.path).mode & 0o777).toBe(0o600);
  });

  test("never writes over a file", async () => {
    const directory = makeDirectory();
    const db = await openFile(directory);
    const path = join(directory, "precious");
    writeFileSync(path, "mine");
    await expect(db.backup(path)).rejects.toMatchObject({ code: "failed" });
    expect(readFileSync(path, "utf8")).toBe("mine");
  });

  test("a backup of a database in memory is a file", async () => {
    const directory = makeDirectory();
    const db = await openFile(directory, { path: ":memory:" });
    await add(db, "a");
    await db.backup(join(directory, "copy.db"));
    const copy = await openFile(directory, { path: join(directory, "copy.db") });
    expect(await count(copy)).toBe(1);
  });
});

describe("a database in memory", () => {
  test("starts with an image and does not change it", async () => {
    const original = await openFile(undefined, { path: ":memory:" });
    await add(original, "a");
    const image = original.serialize();
    const copies = [image, image].map((from) =>
      openSqlite({ path: ":memory:", clock: () => 0, image: from }),
    );
    for (const copy of copies) {
      onTestFinished(() => copy.close());
      expect(await count(copy)).toBe(1);
      await add(copy, "b");
    }
    expect(await count(original)).toBe(1);
  });
});
