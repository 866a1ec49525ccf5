import { join } from "node:path";
import { assertSound } from "./assert-sound.ts";
import { StorageError } from "./database.ts";
import { migrate, readMigrations } from "./migrate.ts";
import type { PostgresDatabase } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { SqliteDatabase } from "./sqlite.ts";

export interface OpenOptions {
  /** Where the embedded database lives; exists and is private. */
  readonly dataDirectory: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Where the numbered `.sql` files are, when not beside this source: a bundle has them elsewhere. */
  readonly migrationsDirectory?: string | undefined;
  /** Nobody else writes the embedded database: see `SqliteOptions`. */
  readonly isSoleWriter?: boolean;
  /** Told of a transaction that was undone because it did not end: a bug in its callback. */
  readonly onStuck?: ((message: string) => void) | undefined;
}

/** The embedded database's file in the data directory. */
export const DATABASE_FILE = "croft.db";

/**
 * Opens the database and brings its schema up to date. Without `url` it is the file in the data directory;
 * `:memory:` ends with the process; `postgres://…` is a server. Throws `StorageError` whose message says what is
 * wrong and what helps, without credentials.
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
      // A damaged page would otherwise be met by some request later.
      await assertSound(db);
      await migrate(db, migrations);
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
