import { stat } from "node:fs/promises";
import { StorageError } from "./database.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** A file of this size is checked within some ten milliseconds; a larger one would delay the start. */
const CHECKED_BYTES_MAX = 32 * 1024 * 1024;

/** Checks the pages of a database whose file is small enough. Throws `corrupt` when a page is damaged. */
export async function assertIntact(db: Pick<SqliteDatabase, "path" | "quickCheck">): Promise<void> {
  if (db.path === ":memory:" || (await stat(db.path)).size > CHECKED_BYTES_MAX) return;
  if ((await db.quickCheck()).length > 0)
    throw new StorageError(
      "corrupt",
      `${db.path} is damaged: restore a backup with \`croft daemon restore --database latest\``,
    );
}
