import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { migrate } from "../../storage/engine/migrate.ts";
import type { MigratableDatabase, Migration } from "../../storage/engine/migrate.ts";
import { openPostgres } from "../../storage/engine/postgres.ts";
import { openSqlite } from "../../storage/engine/sqlite.ts";
import { createPgliteServer } from "../support/storage/pglite.ts";
import type { PgliteServer } from "../support/storage/pglite.ts";
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
  let server: Promise<PgliteServer> | undefined;

  databaseSuite("PGlite", {
    async open(options, tables) {
      server ??= createPgliteServer();
      const url = await (await server).createPool();
      return withTables(await openPostgres({ ...options, url }), tables);
    },
    isSingle: true,
  });

  const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
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
