import { join } from "node:path";
import { assertIntact } from "./database-file.ts";
import { StorageError } from "./database.ts";
import { migrate, readMigrations } from "./migrate.ts";
import type { PostgresDatabase } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { SqliteDatabase } from "./sqlite.ts";

export interface OpenOptions {
  /** The folder of the embedded database; it exists and is private. */
  readonly dataDirectory: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** The folder of the numbered `.sql` files, when not beside this source: a bundle has them elsewhere. */
  readonly migrationsDirectory?: string | undefined;
  /** Keeps a copy of an embedded database before its schema changes, with the number of the first step. */
  readonly copyBeforeMigration?: (db: SqliteDatabase, version: number) => Promise<void>;
  /** No other process writes the embedded database: see `SqliteOptions`. */
  readonly isSoleWriter?: boolean;
  /** Called when a transaction is rolled back because it stayed open too long: a bug in its callback. */
  readonly onStuck?: ((message: string) => void) | undefined;
}

/** The name of the embedded database's file in the data directory. */
export const DATABASE_FILE = "croft.db";

/**
 * Opens the database and updates its schema. Without `url` it is the file in the data directory; `:memory:` ends with the
 * process; `postgres://…` is a server. Throws `StorageError` whose message names the problem and its remedy, without
 * credentials.
 */
export async function openDatabase(
  url: string | undefined,
  options: OpenOptions,
): Promise<SqliteDatabase | PostgresDatabase> {
  const migrations = readMigrations(options.migrationsDirectory);
  if (url === undefined || url === ":memory:") {
    const path = url ?? join(options.dataDirectory, DATABASE_FILE);
    const { clock, onStuck, isSoleWriter = false } = options;
    const db = openSqlite({ path, clock, onStuck, isSoleWriter });
    return closingOnFailure(db, async () => {
      // Otherwise a request would fail later when it reads a damaged page.
      await assertIntact(db);
      await migrate(db, migrations, {
        beforeChange: async ({ version }) => options.copyBeforeMigration?.(db, version),
      });
    });
  }
  if (/^postgres(?:ql)?:\/\//.test(url)) {
    const { openPostgres } = await import("./postgres.ts");
    const db = await openPostgres({ url, clock: options.clock, onStuck: options.onStuck });
    return closingOnFailure(db, () => migrate(db, migrations));
  }
  throw new StorageError("failed", "a database's address begins with postgres:// or is :memory:");
}

async function closingOnFailure<T extends { close(): Promise<void> }>(
  db: T,
  prepare: () => Promise<void>,
): Promise<T> {
  try {
    await prepare();
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
