import { migrate, readMigrations } from "../../storage/engine/migrate.ts";
import { openSqlite } from "../../storage/engine/sqlite.ts";
import type { SqliteDatabase } from "../../storage/engine/sqlite.ts";

/** A fresh, migrated database in memory. Its clock is the machine's unless one is given. */
export async function openTestDatabase(
  options: { readonly clock?: () => number } = {},
): Promise<SqliteDatabase> {
  const clock = options.clock ?? Date.now;
  template ??= makeTemplate();
  return openSqlite({ path: ":memory:", clock, image: await template });
}

// Copying the bytes of a migrated database is ten times faster than migrating again, and files of tests share a worker.
let template: Promise<Uint8Array> | undefined;

async function makeTemplate(): Promise<Uint8Array> {
  const db = openSqlite({ path: ":memory:", clock: Date.now });
  await migrate(db, readMigrations());
  const image = db.serialize();
  await db.close();
  return image;
}
