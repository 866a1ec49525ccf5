import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId } from "../ids.ts";

/** Stores the redirect of a former name of an account. Replaces the redirect of an earlier account. */
export async function putRedirect(
  tx: Transaction,
  formerName: string,
  userId: UserId,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_user_redirects (lower_name, user_id) VALUES (?, ?)
     ON CONFLICT (lower_name) DO UPDATE SET user_id = excluded.user_id`,
    formerName.toLowerCase(),
    userId,
  );
}

/** Deletes the redirect of a name that an account has again. */
export async function deleteRedirect(tx: Transaction, name: string): Promise<void> {
  await tx.run("DELETE FROM forge_user_redirects WHERE lower_name = ?", name.toLowerCase());
}

/** Returns the account that formerly had this name. */
export async function findRedirect(db: Queries, name: string): Promise<UserId | undefined> {
  const row = await db.get<{ user_id: UserId }>(
    "SELECT user_id FROM forge_user_redirects WHERE lower_name = ?",
    name.toLowerCase(),
  );
  return row?.user_id;
}
