import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { migrate } from "../../storage/engine/migrate.ts";
import type { MigratableDatabase, Migration } from "../../storage/engine/migrate.ts";
import { openPostgres } from "../../storage/engine/postgres.ts";
import { openSqlite } from "../../storage/engine/sqlite.ts";
import { createPostgresPool } from "../support/storage/postgres.ts";
import { createServerDatabases } from "../support/storage/postgres-server.ts";
import { skipUnless } from "../support/skip.ts";
import { databaseSuite } from "./database.suite.ts";

describe("SQLite", () => {
  const directory = mkdtemp(join(tmpdir(), "croft-database-"));
  let files = 0;
  afterAll(async () => rm(await directory, { recursive: true, force: true }));

  databaseSuite("SQLite in a file", {
    open: async (options, tables) =>
      withTables(openSqlite({ ...options, path: join(await directory, `${files++}.db`) }), tables),
  });

  databaseSuite("SQLite in memory", {
    open: async (options, tables) =>
      withTables(openSqlite({ ...options, path: ":memory:" }), tables),
    isSingle: true,
  });
});

describe("PostgreSQL", () => {
  const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
  if (serverUrl === undefined)
    databaseSuite("PGlite", {
      open: async (options, tables) =>
        withTables(await openPostgres({ ...options, url: await createPostgresPool() }), tables),
      isSingle: true,
    });

  skipUnless(serverUrl, "CROFT_TEST_POSTGRES_URL names no PostgreSQL server").describe(
    "a server",
    () => {
      const databases = createServerDatabases(serverUrl ?? "");
      let url: Promise<string> | undefined;
      afterAll(() => databases.dropAll());

      databaseSuite("PostgreSQL server", {
        async open(options, tables) {
          url ??= databases.create();
          await databases.clear(await url);
          return withTables(await openPostgres({ ...options, url: await url }), tables);
        },
      });
    },
  );
});

async function withTables<T extends MigratableDatabase>(db: T, tables: Migration): Promise<T> {
  await migrate(db, [tables]);
  return db;
}
