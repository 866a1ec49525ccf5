import { expect, test } from "vitest";
import { createGroupedWrites } from "../../../../../daemon/forge/repositories/grouped-writes.ts";
import type { Database, Transaction } from "../../../../../storage/engine/database.ts";

/** A database that counts its transactions and knows what was kept. */
function countingDatabase() {
  const committed: string[] = [];
  let transactions = 0;
  const db = {
    async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
      transactions += 1;
      const notes: string[] = [];
      const run = async (text: string) => {
        notes.push(text);
        return { changes: 1 };
      };
      const value = await work({ run } as unknown as Transaction);
      committed.push(...notes);
      return value;
    },
  } as unknown as Database;
  return { db, committed, transactions: () => transactions };
}

test("changes that wait at one time share a transaction", async () => {
  const { db, committed, transactions } = countingDatabase();
  const write = createGroupedWrites(db);
  const numbers = [1, 2, 3, 4, 5];
  const values = await Promise.all(
    numbers.map((number) =>
      write(async (tx) => {
        await tx.run(`change ${number}`);
        return number;
      }),
    ),
  );
  expect(values).toEqual(numbers);
  expect(committed).toEqual(numbers.map((number) => `change ${number}`));
  // The first is alone, the others waited for it.
  expect(transactions()).toBe(2);
});

test("one that fails fails alone, and the others are kept once", async () => {
  const { db, committed } = countingDatabase();
  const write = createGroupedWrites(db);
  const outcomes = await Promise.allSettled(
    ["a", "b", "wrong", "c"].map((name) =>
      write(async (tx) => {
        if (name === "wrong") throw new Error("refused");
        await tx.run(name);
      }),
    ),
  );
  expect(outcomes.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  expect(committed).toEqual(["a", "b", "c"]);
  await expect(write(async () => "later")).resolves.toBe("later");
});
