import { expect, onTestFinished, test } from "vitest";
import { createTurns } from "../../../../daemon/jobs/turns.ts";
import { insertJob, listWaitingAccounts } from "../../../../storage/tables/common/jobs.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

/** A queue of one kind with the given accounts, in the order of their jobs. */
async function open(engine: "sqlite" | "postgres", accounts: readonly string[]) {
  const db = await (engine === "sqlite"
    ? openTestDatabase({ engine, clock: () => 100 })
    : openTestDatabase({ engine, clock: () => 100 }));
  onTestFinished(() => db.close());
  await db.transaction(async (tx) => {
    for (const [index, account] of accounts.entries())
      await insertJob(tx, { kind: "test", payload: {}, runAt: index, key: undefined, account });
    const later = { kind: "test", payload: {}, runAt: 1_000, key: undefined, account: "later" };
    await insertJob(tx, later);
  });
  const turns = createTurns();
  return {
    db,
    claim: async (limit: number, running: readonly string[] = [], perAccountMax = Infinity) => {
      const slots = { limit, concurrency: 4, perAccountMax, running };
      const claim = { kind: "test", owner: "a", leasedUntil: 200, ...slots };
      const jobs = await db.transaction((tx) => turns.claim(tx, claim));
      return jobs.map(({ account }) => account);
    },
  };
}

const six = (account: string) => Array.from({ length: 6 }, () => account);

test.each(["sqlite", "postgres"] as const)(
  "accounts are served in turns, on %s",
  async (engine) => {
    const { claim, db } = await open(engine, [...six("mira"), "nora", "olga", "nora", ""]);
    expect(await listWaitingAccounts(db, "test")).toEqual(["", "later", "mira", "nora", "olga"]);
    expect((await claim(4)).toSorted()).toEqual(["", "mira", "nora", "olga"]);
    expect(await claim(1, ["mira", "nora", "olga"])).toEqual(["mira"]);
    expect(await claim(1, ["mira", "mira", "olga"])).toEqual(["nora"]);
    expect(await listWaitingAccounts(db, "other")).toEqual([]);
  },
);

test("one account leaves a slot to others, whose job waits for none of its jobs", async () => {
  const { claim, db } = await open("sqlite", six("mira"));
  expect(await claim(4)).toEqual(["mira", "mira", "mira"]);
  expect(await claim(1, ["mira", "mira", "mira"])).toEqual([]);
  await db.transaction((tx) =>
    insertJob(tx, { kind: "test", payload: {}, runAt: 50, key: undefined, account: "nora" }),
  );
  expect(await claim(1, ["mira", "mira", "mira"])).toEqual(["nora"]);
  expect(await claim(1, ["mira", "mira", "nora"])).toEqual(["mira"]);
});

test("an account has at most as many slots as the kind gives each", async () => {
  const { claim } = await open("sqlite", [...six("mira"), ...six("nora")]);
  expect((await claim(4, [], 1)).toSorted()).toEqual(["mira", "nora"]);
  expect(await claim(2, ["mira", "nora"], 1)).toEqual([]);
  expect((await claim(4, ["mira", "nora"], 2)).toSorted()).toEqual(["mira", "nora"]);
});
