import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { backUpDatabase } from "../../../../storage/engine/rotating-backup.ts";
import { openSqlite } from "../../../../storage/engine/sqlite.ts";

test("a damaged database is not copied, so that the good copies stay", async () => {
  const folder = mkdtempSync(join(tmpdir(), "croft-copies-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "croft.db");
  const copy = (now: number) =>
    backUpDatabase(db, { folder, temporaryFolder: folder, count: 1, now });
  let db = openSqlite({ path, clock: () => 0 });
  await db.run("CREATE TABLE notes (text TEXT) STRICT");
  await db.run("INSERT INTO notes VALUES (?)", "x".repeat(100_000));
  await copy(0);
  await db.close();
  const file = readFileSync(path);
  writeFileSync(path, file.fill(0xff, 4096, 8192));
  db = openSqlite({ path, clock: () => 0 });
  onTestFinished(() => db.close());
  await expect(copy(86_400_000)).rejects.toMatchObject({ code: "corrupt" });
  expect(readdirSync(folder).filter((name) => name.startsWith("croft-"))).toEqual([
    "croft-19700101-000000.db",
  ]);
});

test("a copy by a clock that was set back is kept, although older copies have later names", async () => {
  const folder = mkdtempSync(join(tmpdir(), "croft-copies-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const db = openSqlite({ path: join(folder, "croft.db"), clock: () => 0 });
  onTestFinished(() => db.close());
  for (const day of [400, 401, 2])
    await backUpDatabase(db, {
      ...{ folder, temporaryFolder: folder, count: 2 },
      now: day * 86_400_000,
    });
  expect(readdirSync(folder).filter((name) => /^croft-\d/.test(name))).toEqual([
    "croft-19700103-000000.db",
    "croft-19710206-000000.db",
  ]);
});
