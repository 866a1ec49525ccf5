import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncFile, syncFolder } from "../sync.ts";
import { assertSound } from "./assert-sound.ts";
import type { SqliteDatabase } from "./sqlite.ts";

export interface RotatingBackupOptions {
  /** Where copies are kept. Other files in it are left alone. */
  readonly folder: string;
  /** On the same file system: a copy appears in `folder` when it is whole. */
  readonly temporaryFolder: string;
  /** How many copies are kept, this one included. */
  readonly kept: number;
  /** Epoch milliseconds: the copy's name is made of it. */
  readonly now: number;
}

/** Whether a file is called like one of these copies. */
export function isCopyName(name: string): boolean {
  return /^croft-\d{8}-\d{6}\.db$/.test(name);
}

/** A moment (epoch milliseconds) as the names of copies tell it: `20261121-173000`, in UTC. */
export function copyTime(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
}

/**
 * Copies the database as of this moment into a file `croft-YYYYMMDD-HHMMSS.db` (UTC) and removes the oldest copies
 * beyond `kept`. Nothing is removed when the copy fails, and a database that is found damaged is not copied: the good copies
 * would go one by one. Returns the path.
 */
export async function backUpDatabase(
  db: Pick<SqliteDatabase, "backup" | "path" | "quickCheck">,
  { folder, temporaryFolder, kept, now }: RotatingBackupOptions,
): Promise<string> {
  const name = `croft-${copyTime(now)}.db`;
  const half = join(temporaryFolder, `backup-${name}`);
  await rm(half, { force: true });
  await assertSound(db);
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
