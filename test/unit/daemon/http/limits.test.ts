import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createLimiter,
  createRequestLimiter,
  type Limiter,
} from "../../../../daemon/http/limits.ts";
import { type Database, StorageError } from "../../../../storage/engine/database.ts";
import { openDatabase } from "../../../../storage/engine/open.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const rule = { max: 10, seconds: 60 };
let db: Database;
let limiter: Limiter;
let now: number;
const clock = () => now;

beforeEach(async () => {
  now = 1_000_000;
  db = await openTestDatabase({ clock });
  limiter = createLimiter({ db, clock });
});
afterEach(() => db.close());

async function hit(times: number, key = "a"): Promise<number> {
  const outcomes = await Promise.all(
    Array.from({ length: times }, () => limiter.consume(key, rule)),
  );
  return outcomes.filter((outcome) => outcome.allowed).length;
}

describe("a limit of requests on SQLite, which another process may hold", () => {
  beforeEach(async () => {
    await db.close();
    db = await openTestDatabase({ clock, engine: "sqlite" });
    limiter = createLimiter({ db, clock });
  });

  test("lets requests pass while the database cannot be written, up to the rule", async () => {
    await hit(2);
    const never = Promise.withResolvers<never>();
    const stuck: Limiter = { ...limiter, consume: () => never.promise };
    const requests = createRequestLimiter(stuck, db);
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const consumed = Promise.all(Array.from({ length: 10 }, () => requests.consume("a", rule)));
    await vi.runAllTimersAsync();
    vi.useRealTimers();
    const outcomes = await consumed;
    expect(outcomes.map(({ allowed }) => allowed)).toEqual([
      ...Array.from({ length: 8 }, () => true),
      false,
      false,
    ]);
    never.reject(new StorageError("busy", "held"));
    const busy = { ...limiter, consume: () => Promise.reject(new StorageError("busy", "held")) };
    expect(await createRequestLimiter(busy, db).consume("a", rule)).toMatchObject({
      allowed: true,
      remaining: 7,
    });
    expect(await createRequestLimiter(limiter, db).consume("a", rule)).toMatchObject({
      remaining: 7,
    });
  });

  test("lets exactly the rule's number pass when all of them are counted late", async () => {
    const begin = Promise.withResolvers<void>();
    const late: Limiter = {
      ...limiter,
      consume: async (...hit) => {
        await begin.promise;
        return limiter.consume(...hit);
      },
    };
    const requests = createRequestLimiter(late, db);
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const consumed = Promise.all(Array.from({ length: 100 }, () => requests.consume("a", rule)));
    await vi.advanceTimersByTimeAsync(200);
    begin.resolve();
    const outcomes = await consumed;
    vi.useRealTimers();
    expect(outcomes.filter(({ allowed }) => allowed)).toHaveLength(10);
  });
});

describe("a limit", () => {
  test("admits max hits and returns the remaining number and time", async () => {
    expect(await limiter.consume("a", rule)).toEqual({
      allowed: true,
      remaining: 9,
      resetSeconds: 60,
    });
    now += 1500;
    expect(await limiter.consume("a", rule)).toEqual({
      allowed: true,
      remaining: 8,
      resetSeconds: 59,
    });
    expect(await hit(8)).toBe(8);
    expect(await limiter.consume("a", rule)).toEqual({
      allowed: false,
      remaining: 0,
      resetSeconds: 59,
    });
  });

  test("admits exactly max of a hundred concurrent hits", async () => {
    expect(await hit(100)).toBe(10);
    expect(await hit(100)).toBe(0);
  });

  test("a window begins with its first hit, and the first hit after its end opens the next one", async () => {
    await hit(1);
    now += 59_999;
    expect(await hit(20)).toBe(9);
    now += 1;
    expect(await hit(20)).toBe(10);
    now += 59_999;
    expect(await hit(1)).toBe(0);
  });

  test("a limit is not prolonged by hits that were refused", async () => {
    await hit(20);
    now += 59_000;
    await hit(20);
    now += 1000;
    expect(await hit(1)).toBe(1);
  });

  test("counts each key apart, of any length", async () => {
    await hit(20);
    expect(await hit(20, "b")).toBe(10);
    expect(await hit(20, `${"x".repeat(100_000)}1`)).toBe(10);
    expect(await hit(20, `${"x".repeat(100_000)}2`)).toBe(10);
  });

  test("a max of one and windows of an hour hold too", async () => {
    const strict = { max: 1, seconds: 3600 };
    expect((await limiter.consume("c", strict)).allowed).toBe(true);
    now += 3_599_000;
    expect(await limiter.consume("c", strict)).toEqual({
      allowed: false,
      remaining: 0,
      resetSeconds: 1,
    });
  });

  test("a limit that is switched off counts nothing", async () => {
    const off = createLimiter({ db, clock, enabled: false });
    for (let n = 0; n < 20; n++) {
      expect(await off.consume("a", rule)).toEqual({
        allowed: true,
        remaining: 10,
        resetSeconds: 60,
      });
    }
    expect(await hit(20)).toBe(10);
  });
});

describe("a clock that jumps", () => {
  test("back does not reset a window, and lengthens it by no more than a window", async () => {
    await hit(20);
    now -= 86_400_000;
    const refused = await limiter.consume("a", rule);
    expect(refused).toEqual({ allowed: false, remaining: 0, resetSeconds: 60 });
    now += 60_000;
    expect(await hit(1)).toBe(1);
  });
});

describe("the rows", () => {
  test("rows of ended windows are pruned and contain no key in clear text", async () => {
    await hit(1, "mira@example.org");
    const rows = await db.all<{ key: string }>("SELECT key FROM rate_limits");
    expect(JSON.stringify(rows)).not.toContain("mira");
    expect(await limiter.prune()).toBe(0);
    now += 60_000;
    expect(await limiter.prune()).toBe(1);
  });

  test("rows of rate limits survive a restart", async () => {
    const folder = await mkdtemp(join(tmpdir(), "croft-limits-"));
    const open = () => openDatabase(undefined, { dataDirectory: folder, clock });
    const before = await open();
    for (let n = 0; n < 10; n++) {
      await createLimiter({ db: before, clock }).consume("a", rule);
    }
    await before.close();
    const after = await open();
    expect((await createLimiter({ db: after, clock }).consume("a", rule)).allowed).toBe(false);
    await after.close();
    await rm(folder, { recursive: true });
  });
});
