import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDailyExports } from "../../../../../daemon/vault/admin/daily-exports.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { insertAudit } from "../../../../../storage/tables/vault/audit.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const DAY = 86_400_000;
const never = new AbortController().signal;
let home: string;
let now: number;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-exports-"));
  for (const folder of ["exports", "tmp"]) await mkdir(join(home, folder));
  now = Date.parse("2026-03-01T23:59:59.999Z");
});
afterEach(() => rm(home, { recursive: true }));

const exportsOf = (db: Database, keptDays = 400) =>
  createDailyExports({
    db,
    clock: () => now,
    folder: join(home, "exports"),
    temporaryFolder: join(home, "tmp"),
    retentionDays: keptDays,
  });
const read = (day: string) => readFile(join(home, "exports", `audit-${day}.csv`), "utf8");
const names = () => readdir(join(home, "exports"));

describe.each(["sqlite", "postgres"] as const)("daily exports on %s", (engine) => {
  let db: Database;
  beforeEach(async () => {
    db = await openTestDatabase({ engine, clock: () => now });
  });
  afterEach(() => db.close());

  const record = (eventType: string, metadata: Record<string, unknown> = {}) =>
    db.transaction((tx) => insertAudit(tx, { eventType, metadata, ipAddress: "192.0.2.1" }));

  test("each past day has exactly its records, in order", async () => {
    await record("auth.first");
    now += 1;
    await record("auth.second", { note: 'a "quoted", text' });
    await record("auth.third");
    expect(await exportsOf(db).writeMissing(never)).toEqual(["2026-03-01"]);
    now += 2 * DAY;
    expect(await exportsOf(db).writeMissing(never)).toEqual(["2026-03-02", "2026-03-03"]);
    expect(await exportsOf(db).writeMissing(never)).toEqual([]);
    const [head, line, ...rest] = (await read("2026-03-01")).split("\r\n");
    expect(head).toMatch(/^id,created_at,event_type,user_id,/);
    expect(line).toBe("1,2026-03-01T23:59:59.999Z,auth.first,,,,,,,192.0.2.1,{}");
    expect(rest).toEqual([""]);
    const second = (await read("2026-03-02")).split("\r\n");
    expect(second.map((each) => each.split(",")[2]).slice(1, 3)).toEqual([
      "auth.second",
      "auth.third",
    ]);
    expect(second[1]).toContain(String.raw`"{""note"":""a \""quoted\"", text""}"`);
    expect((await read("2026-03-03")).split("\r\n")).toHaveLength(2);
    expect((await stat(join(home, "exports/audit-2026-03-01.csv"))).mode & 0o777).toBe(0o600);
    expect(await readdir(join(home, "tmp"))).toEqual([]);
  });
});

test("cells that a spreadsheet would run as formulas are escaped", async () => {
  const db = await openTestDatabase({ engine: "sqlite", clock: () => now });
  for (const start of ["=", "+", "-", "@", "\t", "\r"])
    await db.transaction((tx) => insertAudit(tx, { eventType: "auth.x", resourceId: `${start}1` }));
  now += DAY;
  await exportsOf(db).writeMissing(never);
  const cells = (await read("2026-03-01")).match(/'.1/gs);
  expect(cells).toEqual(["'=1", "'+1", "'-1", "'@1", "'\t1", "'\r1"]);
  await db.close();
});

test("every one of several daemons writes the exports of complete days", async () => {
  const db = await openTestDatabase({ engine: "sqlite", clock: () => now });
  await db.transaction((tx) => insertAudit(tx, { eventType: "auth.x" }));
  now += 60_000;
  const page = { page: 1, perPage: 30 };
  await expect(exportsOf(db).open("2026-03-01")).rejects.toMatchObject({ code: "not_found" });
  now += 5 * 60_000;
  const exports = exportsOf(db);
  const [file, other, listed] = await Promise.all([
    exports.open("2026-03-01"),
    exports.open("2026-03-01"),
    exports.list(page),
  ]);
  await Promise.all([file.close(), other.close()]);
  expect(listed.exports[0]).toMatchObject({ day: "2026-03-01" });
  expect((await read("2026-03-01")).split("\r\n")).toHaveLength(3);
  expect(await readdir(join(home, "tmp"))).toEqual([]);
  await expect(exports.open("2026-03-02")).rejects.toMatchObject({ code: "not_found" });
  await db.close();
});

test("old files are deleted, others stay, and missing days in between are written", async () => {
  const db = await openTestDatabase({ engine: "sqlite", clock: () => now });
  await db.transaction((tx) => insertAudit(tx, { eventType: "auth.x" }));
  now += 10 * DAY;
  for (const name of ["audit-2026-03-01.csv", "audit-2026-03-08.csv", "notes.txt"])
    await writeFile(join(home, "exports", name), "kept");
  expect(await exportsOf(db, 5).writeMissing(never)).toEqual([
    "2026-03-06",
    "2026-03-07",
    "2026-03-09",
    "2026-03-10",
  ]);
  expect((await names()).toSorted()).toEqual([
    "audit-2026-03-06.csv",
    "audit-2026-03-07.csv",
    "audit-2026-03-08.csv",
    "audit-2026-03-09.csv",
    "audit-2026-03-10.csv",
    "notes.txt",
  ]);
  expect(await read("2026-03-08")).toBe("kept");
  await db.close();
});

test("a run that is stopped leaves no half file, and more records than one batch are all there", async () => {
  const db = await openTestDatabase({ engine: "sqlite", clock: () => now });
  await db.transaction(async (tx) => {
    for (let index = 0; index < 2_500; index += 1)
      await insertAudit(tx, { eventType: `auth.e${index}` });
  });
  now += DAY;
  await expect(exportsOf(db).writeMissing(AbortSignal.abort())).rejects.toThrow();
  expect(await names()).toEqual([]);
  await exportsOf(db).writeMissing(never);
  expect((await read("2026-03-01")).split("\r\n")).toHaveLength(2_502);
  await db.close();
});
