import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRowCache } from "../../../../storage/engine/row-cache.ts";
import { openSqlite, type SqliteDatabase } from "../../../../storage/engine/sqlite.ts";

describe("rows are cached", () => {
  const ask = (
    values: readonly (string | number | null)[],
    sql = "SELECT a FROM b WHERE c = ?",
  ) => ({
    sql,
    values,
  });

  function memoOf(clock = () => 0) {
    const cache = createRowCache(clock);
    let reads = 0;
    const get = ({ sql, values }: ReturnType<typeof ask>, row: object | null = { a: 1 }) =>
      cache.get(sql, values, () => {
        reads += 1;
        return row ?? undefined;
      });
    return { get, clear: cache.clear, reads: () => reads };
  }

  test("the same query runs once, and absence is cached too", () => {
    const { get, reads } = memoOf();
    expect([get(ask(["x"])), get(ask(["x"]))]).toEqual([{ a: 1 }, { a: 1 }]);
    expect(reads()).toBe(1);
    expect([get(ask(["y"]), null), get(ask(["y"]))]).toEqual([undefined, undefined]);
    expect(reads()).toBe(2);
  });

  test("caches a row until the next commit, and never longer than its maximum age", () => {
    let now = 0;
    const { get, clear, reads } = memoOf(() => now);
    get(ask(["x"]));
    clear();
    get(ask(["x"]));
    expect(reads()).toBe(2);
    now += 99;
    get(ask(["x"]));
    expect(reads()).toBe(2);
    now += 1;
    get(ask(["x"]));
    expect(reads()).toBe(3);
    // A clock that is set back.
    now = 5;
    get(ask(["x"]));
    expect(reads()).toBe(4);
  });

  test("other values and other statements are other questions", () => {
    const { get, reads } = memoOf();
    const questions = [
      ask(["1"]),
      ask([1]),
      ask([null]),
      ask(["z"]),
      ask(["n1"]),
      ask(["a", "b"]),
      ask(["ab"]),
      ask(["as", "b"]),
      ask(["a", "sb"]),
      ask(["1"], "SELECT b FROM b WHERE c = ?"),
    ];
    for (const question of questions) get(question);
    for (const question of questions) get(question);
    expect(reads()).toBe(questions.length);
  });

  test("a caller cannot change the cached row of the next one", () => {
    const { get } = memoOf();
    expect(Object.isFrozen(get(ask(["x"])))).toBe(true);
  });

  test.each([
    ["a statement that gives another row each time", ask([], "SELECT random() AS a"), { a: 1 }],
    ["bytes", ask(["x"]), { a: new Uint8Array(1) }],
    ["long text", ask(["x"]), { a: "x".repeat(5000) }],
    ["a question of long text", ask(["x".repeat(5000)]), { a: 1 }],
    ["text with a NUL, which the driver refuses", ask(["a\0sb"]), { a: 1 }],
  ])("the row cache does not cache %s", (_what, question, row) => {
    const { get, reads } = memoOf();
    get(question, row);
    get(question, row);
    expect(reads()).toBe(2);
  });

  test("the number of cached rows is bounded", () => {
    const { get, reads } = memoOf();
    for (let i = 0; i < 5000; i += 1) get(ask([i]));
    get(ask([0]));
    expect(reads()).toBe(5001);
    get(ask([4999]));
    expect(reads()).toBe(5001);
  });
});

describe("a database with one writer", () => {
  let folder: string;
  let db: SqliteDatabase;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "croft-cache-"));
    db = openSqlite({ path: join(folder, "db"), clock: Date.now, isSoleWriter: true });
    await db.run("CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT");
    await db.run("INSERT INTO counters VALUES ('a', 0)");
  });
  afterEach(async () => {
    await db.close();
    await rm(folder, { recursive: true });
  });
  const read = async () =>
    (await db.get<{ value: number }>("SELECT value FROM counters WHERE name = ?", "a"))?.value;

  test("a subscriber that is notified of a commit reads its row", async () => {
    for (let value = 1; value <= 200; value += 1) {
      await read();
      if (value % 2 === 0) await db.run("UPDATE counters SET value = ?", value);
      else
        await db.transaction(async (tx) => {
          await read().catch(() => undefined);
          await tx.run("UPDATE counters SET value = ?", value);
        });
      expect(await read()).toBe(value);
    }
  });

  test("rows of a transaction that was rolled back are never read", async () => {
    await expect(
      db.transaction(async (tx) => {
        await tx.run("UPDATE counters SET value = 7");
        throw new Error("undone");
      }),
    ).rejects.toThrow("undone");
    expect(await read()).toBe(0);
  });

  test("many writers and readers at once: a reader is never behind a commit that was acknowledged", async () => {
    let acknowledged = 0;
    const write = async () => {
      for (let i = 0; i < 100; i += 1) {
        const { value } = (await db.get<{ value: number }>(
          "UPDATE counters SET value = value + 1 WHERE name = 'a' RETURNING value",
        )) ?? { value: 0 };
        acknowledged = Math.max(acknowledged, value);
      }
    };
    const look = async () => {
      for (let i = 0; i < 300; i += 1) {
        const before = acknowledged;
        expect(await read()).toBeGreaterThanOrEqual(before);
        if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all([write(), write(), look(), look()]);
    expect(await read()).toBe(200);
  });
});
