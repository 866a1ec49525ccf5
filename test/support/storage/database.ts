import type { Database } from "../../../storage/engine/database.ts";
import { migrate, readMigrations } from "../../../storage/engine/migrate.ts";
import { openSqlite } from "../../../storage/engine/sqlite.ts";
import type { SqliteDatabase } from "../../../storage/engine/sqlite.ts";
import { openMigratedPostgres } from "./postgres.ts";

export interface TestDatabaseOptions {
  /** Epoch milliseconds; the machine's clock by default. */
  readonly clock?: () => number;
  /**
   * `sqlite` by default, or the value of `CROFT_TEST_ENGINE`: `CROFT_TEST_ENGINE=postgres npx vitest run
   * test/unit/storage/tables` runs the same tests on PostgreSQL.
   */
  readonly engine?: Database["dialect"];
}

/** A fresh, migrated database in memory. */
export function openTestDatabase(
  options: TestDatabaseOptions & { readonly engine: "sqlite" },
): Promise<SqliteDatabase>;
export function openTestDatabase(options?: TestDatabaseOptions): Promise<Database>;
export async function openTestDatabase(options: TestDatabaseOptions = {}): Promise<Database> {
  const clock = options.clock ?? Date.now;
  const engine = options.engine ?? process.env["CROFT_TEST_ENGINE"];
  if (engine === "postgres") return openMigratedPostgres(clock);
  return openSqlite({ path: ":memory:", clock, image: await migratedImage() });
}

/** Returns the bytes of a file of SQLite with all migrations. */
export function migratedImage(): Promise<Uint8Array> {
  return (template ??= makeTemplate());
}

// Copying the bytes of a migrated database is thirty times faster than migrating again.
let template: Promise<Uint8Array> | undefined;

async function makeTemplate(): Promise<Uint8Array> {
  const db = openSqlite({ path: ":memory:", clock: Date.now });
  await migrate(db, readMigrations());
  const image = db.serialize();
  await db.close();
  return image;
}
/**
 * A database whose next transaction begins after `work`, as when another request commits between what a request reads
 * and what it writes.
 */
export function interruptOnce(db: Database, work: () => Promise<unknown>): Database {
  let isDone = false;
  return {
    dialect: db.dialect,
    get: (sql, ...values) => db.get(sql, ...values),
    all: (sql, ...values) => db.all(sql, ...values),
    run: (sql, ...values) => db.run(sql, ...values),
    async transaction(body) {
      if (!isDone) {
        isDone = true;
        await work();
      }
      return db.transaction(body);
    },
    close: () => db.close(),
  };
}
