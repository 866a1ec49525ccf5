import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StorageError } from "./database.ts";
import type { Database, Queries, Transaction } from "./database.ts";
import { toDialectStatements } from "./dialect.ts";

/** One step of the schema: a file `NNNN_name.sql`. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly script: string;
  /** SHA-256 of the script with `\n` line ends, in hex. */
  readonly hash: string;
}

/** Returns the migrations in `directory` (croft's own by default), by version. Throws `failed` for an invalid or duplicate number. */
export function readMigrations(
  directory = fileURLToPath(new URL("../migrations/", import.meta.url)),
): Migration[] {
  const migrations = readdirSync(directory)
    .filter((file) => file.endsWith(".sql"))
    .map((file) => readMigration(directory, file))
    .sort((a, b) => a.version - b.version);
  for (const [index, { version }] of migrations.entries())
    if (migrations[index - 1]?.version === version)
      throw new StorageError("failed", `two migrations have the number ${version}`);
  return migrations;
}

function readMigration(directory: string, file: string): Migration {
  const [, version, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? [];
  if (version === undefined || name === undefined)
    throw new StorageError("failed", `a migration is called NNNN_name.sql, not ${file}`);
  // A checkout on Windows may have changed the line ends, which does not change the migration.
  const script = readFileSync(join(directory, file), "utf8").replaceAll("\r\n", "\n");
  const hash = createHash("sha256").update(script).digest("hex");
  return { version: Number(version), name, script, hash };
}

/** A database with the additional operations that migrations need. */
export interface MigratableDatabase extends Database {
  /**
   * Runs `work` while holding the migration lock of this database. Foreign keys may be unchecked meanwhile: otherwise SQLite
   * cannot rebuild a table that others refer to.
   */
  whileMigrating(work: () => Promise<void>): Promise<void>;
}

/**
 * Updates the schema: applies each step that `schema_migrations` does not hold, in order, in a transaction of its own.
 * The next run completes an interrupted one. Throws `failed` without any change when the database was made by a later
 * version of croft or an applied step has been edited.
 */
export function migrate(
  db: MigratableDatabase,
  migrations: readonly Migration[],
  options: MigrateOptions = {},
): Promise<void> {
  return db.whileMigrating(() => applyMissing(db, migrations, options));
}

export interface MigrateOptions {
  /** Runs before the first missing step of a database that has steps already. Its failure keeps the schema as it is. */
  readonly beforeChange?: (firstStep: Migration) => Promise<void>;
  /** Names the database in refusals; left out for the one that the daemon serves. */
  readonly copy?: string;
}

async function applyMissing(
  db: Database,
  migrations: readonly Migration[],
  { beforeChange, copy }: MigrateOptions,
): Promise<void> {
  for (const statement of toDialectStatements(HISTORY, db.dialect)) await db.run(statement);
  const applied = await listApplied(db);
  for (const row of applied) assertKnown(row, migrations, db.dialect, copy);
  const versions = new Set(applied.map((row) => row.version));
  const missing = migrations.filter(({ version }) => !versions.has(version));
  const [first] = missing;
  if (first !== undefined && applied.length > 0) await beforeChange?.(first);
  for (const migration of missing) await apply(db, migration);
}

const HISTORY = `CREATE TABLE IF NOT EXISTS schema_migrations (
  version INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`;

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly hash: string;
}

function listApplied(db: Queries): Promise<Applied[]> {
  return db.all<Applied>("SELECT version, name, hash FROM schema_migrations ORDER BY version");
}

function assertKnown(
  row: Applied,
  migrations: readonly Migration[],
  dialect: Database["dialect"],
  copy: string | undefined,
): void {
  const migration = migrations.find(({ version }) => version === row.version);
  // A database on a server is restored with the tools of the server.
  const tool =
    dialect === "sqlite" ? "`croft daemon restore --database latest`" : "the server's own tools";
  const name = copy ?? "the database";
  const remedy = copy === undefined ? `restore a backup with ${tool}` : "take another copy";
  const step = `${String(row.version).padStart(4, "0")}_${row.name}`;
  if (migration === undefined)
    throw new StorageError(
      "failed",
      `${name} was made by a later croft (it has ${step}, which this one does not know): ` +
        `upgrade croft, or ${remedy}`,
    );
  if (migration.hash !== row.hash)
    throw new StorageError(
      "failed",
      `migration ${step} is not the one that made ${copy ?? "this database"}: ` +
        `run the croft that made it, or ${remedy}`,
    );
}

async function apply(db: Database, migration: Migration): Promise<void> {
  const statements = toDialectStatements(migration.script, db.dialect);
  await db.transaction(async (tx) => {
    // Rebuilding a large table or index takes longer than a request may.
    if (tx.dialect === "postgres") await tx.run("SET LOCAL statement_timeout = 0");
    for (const statement of statements) await tx.run(statement);
    if (tx.dialect === "sqlite") await assertNoOrphans(tx, migration);
    await tx.run(
      "INSERT INTO schema_migrations (version, name, hash, applied_at) VALUES (?, ?, ?, ?)",
      migration.version,
      migration.name,
      migration.hash,
      tx.now,
    );
  });
}

async function assertNoOrphans(tx: Transaction, { version, name }: Migration): Promise<void> {
  const orphan = await tx.get<{ table: string; parent: string }>(
    'SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1',
  );
  if (orphan !== undefined)
    throw new StorageError(
      "failed",
      `migration ${version} ${name} leaves rows in ${orphan.table} without theirs in ${orphan.parent}`,
    );
}
