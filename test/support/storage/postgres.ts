import { openPostgres } from "../../../storage/engine/postgres.ts";
import type { PostgresDatabase } from "../../../storage/engine/postgres.ts";
import { createPool, type PostgresPool } from "../../../storage/engine/postgres-pool.ts";
import { migrate, readMigrations } from "../../../storage/engine/migrate.ts";
import type { PgliteServer } from "./pglite.ts";
import { createServerDatabases, type ServerDatabases, withTemplate } from "./postgres-server.ts";

const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];

/**
 * Opens a migrated database of its own on PostgreSQL: on the server that `CROFT_TEST_POSTGRES_URL` names, or else on the
 * embedded one, which takes seconds and 500 MiB to start.
 */
export async function openMigratedPostgres(clock: () => number): Promise<PostgresDatabase> {
  if (serverUrl === undefined) {
    const db = await openPostgres({ url: await createPostgresPool(), clock });
    await migrate(db, readMigrations());
    return db;
  }
  const databases = createServerDatabases(serverUrl);
  const url = await createMigrated(databases, serverUrl);
  return openPostgres({ url: await toPool(url, databases.dropAll), clock });
}

/** Creates a migrated database on the server `serverUrl` and returns its address. */
export async function createMigrated(
  databases: ServerDatabases,
  serverUrl: string,
): Promise<string> {
  return databases.create(await migratedTemplate(serverUrl));
}

/** Creates an empty database of its own on PostgreSQL, which is dropped at the pool's end. */
export async function createPostgresPool(): Promise<PostgresPool> {
  if (serverUrl === undefined) return (await embeddedServer()).createPool();
  const databases = createServerDatabases(serverUrl);
  return toPool(await databases.create(), databases.dropAll);
}

async function toPool(url: string, drop: () => Promise<void>): Promise<PostgresPool> {
  const pool = await createPool(url);
  const end = async () => {
    await pool.end();
    await drop();
  };
  return { ...pool, end };
}

let template: Promise<string> | undefined;

/** Returns the database that migrated ones are copied from, which takes a fifth of the time of migrating. */
function migratedTemplate(server: string): Promise<string> {
  return (template ??= withTemplate(server, async (url) => {
    const db = await openPostgres({ url, clock: Date.now });
    await migrate(db, readMigrations());
    await db.close();
  }));
}

let embedded: Promise<PgliteServer> | undefined;

function embeddedServer(): Promise<PgliteServer> {
  return (embedded ??= import("./pglite.ts").then((module) => module.createPgliteServer()));
}
