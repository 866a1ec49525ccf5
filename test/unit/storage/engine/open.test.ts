import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { DATABASE_FILE, openDatabase } from "../../../../storage/engine/open.ts";
import { skipUnless } from "../../../support/skip.ts";

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "croft-open-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const clock = (): number => 0;

describe("opening the database", () => {
  test("opening the database without an address makes the file, with all tables, and finds them again", async () => {
    const dataDirectory = makeDirectory();
    for (let start = 0; start < 2; start++) {
      const db = await openDatabase(undefined, { dataDirectory, clock });
      expect(db.dialect).toBe("sqlite");
      const row = await db.get<{ n: number }>("SELECT count(*) AS n FROM schema_migrations");
      expect(row?.n).toBeGreaterThan(0);
      await db.close();
    }
  });

  test("takes the migrations of another directory", async () => {
    const dataDirectory = makeDirectory();
    writeFileSync(join(dataDirectory, "0001_a.sql"), "CREATE TABLE only (n INTEGER) STRICT;");
    const options = { dataDirectory, clock, migrationsDirectory: dataDirectory };
    const db = await openDatabase(":memory:", options);
    expect(await db.all("SELECT n FROM only")).toEqual([]);
    await db.close();
  });

  test("refuses an address it cannot use, without repeating it", async () => {
    const refused = openDatabase("mysql://root:hunter2@host/croft", { dataDirectory: "/", clock });
    await expect(refused).rejects.toMatchObject({ code: "failed" });
    await expect(refused).rejects.toThrow("begins with postgres:// or is :memory:");
  });

  test("refuses a damaged file and names the remedy", async () => {
    const dataDirectory = makeDirectory();
    writeFileSync(join(dataDirectory, DATABASE_FILE), "nothing of the kind ".repeat(500));
    const refused = openDatabase(undefined, { dataDirectory, clock });
    await expect(refused).rejects.toMatchObject({ code: "corrupt" });
    await expect(refused).rejects.toThrow(
      "restore a backup with `croft daemon restore --database latest`",
    );
  });

  test("refuses a file with a damaged page that no statement of the start needs", async () => {
    const dataDirectory = makeDirectory();
    const path = join(dataDirectory, DATABASE_FILE);
    const db = await openDatabase(undefined, { dataDirectory, clock });
    const page = await db.get<{ rootpage: number }>(
      "SELECT rootpage FROM sqlite_schema WHERE name = 'vault_users'",
    );
    await db.close();
    const file = readFileSync(path);
    file.fill(0xff, ((page?.rootpage ?? 0) - 1) * 4096, (page?.rootpage ?? 0) * 4096);
    writeFileSync(path, file);
    const refused = openDatabase(undefined, { dataDirectory, clock });
    await expect(refused).rejects.toMatchObject({ code: "corrupt" });
    await expect(refused).rejects.toThrow(
      "restore a backup with `croft daemon restore --database latest`",
    );
  });

  test("rejects a file that has lost everything instead of creating a new database in it", async () => {
    const dataDirectory = makeDirectory();
    writeFileSync(join(dataDirectory, DATABASE_FILE), "");
    const refused = openDatabase(undefined, { dataDirectory, clock });
    await expect(refused).rejects.toMatchObject({ code: "corrupt" });
    await expect(refused).rejects.toThrow(/is empty: restore a backup .* or remove the file/);
    rmSync(join(dataDirectory, DATABASE_FILE));
    await (await openDatabase(undefined, { dataDirectory, clock })).close();
  });

  test("makes the file aside, so that a start that is cut off leaves no empty one", async () => {
    const dataDirectory = makeDirectory();
    const path = join(dataDirectory, DATABASE_FILE);
    // The files that kills at the worst moments leave.
    writeFileSync(`${path}.new`, "");
    writeFileSync(`${path}.new-wal`, "half a log");
    await (await openDatabase(undefined, { dataDirectory, clock })).close();
    expect(readdirSync(dataDirectory)).toEqual([DATABASE_FILE]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("refuses a link that leads to no file, as to a disk that is not mounted", async () => {
    const dataDirectory = makeDirectory();
    symlinkSync(join(dataDirectory, "gone"), join(dataDirectory, DATABASE_FILE));
    const refused = openDatabase(undefined, { dataDirectory, clock });
    await expect(refused).rejects.toThrow("is a link to a missing file");
    expect(readdirSync(dataDirectory)).toEqual([DATABASE_FILE]);
  });

  test("gives the file back when a migration fails", async () => {
    const dataDirectory = makeDirectory();
    writeFileSync(join(dataDirectory, "0001_a.sql"), "CREATE nonsense;");
    const options = { dataDirectory, clock, migrationsDirectory: dataDirectory };
    await expect(openDatabase(undefined, options)).rejects.toMatchObject({ code: "failed" });
    writeFileSync(join(dataDirectory, "0001_a.sql"), "CREATE TABLE a (n INTEGER) STRICT;");
    await (await openDatabase(undefined, options)).close();
  });

  skipUnless(process.getuid?.() !== 0, "root may write to a read-only directory")(
    "refuses a directory and a file that cannot be written",
    async () => {
      const dataDirectory = makeDirectory();
      chmodSync(dataDirectory, 0o500);
      onTestFinished(() => chmodSync(dataDirectory, 0o700));
      const absent = openDatabase(undefined, { dataDirectory, clock });
      await expect(absent).rejects.toMatchObject({ code: "readonly" });
      await expect(absent).rejects.toThrow("check its owner and mode");
      chmodSync(dataDirectory, 0o700);
      await (await openDatabase(undefined, { dataDirectory, clock })).close();
      chmodSync(join(dataDirectory, DATABASE_FILE), 0o400);
      await expect(openDatabase(undefined, { dataDirectory, clock })).rejects.toMatchObject({
        code: "readonly",
      });
      chmodSync(join(dataDirectory, DATABASE_FILE), 0o600);
      chmodSync(dataDirectory, 0o500);
      await expect(openDatabase(undefined, { dataDirectory, clock })).rejects.toMatchObject({
        code: "readonly",
      });
    },
  );
});
