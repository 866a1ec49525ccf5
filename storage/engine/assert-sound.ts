import { stat } from "node:fs/promises";
import { StorageError } from "./database.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** Read within some ten milliseconds. A greater file would hold up whoever asks. */
const CHECKED_BYTES_MAX = 32 * 1024 * 1024;

/** Looks through a database in a file that is not too large for it. Throws `corrupt` when a page is damaged. */
export async function assertSound(db: Pick<SqliteDatabase, "path" | "quickCheck">): Promise<void> {
  if (db.path === ":memory:" || (await stat(db.path)).size > CHECKED_BYTES_MAX) return;
  if ((await db.quickCheck()).length > 0)
    throw new StorageError(
      "corrupt",
      `${db.path} is damaged: restore a backup with \`croft daemon restore --database latest\``,
    );
}
