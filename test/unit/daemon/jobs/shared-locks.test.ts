import { afterAll, beforeAll, expect, test } from "vitest";
import { createSharedLocks } from "../../../../daemon/jobs/shared-locks.ts";
import { createNameLocks } from "../../../../daemon/vault/cloud/items/item-place.ts";
import type { Database, SqlValue } from "../../../../storage/engine/database.ts";
import { takeLease } from "../../../../storage/tables/common/leases.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";
import { createTestLog } from "../../../support/cloud/vault-cloud.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

let db: Database;
let now = 1_000_000;
const clock = () => now;
beforeAll(async () => {
  db = await openTestDatabase({ engine: "postgres", clock });
});
afterAll(() => db.close());

/** The locks of a daemon. */
function startDaemon(id: string) {
  const warnings: unknown[] = [];
  const warn = (facts: unknown) => void warnings.push(facts);
  const log = { ...createTestLog([]), warn };
  const locks = createSharedLocks({ db, clock, newId: () => id, log });
  return { ...createNameLocks(locks), ...locks, warnings };
}
const folder = (name: string) => ({ connectionId: "c1" as ConnectionId, parent: "", name });
const leases = () => db.all("SELECT name FROM leases");

test("one of several daemons has a name at a time, whatever its case, and another name at once", async () => {
  const daemons = [startDaemon("one"), startDaemon("other")];
  const names = ["Photos", "photos", "Photos"];
  let held = 0;
  let most = 0;
  let calls = 0;
  const work = async () => {
    most = Math.max(most, (held += 1));
    calls += 1;
    // Another name is free meanwhile.
    await daemons[0]?.withName(folder(`other ${calls}`), async () => undefined);
    held -= 1;
  };
  await Promise.all(
    daemons.flatMap(({ withName }) => names.map((name) => withName(folder(name), work))),
  );
  expect([most, calls]).toEqual([1, 6]);
  expect(await leases()).toEqual([]);
});

test("a name is free again after work that failed, and when the lease of a daemon that died has ended", async () => {
  const [one, other] = [startDaemon("one"), startDaemon("other")];
  const failing = one.withName(folder("a"), () => Promise.reject(new Error("no space")));
  await expect(failing).rejects.toThrow("no space");
  expect(await other.withName(folder("a"), async () => "made")).toBe("made");

  await one.withName(folder("b"), async () => {
    const [held] = await db.all<{ name: string }>("SELECT name FROM leases");
    const take = () =>
      takeLease(db, { name: held?.name ?? "", owner: "other", until: now + 60_000 }, now);
    expect(await take()).toBe(false);
    now += 60_000;
    expect(await take()).toBe(true);
  });
  // It was no longer the lease of this daemon.
  expect(await leases()).toHaveLength(1);
  expect([one.warnings, other.warnings]).toEqual([[], []]);
});

test("calls of two daemons with the same locks, in whatever order, wait for each other and not for ever", async () => {
  const [one, other] = [startDaemon("one"), startDaemon("other")];
  let held = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, (held += 1));
    await one.withLocks(["c"], async () => undefined);
    held -= 1;
  };
  await Promise.all([
    one.withLocks(["a", "b", "a"], work),
    other.withLocks(["b", "a"], work),
    one.withLocks(["b"], work),
  ]);
  expect(most).toBe(1);
  expect(await db.all("SELECT name FROM leases WHERE owner IN ('one', 'other')")).toHaveLength(1);
});

test("a lease of a daemon whose clock is far ahead ends when it is not renewed for a minute", async () => {
  let renewals = 0;
  let steady = 0;
  const locks = createSharedLocks({
    // The other daemon lives for ten looks at its lease.
    db: {
      ...db,
      async get<T extends object>(sql: string, ...values: SqlValue[]) {
        if (renewals < 10) {
          renewals += 1;
          await db.run("UPDATE leases SET leased_until = leased_until + 20000");
        }
        return db.get<T>(sql, ...values);
      },
    },
    clock,
    steadyClock: () => (steady += 20_000),
    newId: () => "one",
    log: createTestLog([]),
  });
  await locks.withLocks(["x"], async () => {
    await db.run("UPDATE leases SET owner = 'ahead', leased_until = leased_until + 86400000");
  });
  expect(await locks.withLocks(["x"], async () => "held")).toBe("held");
  expect(renewals).toBe(10);
  expect(steady).toBeGreaterThan(200_000);
});
