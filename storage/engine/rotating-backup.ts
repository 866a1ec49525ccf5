import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncFile, syncFolder } from "../sync.ts";
import { assertIntact } from "./database-file.ts";
import type { SqliteDatabase } from "./sqlite.ts";

export interface RotatingBackupOptions {
  /** The folder of the copies. Other files in it stay untouched. */
  readonly folder: string;
  /** On the same file system: a copy is renamed into `folder` when it is complete. */
  readonly temporaryFolder: string;
  /** The number of copies to keep, this one included. */
  readonly count: number;
  /** Epoch milliseconds, for the copy's name. */
  readonly now: number;
}

/** Returns whether a file has the name of such a copy, or of one from before a migration. */
export function isCopyName(name: string): boolean {
  return NIGHTLY.test(name) || BEFORE_MIGRATION.test(name);
}

const NIGHTLY = /^croft-\d{8}-\d{6}\.db$/;
const BEFORE_MIGRATION = /^croft-\d{8}-\d{6}-before-\d{4}\.db$/;

/** Formats a time (epoch milliseconds) for the name of a copy: `20261121-173000`, in UTC. */
export function copyTime(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
}

/**
 * Writes a consistent copy of the database to a file `croft-YYYYMMDD-HHMMSS.db` (UTC) and deletes the oldest copies
 * beyond `count`. Deletes no copy when the new one fails. Does not copy a damaged database, because bad copies would
 * replace the good ones. Returns the path.
 */
export async function backUpDatabase(
  db: Pick<SqliteDatabase, "backup" | "path" | "quickCheck">,
  options: RotatingBackupOptions,
): Promise<string> {
  await assertIntact(db);
  return writeCopy(db, `croft-${copyTime(options.now)}.db`, NIGHTLY, options);
}

/**
 * Writes a copy of a database whose schema is about to change, `croft-YYYYMMDD-HHMMSS-before-NNNN.db` with the number of the
 * first step, and deletes the oldest such copies beyond `count`. An earlier croft reads the copy. Returns the path.
 */
export function copyBeforeMigration(
  db: Pick<SqliteDatabase, "backup">,
  version: number,
  options: RotatingBackupOptions,
): Promise<string> {
  const step = String(version).padStart(4, "0");
  const name = `croft-${copyTime(options.now)}-before-${step}.db`;
  return writeCopy(db, name, BEFORE_MIGRATION, options);
}

/** Writes a copy and prunes those whose names have the same form. */
async function writeCopy(
  db: Pick<SqliteDatabase, "backup">,
  name: string,
  form: RegExp,
  { folder, temporaryFolder, count }: RotatingBackupOptions,
): Promise<string> {
  const half = join(temporaryFolder, `backup-${name}`);
  await rm(half, { force: true });
  await db.backup(half);
  await syncFile(half);
  const path = join(folder, name);
  await rename(half, path);
  await syncFolder(folder);
  // Keeps the new copy even when the clock was set back and older copies have later names.
  const others = (await readdir(folder))
    .filter((other) => form.test(other) && other !== name)
    .toSorted();
  for (const old of others.slice(0, Math.max(0, others.length + 1 - count)))
    await rm(join(folder, old), { force: true });
  return path;
}
