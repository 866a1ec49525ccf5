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
  readonly kept: number;
  /** Epoch milliseconds, for the copy's name. */
  readonly now: number;
}

/** Returns whether a file has the name of such a copy. */
export function isCopyName(name: string): boolean {
  return /^croft-\d{8}-\d{6}\.db$/.test(name);
}

/** Formats a time (epoch milliseconds) for the name of a copy: `20261121-173000`, in UTC. */
export function copyTime(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
}

/**
 * Writes a consistent copy of the database to a file `croft-YYYYMMDD-HHMMSS.db` (UTC) and deletes the oldest copies
 * beyond `kept`. Deletes none when the copy fails. Does not copy a damaged database: bad copies would replace the good
 * ones. Returns the path.
 */
export async function backUpDatabase(
  db: Pick<SqliteDatabase, "backup" | "path" | "quickCheck">,
  { folder, temporaryFolder, kept, now }: RotatingBackupOptions,
): Promise<string> {
  const name = `croft-${copyTime(now)}.db`;
  const half = join(temporaryFolder, `backup-${name}`);
  await rm(half, { force: true });
  await assertIntact(db);
  await db.backup(half);
  await syncFile(half);
  const path = join(folder, name);
  await rename(half, path);
  await syncFolder(folder);
  const copies = (await readdir(folder)).filter(isCopyName).toSorted();
  for (const old of copies.slice(0, Math.max(0, copies.length - kept)))
    await rm(join(folder, old), { force: true });
  return path;
}
