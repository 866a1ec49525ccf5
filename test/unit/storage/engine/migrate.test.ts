import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { migrate, readMigrations } from "../../../../storage/engine/migrate.ts";
import type { Migration } from "../../../../storage/engine/migrate.ts";
import { openSqlite } from "../../../../storage/engine/sqlite.ts";
import type { SqliteDatabase } from "../../../../storage/engine/sqlite.ts";

const NOW = 1_790_000_000_000;

function openMemory(): SqliteDatabase {
  const db = openSqlite({ path: ":memory:", clock: () => NOW });
  onTestFinished(() => db.close());
  return db;
}

function step(version: number, script: string): Migration {
  return { version, name: `step_${version}`, script, hash: `hash of ${script}` };
}

const first = step(1, "CREATE TABLE a (n INTEGER) STRICT; INSERT INTO a VALUES (1);");
const second = step(2, "ALTER TABLE a ADD COLUMN m INTEGER; UPDATE a SET m = n + 1;");

describe("migrating", () => {
  test("applies each step once, in order, and records it", async () => {
    const db = openMemory();
    await migrate(db, [first]);
    await migrate(db, [first, second]);
    await migrate(db, [first, second]);
    expect(await db.all("SELECT n, m FROM a")).toEqual([{ n: 1, m: 2 }]);
    expect(await db.all("SELECT version, name, hash, applied_at FROM schema_migrations")).toEqual([
      { version: 1, name: "step_1", hash: first.hash, applied_at: NOW },
      { version: 2, name: "step_2", hash: second.hash, applied_at: NOW },
    ]);
  });

  test("applies a step whose number is below one that was applied", async () => {
    const db = openMemory();
    const late = step(3, "CREATE TABLE c (n INTEGER) STRICT;");
    await migrate(db, [first, late]);
    await migrate(db, [first, second, late]);
    expect(await db.get("SELECT m FROM a")).toEqual({ m: 2 });
  });

  test("rolls back a step that fails, keeps the steps before, and the next run completes", async () => {
    const db = openMemory();
    const broken = step(2, "ALTER TABLE a ADD COLUMN m INTEGER; UPDATE missing SET m = 1;");
    await expect(migrate(db, [first, broken])).rejects.toMatchObject({ code: "failed" });
    expect(await db.get("SELECT count(*) AS n FROM schema_migrations")).toEqual({ n: 1 });
    await migrate(db, [first, second]);
    expect(await db.all("SELECT n, m FROM a")).toEqual([{ n: 1, m: 2 }]);
  });

  test("rebuilds a table that others refer to", async () => {
    const db = openMemory();
    const tables = step(
      1,
      `CREATE TABLE parents (id INTEGER PRIMARY KEY, n INTEGER) STRICT;
       CREATE TABLE children (parent_id INTEGER NOT NULL REFERENCES parents (id) ON DELETE CASCADE) STRICT;
       INSERT INTO parents VALUES (1, 5); INSERT INTO children VALUES (1);`,
    );
    const rebuild = step(
      2,
      `-- @sqlite
       CREATE TABLE parents_rebuilt (id INTEGER PRIMARY KEY, n TEXT) STRICT;
       INSERT INTO parents_rebuilt SELECT id, n FROM parents;
       DROP TABLE parents;
       ALTER TABLE parents_rebuilt RENAME TO parents;
       -- @end`,
    );
    await migrate(db, [tables, rebuild]);
    expect(await db.all("SELECT n FROM parents JOIN children ON parent_id = id")).toEqual([
      { n: "5" },
    ]);
    expect(await db.integrityCheck()).toEqual([]);
    await expect(db.run("INSERT INTO children VALUES (77)")).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("refuses a step that leaves rows without those they refer to", async () => {
    const db = openMemory();
    const orphans = step(
      1,
      `CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
       CREATE TABLE children (parent_id INTEGER NOT NULL REFERENCES parents (id)) STRICT;
       INSERT INTO children VALUES (1);`,
    );
    await expect(migrate(db, [orphans])).rejects.toThrow(
      "rows in children without theirs in parents",
    );
    expect(await db.get("SELECT count(*) AS n FROM schema_migrations")).toEqual({ n: 0 });
  });

  test("refuses a database of a later croft and names the remedy", async () => {
    const db = openMemory();
    await migrate(db, [first, second]);
    const refused = migrate(db, [first]);
    await expect(refused).rejects.toThrow("0002_step_2");
    await expect(refused).rejects.toThrow(
      "upgrade croft, or restore a backup with `croft daemon restore --database latest`",
    );
  });

  test("refuses an applied step that was edited, before it applies another", async () => {
    const db = openMemory();
    await migrate(db, [first]);
    const edited = { ...first, hash: "another" };
    await expect(migrate(db, [edited, second])).rejects.toThrow(
      "migration 0001_step_1 is not the one",
    );
    expect(await db.get("SELECT count(*) AS n FROM schema_migrations")).toEqual({ n: 1 });
  });
});

describe("the files", () => {
  function directoryOf(files: Record<string, string>): string {
    const directory = mkdtempSync(join(tmpdir(), "croft-migrations-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    return directory;
  }

  test("the files are read by number, and other files are ignored", () => {
    const directory = directoryOf({
      "0010_ten.sql": "SELECT 10;",
      "0002_two.sql": "SELECT 2;",
      "README.md": "no step",
    });
    expect(readMigrations(directory).map(({ version, name }) => [version, name])).toEqual([
      [2, "two"],
      [10, "ten"],
    ]);
  });

  test("the files have the same hash with the line ends of Windows", () => {
    const unix = readMigrations(directoryOf({ "0001_a.sql": "SELECT 1;\nSELECT 2;\n" }));
    const windows = readMigrations(directoryOf({ "0001_a.sql": "SELECT 1;\r\nSELECT 2;\r\n" }));
    expect(windows).toEqual(unix);
  });

  test("the files are refused with a doubled number or a wrong name", () => {
    expect(() => readMigrations(directoryOf({ "0001_a.sql": "", "0001_b.sql": "" }))).toThrow(
      "number 1",
    );
    expect(() => readMigrations(directoryOf({ "1_a.sql": "" }))).toThrow("not 1_a.sql");
    expect(() => readMigrations(directoryOf({ "0001_A.sql": "" }))).toThrow("not 0001_A.sql");
  });
});
