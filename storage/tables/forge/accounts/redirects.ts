import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, text } from "../../columns.ts";
import { defineTable } from "../../table.ts";
import type { UserId } from "../ids.ts";

const redirects = defineTable("forge_user_redirects", {
  lowerName: text(),
  userId: id<UserId>(),
});

/** Stores the redirect of a former name of an account. Replaces the redirect of an earlier account. */
export async function putRedirect(
  tx: Transaction,
  formerName: string,
  userId: UserId,
): Promise<void> {
  await redirects.upsert(
    tx,
    { lowerName: formerName.toLowerCase(), userId },
    "ON CONFLICT (lower_name) DO UPDATE SET user_id = excluded.user_id",
  );
}

/** Deletes the redirect of a name that an account has again. */
export async function deleteRedirect(tx: Transaction, name: string): Promise<void> {
  await redirects.delete(tx, { lowerName: name.toLowerCase() });
}

/** Returns the account that formerly had this name. */
export async function findRedirect(db: Queries, name: string): Promise<UserId | undefined> {
  return (await redirects.find(db, { lowerName: name.toLowerCase() }))?.userId;
}
