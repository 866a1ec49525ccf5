import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openPostgres } from "../../storage/engine/postgres.ts";
import { openSqlite } from "../../storage/engine/sqlite.ts";
import { migratedImage } from "../support/storage/database.ts";
import { createMigrated, openMigratedPostgres } from "../support/storage/postgres.ts";
import { createServerDatabases } from "../support/storage/postgres-server.ts";
import { skipUnless } from "../support/skip.ts";
import { vaultAccountsSuite } from "./vault-accounts.suite.ts";

const directory = mkdtemp(join(tmpdir(), "croft-vault-accounts-"));
let files = 0;
afterAll(async () => rm(await directory, { recursive: true, force: true }));

vaultAccountsSuite("SQLite in a file", async (clock) => {
  const path = join(await directory, `${files++}.db`);
  await writeFile(path, await migratedImage());
  const db = openSqlite({ path, clock });
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
    afterAll(() => databases.dropAll());

    vaultAccountsSuite("on one PostgreSQL server", async (clock) => {
      const url = await createMigrated(databases, serverUrl ?? "");
      return [await openPostgres({ url, clock }), await openPostgres({ url, clock })];
    });
  },
);
