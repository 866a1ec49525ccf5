import { expect, onTestFinished, test } from "vitest";
import type { Transaction } from "../../../../../storage/engine/database.ts";
import { softDeleteItem } from "../../../../../storage/tables/vault/items.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { toConnectionId } from "../../../../../storage/tables/vault/ids.ts";

test("items below a folder are found by their parents, without a scan of the connection", async () => {
  const db = await openTestDatabase({ engine: "sqlite" });
  onTestFinished(() => db.close());
  const plans: string[] = [];
  const explaining = {
    now: 1,
    run: async (sql: string, ...values: never[]) => {
      const steps = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
      plans.push(...steps.map(({ detail }) => detail));
      return { changes: 0 };
    },
  } as unknown as Transaction;
  await softDeleteItem(explaining, { id: "i", connectionId: toConnectionId("c"), kind: "folder" });
  const walks = plans.filter((step) => step.includes("child"));
  expect(new Set(walks)).toEqual(
    new Set(["SEARCH child USING INDEX vault_items_folder (connection_id=? AND parent_ref=?)"]),
  );
});
