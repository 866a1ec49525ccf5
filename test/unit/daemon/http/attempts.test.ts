import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AttemptHit } from "../../../../daemon/http/attempts.ts";
import { createLimiter, type Limiter } from "../../../../daemon/http/limits.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const rule = { max: 10, seconds: 60 };
const both: AttemptHit = { key: "account and address", rule };
const shared: AttemptHit = { key: "address", rule: { max: 15, seconds: 60 } };
const hits = [both, shared];
const keys = hits.map(({ key }) => key);
let db: Database;
/** Those of two daemons on one database. */
let one: Limiter["attempts"];
let two: Limiter["attempts"];
let now: number;
const clock = () => now;

beforeEach(async () => {
  now = 1_000_000;
  db = await openTestDatabase({ clock });
  one = createLimiter({ db, clock }).attempts;
  two = createLimiter({ db, clock }).attempts;
});
afterEach(() => db.close());

/** Begins attempts, alternately at both daemons and all at once. Returns the kinds of the outcomes. */
async function begin(times: number, at = hits): Promise<string[]> {
  const outcomes = await Promise.all(
    Array.from({ length: times }, (_, index) => (index % 2 === 0 ? one : two).begin(at)),
  );
  return outcomes.map(({ kind }) => kind);
}
const countOf = (kinds: readonly string[], kind: string) =>
  kinds.filter((each) => each === kind).length;

describe("attempts", () => {
  test("of a hundred at once at two daemons as many begin as the rule permits, and the rest are undecided", async () => {
    const kinds = await begin(100);
    expect(countOf(kinds, "begun")).toBe(10);
    expect(countOf(kinds, "undecided")).toBe(90);
    expect(await one.isUndecided(both)).toBe(true);
  });

  test("are refused once the wrong ones alone reach a rule", async () => {
    await begin(10);
    for (let n = 0; n < 9; n++) await one.end(keys, "wrong");
    expect(await begin(1)).toEqual(["undecided"]);
    await two.end(keys, "wrong");
    expect(await two.begin(hits)).toEqual({ kind: "refused", resetSeconds: 60 });
    expect(await one.isUndecided(both)).toBe(false);
    now += 60_000;
    expect(await begin(1)).toEqual(["begun"]);
  });

  test("that were right, or could not be checked, do not count", async () => {
    for (const end of ["right", "unchecked"] as const)
      for (let n = 0; n < 20; n++) {
        expect(await begin(1)).toEqual(["begun"]);
        await two.end(keys, end);
      }
    expect(countOf(await begin(20), "begun")).toBe(10);
  });

  test("that are right clear the wrong ones at a key, but none that is pending", async () => {
    await begin(9);
    for (let n = 0; n < 6; n++) await one.end(keys, "wrong");
    await two.end(keys, "right", [both.key]);
    // Two are pending, so eight more may begin; at the other key six were wrong.
    expect(countOf(await begin(20), "begun")).toBe(7);
    expect(await begin(1, [both])).toEqual(["begun"]);
    expect(await begin(1, [both])).toEqual(["undecided"]);
  });

  test("count at no key when one of them is at its limit", async () => {
    await begin(10);
    expect(countOf(await begin(5), "begun")).toBe(0);
    expect(countOf(await begin(20, [shared]), "begun")).toBe(5);
  });

  test("of a daemon that was killed count as wrong after a minute", async () => {
    const long = { key: "long", rule: { max: 10, seconds: 900 } };
    await begin(10, [long]);
    now += 59_999;
    expect(await one.begin([long])).toMatchObject({ kind: "undecided" });
    now += 1;
    expect(await one.begin([long])).toEqual({ kind: "refused", resetSeconds: 840 });
  });

  test("of a daemon whose clock is half a minute ahead or behind are pending, too", async () => {
    for (const ahead of [30_000, -30_000]) {
      const other = createLimiter({ db, clock: () => now + ahead }).attempts;
      const at = [{ key: `ahead by ${ahead}`, rule: { max: 10, seconds: 900 } }];
      for (let n = 0; n < 5; n++) {
        expect(await one.begin(at)).toEqual({ kind: "begun" });
        expect(await other.begin(at)).toEqual({ kind: "begun" });
      }
      for (const each of [one, other])
        expect(await each.begin(at)).toMatchObject({ kind: "undecided" });
      for (let n = 0; n < 9; n++) await one.end([at[0]?.key ?? ""], "wrong");
      expect(await other.begin(at)).toMatchObject({ kind: "undecided" });
    }
  });

  test("that are pending at the end of a window count in the next one, which is not pruned", async () => {
    await begin(1);
    await one.end(keys, "wrong");
    now += 59_000;
    await begin(9);
    now += 1_000;
    expect(await createLimiter({ db, clock }).prune()).toBe(0);
    expect(countOf(await begin(20), "begun")).toBe(1);
    for (let n = 0; n < 10; n++) await one.end(keys, "wrong");
    expect(await begin(1)).toEqual(["refused"]);
  });

  test("of a clock that was ahead end a window after it was set back", async () => {
    await begin(10);
    for (let n = 0; n < 10; n++) await one.end(keys, "wrong");
    now -= 86_400_000;
    expect(await one.begin(hits)).toEqual({ kind: "refused", resetSeconds: 60 });
    now += 60_000;
    expect(await begin(1)).toEqual(["begun"]);
  });

  test("leave no hits after many right ones at once", async () => {
    const wide = keys.map((key) => ({ key, rule: { max: 60, seconds: 60 } }));
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const at = index % 2 === 0 ? one : two;
        expect(await at.begin(wide)).toEqual({ kind: "begun" });
        await at.end(keys, "right");
      }),
    );
    expect(
      await db.all("SELECT points, pending FROM rate_limits WHERE points > 0 OR pending > 0"),
    ).toEqual([]);
  });

  test("all begin while limits are switched off", async () => {
    const off = createLimiter({ db, clock, enabled: false }).attempts;
    for (let n = 0; n < 20; n++) expect(await off.begin(hits)).toEqual({ kind: "begun" });
    await off.end(keys, "wrong");
    expect(countOf(await begin(20), "begun")).toBe(10);
  });
});
