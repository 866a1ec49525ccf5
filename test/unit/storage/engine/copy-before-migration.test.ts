import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../../storage/engine/open.ts";
import { backUpDatabase, copyBeforeMigration } from "../../../../storage/engine/rotating-backup.ts";
import { openSqlite } from "../../../../storage/engine/sqlite.ts";
import { listCopies } from "../../../../storage/restore-database.ts";

const tables = "CREATE TABLE notes (text TEXT NOT NULL) STRICT;";
const day = 86_400_000;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "croft-migration-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens the database of `folder` with the steps that lie there, as an upgraded daemon does. */
function open(folder: string, now: number) {
  const at = { folder, temporaryFolder: folder, count: 2, now };
  return openDatabase(undefined, {
    dataDirectory: folder,
    migrationsDirectory: folder,
    clock: () => now,
    copyBeforeMigration: async (db, version) => void (await copyBeforeMigration(db, version, at)),
  });
}

test("copies the database before the schema changes, and only then", async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, "0001_notes.sql"), tables);
  const first = await open(folder, 0);
  await first.run("INSERT INTO notes VALUES (?)", "kept");
  await first.close();
  await (await open(folder, day)).close();
  expect((await listCopies({ backups: folder })).made).toEqual([]);

  writeFileSync(join(folder, "0002_drop.sql"), "DROP TABLE notes;");
  await (await open(folder, 2 * day)).close();
  expect((await listCopies({ backups: folder })).made).toEqual([
    "croft-19700103-000000-before-0002.db",
  ]);
  const copy = openSqlite({
    path: join(folder, "croft-19700103-000000-before-0002.db"),
    clock: () => 0,
  });
  onTestFinished(() => copy.close());
  expect(await copy.all("SELECT text FROM notes")).toEqual([{ text: "kept" }]);
});

test("a copy that cannot be written keeps the schema as it is", async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, "0001_notes.sql"), tables);
  await (await open(folder, 0)).close();
  writeFileSync(join(folder, "0002_drop.sql"), "DROP TABLE notes;");
  const opening = openDatabase(undefined, {
    dataDirectory: folder,
    migrationsDirectory: folder,
    clock: () => 0,
    copyBeforeMigration: () => Promise.reject(new Error("the disk is full")),
  });
  await expect(opening).rejects.toThrow("the disk is full");
  const db = openSqlite({ path: join(folder, "croft.db"), clock: () => 0 });
  onTestFinished(() => db.close());
  expect(await db.all("SELECT text FROM notes")).toEqual([]);
});

test("prunes copies from before migrations and nightly copies apart from each other", async () => {
  const folder = makeFolder();
  const db = openSqlite({ path: join(folder, "croft.db"), clock: () => 0 });
  onTestFinished(() => db.close());
  const at = (now: number) => ({ folder, temporaryFolder: folder, count: 2, now });
  for (const now of [0, day, 2 * day]) {
    await backUpDatabase(db, at(now));
    await copyBeforeMigration(db, 35, at(now));
  }
  expect(readdirSync(folder).filter((name) => name.startsWith("croft-"))).toEqual([
    "croft-19700102-000000-before-0035.db",
    "croft-19700102-000000.db",
    "croft-19700103-000000-before-0035.db",
    "croft-19700103-000000.db",
  ]);
});
