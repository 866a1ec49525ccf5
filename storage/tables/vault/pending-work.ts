import type { Queries } from "../../engine/database.ts";

// Cheap questions that decide whether the code of the vault has to be loaded at the start.

/** Returns whether a storage is connected: its interrupted changes are recovered at the start. */
export async function hasConnections(db: Queries): Promise<boolean> {
  return (await db.get("SELECT id FROM vault_connections LIMIT 1")) !== undefined;
}

/** Returns whether the vault holds files, books bytes for them, or has storage connected. */
export async function holdsFiles(db: Queries): Promise<boolean> {
  if (await hasConnections(db)) return true;
  if ((await db.get("SELECT id FROM vault_documents LIMIT 1")) !== undefined) return true;
  const booked = await db.get("SELECT user_id FROM vault_quotas WHERE used_bytes <> 0 LIMIT 1");
  return booked !== undefined;
}

/** Returns whether a document is in the trash. */
export async function holdsTrash(db: Queries): Promise<boolean> {
  const row = await db.get("SELECT id FROM vault_documents WHERE trashed_at IS NOT NULL LIMIT 1");
  return row !== undefined;
}

/** Returns whether a download of a link with a limit is recorded. */
export async function holdsLinkDownloads(db: Queries): Promise<boolean> {
  return (await db.get("SELECT id FROM vault_link_downloads LIMIT 1")) !== undefined;
}
