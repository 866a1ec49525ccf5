import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";

/**
 * Returns the id of the account that owns the folders of a handle; undefined when no account ever had folders. The
 * account may have been deleted since.
 */
export async function findFolderOwner(db: Queries, handle: string): Promise<string | undefined> {
  const row = await db.get<{ user_id: AccountId }>(
    "SELECT user_id FROM vault_local_folder_owners WHERE handle_key = ?",
    handle.toLowerCase(),
  );
  return row?.user_id;
}

/** Records the account that owns the folders of a handle. Replaces an earlier owner. */
export async function setFolderOwner(
  db: Queries,
  handle: string,
  userId: AccountId,
): Promise<void> {
  await db.run(
    `INSERT INTO vault_local_folder_owners (handle_key, user_id) VALUES (?, ?)
     ON CONFLICT (handle_key) DO UPDATE SET user_id = excluded.user_id`,
    handle.toLowerCase(),
    userId,
  );
}

/** Keeps the folders of a handle from later accounts with the same handle. Called when an account is deleted. */
export async function retireFolders(
  tx: Transaction,
  handle: string,
  userId: AccountId,
): Promise<void> {
  await tx.run(
    `INSERT INTO vault_local_folder_owners (handle_key, user_id) VALUES (?, ?)
     ON CONFLICT (handle_key) DO NOTHING`,
    handle.toLowerCase(),
    userId,
  );
}

/** Returns the handles, in lower case, whose folders belong to other accounts. */
export async function listForeignFolderHandles(
  db: Queries,
  userId: AccountId,
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ handle_key: string }>(
    "SELECT handle_key FROM vault_local_folder_owners WHERE user_id <> ?",
    userId,
  );
  return new Set(rows.map((row) => row.handle_key));
}

/** Returns the absolute paths of the folders that are granted to an account, sorted. */
export async function listFolderGrants(db: Queries, userId: AccountId): Promise<string[]> {
  const rows = await db.all<{ folder: string }>(
    "SELECT folder FROM vault_local_folder_grants WHERE user_id = ?",
    userId,
  );
  return rows.map(({ folder }) => folder).toSorted();
}

/** Returns the absolute paths of the folders that are granted to other accounts. */
export async function listForeignFolderGrants(db: Queries, userId: AccountId): Promise<string[]> {
  const rows = await db.all<{ folder: string }>(
    "SELECT folder FROM vault_local_folder_grants WHERE user_id <> ?",
    userId,
  );
  return rows.map(({ folder }) => folder);
}

/** Replaces the folders that are granted to an account. */
export async function replaceFolderGrants(
  tx: Transaction,
  userId: AccountId,
  folders: ReadonlySet<string>,
): Promise<void> {
  await tx.run("DELETE FROM vault_local_folder_grants WHERE user_id = ?", userId);
  for (const folder of folders)
    await tx.run(
      "INSERT INTO vault_local_folder_grants (user_id, folder) VALUES (?, ?)",
      userId,
      folder,
    );
}
