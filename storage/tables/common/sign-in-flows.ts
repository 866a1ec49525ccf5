import type { Queries, Transaction } from "../../engine/database.ts";
import { integer, text } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable } from "../table.ts";

const flows = defineTable("sign_in_flows", {
  id: text(),
  /** JSON. */
  details: text(),
  expiresAt: integer(),
});

/** Adds a sign-in that is not complete yet, and deletes those that have expired. */
export async function insertSignInFlow(
  tx: Transaction,
  flow: { readonly id: string; readonly details: string; readonly expiresAt: number },
): Promise<void> {
  await flows.delete(tx, sql`expires_at <= ${tx.now}`);
  await flows.insert(tx, flow);
}

/** Returns the details of a sign-in that has not expired. */
export async function findSignInFlow(
  db: Queries,
  id: string,
  now: number,
): Promise<string | undefined> {
  const found = await flows.find(db, { id });
  return found !== undefined && found.expiresAt > now ? found.details : undefined;
}

/** Ends a sign-in. Returns whether it was there: of two callers one gets true. */
export async function deleteSignInFlow(db: Queries, id: string): Promise<boolean> {
  return (await flows.delete(db, { id })) > 0;
}
