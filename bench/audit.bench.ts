import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database, Transaction } from "../storage/engine/database.ts";
import { migrate, readMigrations } from "../storage/engine/migrate.ts";
import { openPostgres } from "../storage/engine/postgres.ts";
import { openSqlite } from "../storage/engine/sqlite.ts";
import { insertAudit } from "../storage/tables/vault/audit.ts";
import { createServerDatabases } from "../test/support/storage/postgres-server.ts";

// Changes with an audit record, as part of the chain of hashes and without it, alone and by many callers at once; on SQLite, and
// on the PostgreSQL server of CROFT_TEST_POSTGRES_URL by one daemon and by two.

const CHANGES = 1_000;
const ROUNDS = 3;
const record = {
  eventType: "cloud.file_downloaded",
  ipAddress: "192.0.2.1",
  metadata: { name: "a file of usual length.pdf", size_bytes: 12_345 },
};

const chained = (tx: Transaction) => insertAudit(tx, record);
const plain = (tx: Transaction) =>
  tx.run(
    "INSERT INTO vault_audit (event_type, ip_address, metadata, created_at) VALUES (?, ?, ?, ?)",
    record.eventType,
    record.ipAddress,
    JSON.stringify(record.metadata),
    tx.now,
  );

/** Returns changes per second: each is a row and its audit record in one transaction. */
async function rate(
  databases: readonly Database[],
  callers: number,
  audit: (tx: Transaction) => Promise<unknown>,
): Promise<number> {
  const start = performance.now();
  let left = CHANGES;
  const call = async (db: Database) => {
    while (left-- > 0) {
      const key = `bench ${left} ${start}`;
      await db.transaction(async (tx) => {
        await tx.run(
          "INSERT INTO rate_limits (key, points, expires_at) VALUES (?, 1, ?)",
          key,
          tx.now,
        );
        await audit(tx);
      });
    }
  };
  await Promise.all(
    Array.from({ length: callers }, (_, index) => call(databases[index % databases.length]!)),
  );
  return (CHANGES / (performance.now() - start)) * 1_000;
}

async function compare(name: string, databases: readonly Database[]): Promise<void> {
  for (const callers of [1, 32]) {
    const rates = { chained: 0, plain: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      rates.plain = Math.max(rates.plain, await rate(databases, callers, plain));
      rates.chained = Math.max(rates.chained, await rate(databases, callers, chained));
    }
    console.log(
      `${name}, ${callers} callers: ${Math.round(rates.chained)} changes/s in the chain, ${Math.round(rates.plain)} without it, ${(rates.chained / rates.plain).toFixed(2)}`,
    );
  }
}

const folder = mkdtempSync(join(process.env["CROFT_BENCH_DISK"] ?? tmpdir(), "croft-bench-"));
const sqlite = openSqlite({ path: join(folder, "croft.db"), clock: Date.now });
await migrate(sqlite, readMigrations());
await compare("SQLite", [sqlite]);
await sqlite.close();
rmSync(folder, { recursive: true });

const server = process.env["CROFT_TEST_POSTGRES_URL"];
if (server === undefined) console.log("PostgreSQL: skipped, CROFT_TEST_POSTGRES_URL is not set");
else {
  const made = createServerDatabases(server);
  const url = await made.create();
  const daemons = [
    await openPostgres({ url, clock: Date.now }),
    await openPostgres({ url, clock: Date.now }),
  ];
  await migrate(daemons[0]!, readMigrations());
  await compare("PostgreSQL, one daemon", daemons.slice(0, 1));
  await compare("PostgreSQL, two daemons", daemons);
  for (const each of daemons) await each.close();
  await made.dropAll();
}
