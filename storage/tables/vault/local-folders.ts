import type { Queries, Transaction } from "../../engine/database.ts";
import { text, textId } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable } from "../table.ts";
import type { AccountId } from "./ids.ts";

const owners = defineTable("vault_local_folder_owners", {
  /** The handle in lower case. */
  handleKey: text(),
  userId: textId<AccountId>(),
});

const grants = defineTable("vault_local_folder_grants", {
  userId: textId<AccountId>(),
  /** An absolute path. */
  folder: text(),
});

/**
 * Returns the id of the account that owns the folders of a handle; undefined when no account ever had folders. The
 * account may have been deleted since.
 */
export async function findFolderOwner(db: Queries, handle: string): Promise<string | undefined> {
  return (await owners.find(db, { handleKey: handle.toLowerCase() }))?.userId;
}

/** Records the account that owns the folders of a handle. Replaces an earlier owner. */
export async function setFolderOwner(
  db: Queries,
  handle: string,
  userId: AccountId,
): Promise<void> {
  await owners.upsert(
    db,
    { handleKey: handle.toLowerCase(), userId },
    "ON CONFLICT (handle_key) DO UPDATE SET user_id = excluded.user_id",
  );
}

/** Keeps the folders of a handle from later accounts with the same handle. Called when an account is deleted. */
export async function retireFolders(
  tx: Transaction,
  handle: string,
  userId: AccountId,
): Promise<void> {
  const owner = { handleKey: handle.toLowerCase(), userId };
  await owners.upsert(tx, owner, "ON CONFLICT (handle_key) DO NOTHING");
}

/** Returns the handles, in lower case, whose folders belong to other accounts. */
export async function listForeignFolderHandles(
  db: Queries,
  userId: AccountId,
): Promise<ReadonlySet<string>> {
  const rows = await owners.list(db, sql`user_id <> ${userId}`);
  return new Set(rows.map(({ handleKey }) => handleKey));
}

/** Returns the absolute paths of the folders that are granted to an account, sorted. */
export async function listFolderGrants(db: Queries, userId: AccountId): Promise<string[]> {
  const rows = await grants.list(db, { userId });
  return rows.map(({ folder }) => folder).toSorted();
}

/** Returns the absolute paths of the folders that are granted to other accounts. */
export async function listForeignFolderGrants(db: Queries, userId: AccountId): Promise<string[]> {
  const rows = await grants.list(db, sql`user_id <> ${userId}`);
  return rows.map(({ folder }) => folder);
}

/** Replaces the folders that are granted to an account. */
export async function replaceFolderGrants(
  tx: Transaction,
  userId: AccountId,
  folders: ReadonlySet<string>,
): Promise<void> {
  await grants.delete(tx, { userId });
  for (const folder of folders) await grants.insert(tx, { userId, folder });
}
