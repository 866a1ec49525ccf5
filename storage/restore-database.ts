import { constants, copyFile, link, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncFile, syncFolder } from "./sync.ts";
import type { DataDirectory } from "./data-directory.ts";
import { type Queries, StorageError } from "./engine/database.ts";
import { migrate, readMigrations } from "./engine/migrate.ts";
import { copyTime, isCopyName } from "./engine/rotating-backup.ts";
import { openSqlite } from "./engine/sqlite.ts";
import { toFileStorageError } from "./engine/sqlite-errors.ts";
import { findInstanceValue } from "./tables/common/instance.ts";

/**
 * Where a restored database came from, and where the one that it replaced is kept; null when no database was replaced.
 */
export interface RestoredDatabase {
  readonly copy: string;
  readonly kept: string | null;
}

/** The copies that the daemon made of its database, newest first, and then the databases that a restore replaced. */
export async function listCopies({
  backups,
}: Pick<DataDirectory, "backups">): Promise<{ made: string[]; replaced: string[] }> {
  const names = await readdir(backups).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw toFileStorageError(error, backups);
  });
  const sorted = names.toSorted().toReversed();
  return {
    made: sorted.filter(isCopyName),
    replaced: sorted.filter((name) => REPLACED.test(name)),
  };
}

const REPLACED = /^replaced-\d{8}-\d{6}(?:-\d{1,3})?\.db$/;

/**
 * Replaces the embedded database by a copy. Checks a staging file of the copy first: it must be intact, croft's own and not
 * of a later version; updates its schema. Keeps the replaced database in `backups/`, with its log. Only for the holder of
 * the instance lock; an interrupted run is repeated.
 * @throws StorageError `corrupt`, `failed`, `full` or `readonly`, with the present database untouched
 */
export async function restoreDatabase(
  copy: string,
  directory: DataDirectory,
  clock: () => number,
): Promise<RestoredDatabase> {
  const { database, tmp, backups } = directory;
  const fresh = join(tmp, "restored.db");
  for (const end of ENDS) await rm(fresh + end, { force: true });
  try {
    await copyFile(copy, fresh, constants.COPYFILE_EXCL);
    // The database that a restore replaced may have commits in its log.
    await copyFile(`${copy}-wal`, `${fresh}-wal`).catch(ignoreMissing);
    await prepareCopy(fresh, copy, clock);
    await syncFile(fresh);
    const replaced = await keepPresent(database, await freeName(backups, copyTime(clock())));
    await syncFolder(backups);
    // The old log must not be read into the new file.
    await rm(`${database}-wal`, { force: true });
    await rm(`${database}-shm`, { force: true });
    await rename(fresh, database);
    await syncFolder(dirname(database));
    return { copy, kept: replaced };
  } catch (error) {
    for (const end of ENDS) await rm(fresh + end, { force: true });
    throw error instanceof StorageError ? error : toFileStorageError(error, copy);
  }
}

/** A database with its log and its shared memory. */
const ENDS = ["", "-wal", "-shm"] as const;

/**
 * Checks a copy of the database at `path`, brings its schema up to date and lets `adapt` change its rows. `copy` names it in
 * errors.
 * @throws StorageError `corrupt` when it is damaged, empty or not croft's
 */
export async function prepareCopy(
  path: string,
  copy: string,
  clock: () => number,
  adapt?: (db: Queries) => Promise<void>,
): Promise<void> {
  if ((await stat(path)).size === 0) throw new StorageError("corrupt", `${copy} is empty`);
  const db = open(path, copy, clock);
  try {
    const [problem] = await db.integrityCheck();
    if (problem !== undefined)
      throw new StorageError("corrupt", `${copy} is damaged (${problem}); take another copy`);
    await migrate(db, readMigrations(), { copy });
    if ((await findInstanceValue(db, "initialised_at")) === undefined)
      throw new StorageError("corrupt", `${copy} holds no accounts; take another copy`);
    await adapt?.(db);
  } finally {
    await db.close();
  }
}

/** The opened file is croft's own, made from the copy, so errors name the copy. */
function open(path: string, copy: string, clock: () => number): ReturnType<typeof openSqlite> {
  try {
    return openSqlite({ path, clock });
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "corrupt") throw error;
    const words = `${copy} is damaged or no SQLite database; take another copy`;
    throw new StorageError("corrupt", words, { cause: error });
  }
}

/** Two databases may be replaced within a second. */
async function freeName(folder: string, at: string): Promise<string> {
  const names = await readdir(folder);
  let name = `replaced-${at}.db`;
  for (let count = 2; names.includes(name); count += 1) name = `replaced-${at}-${count}.db`;
  return join(folder, name);
}

async function keepPresent(database: string, to: string): Promise<string | null> {
  try {
    await link(database, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    // Not every file system has links.
    await copyFile(database, to, constants.COPYFILE_EXCL);
    await syncFile(to);
  }
  await copyFile(`${database}-wal`, `${to}-wal`)
    .then(() => syncFile(`${to}-wal`))
    .catch(ignoreMissing);
  return to;
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
