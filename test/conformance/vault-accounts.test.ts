import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { migrate, readMigrations } from "../../storage/engine/migrate.ts";
import { openPostgres } from "../../storage/engine/postgres.ts";
import { openSqlite } from "../../storage/engine/sqlite.ts";
import { openMigratedPostgres } from "../support/storage/postgres.ts";
import { createServerDatabases } from "../support/storage/postgres-server.ts";
import { skipUnless } from "../support/skip.ts";
import { vaultAccountsSuite } from "./vault-accounts.suite.ts";

const directory = mkdtemp(join(tmpdir(), "croft-vault-accounts-"));
let files = 0;
afterAll(async () => rm(await directory, { recursive: true, force: true }));

vaultAccountsSuite("SQLite in a file", async (clock) => {
  const db = openSqlite({ path: join(await directory, `${files++}.db`), clock });
  await migrate(db, readMigrations());
  return [db, db];
});

const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
if (serverUrl === undefined)
  vaultAccountsSuite("PGlite", async (clock) => {
    const db = await openMigratedPostgres(clock);
    return [db, db];
  });

skipUnless(serverUrl, "CROFT_TEST_POSTGRES_URL names no PostgreSQL server").describe(
  "two daemons",
  () => {
    const databases = createServerDatabases(serverUrl ?? "");
    let url: Promise<string> | undefined;
    afterAll(() => databases.dropAll());

    vaultAccountsSuite("on one PostgreSQL server", async (clock) => {
      url ??= databases.create();
      await databases.clear(await url);
      const first = await openPostgres({ url: await url, clock });
      await migrate(first, readMigrations());
      return [first, await openPostgres({ url: await url, clock })];
    });
  },
);
