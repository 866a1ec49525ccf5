import { closeSync, openSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import Sqlite from "better-sqlite3";
import { StorageError } from "./database.ts";
import { toFileStorageError, toSqliteStorageError } from "./sqlite-errors.ts";

/** Runs one of SQLite's own checks and returns the problems; `integrity_check` includes foreign keys. */
export function findProblems(
  connection: Sqlite.Database,
  check: "integrity_check" | "quick_check",
): string[] {
  try {
    const found = connection.prepare(`PRAGMA ${check}`).pluck().all() as string[];
    const isWhole = check === "integrity_check";
    const orphans = (isWhole ? connection.pragma("foreign_key_check") : []) as {
      table: string;
      parent: string;
    }[];
    return [
      ...found.filter((line) => line !== "ok"),
      ...orphans.map(({ table, parent }) => `a row of ${table} names an absent row of ${parent}`),
    ];
  } catch (error) {
    const failure = toSqliteStorageError(error, check);
    if (failure.code === "corrupt") return [failure.message];
    throw failure;
  }
}

/** Pages copied in one turn of the event loop. */
const PAGES_PER_STEP = 256;

/**
 * Writes a consistent copy of a database (a connection in memory, or the path of a file) to `toPath`.
 * Throws `failed` when `toPath` exists. Removes a partial copy when it fails.
 */
export async function backupDatabase(
  from: Sqlite.Database | string,
  toPath: string,
): Promise<void> {
  try {
    closeSync(openSync(toPath, "wx", 0o600));
  } catch (error) {
    throw toFileStorageError(error, toPath);
  }
  try {
    if (typeof from === "string") await copyFile(from, toPath);
    else await from.backup(toPath, { progress: ({ remainingPages }) => remainingPages });
  } catch (error) {
    rmSync(toPath, { force: true });
    throw toSqliteStorageError(error, `backup to ${toPath}`);
  }
}

async function copyFile(path: string, toPath: string): Promise<void> {
  const connection = new Sqlite(path, { readonly: true });
  try {
    // The open read pins a snapshot: without it every commit of another connection would restart the copy.
    connection.exec("BEGIN");
    connection.prepare("SELECT count(*) FROM sqlite_schema").get();
    const copy = await open(toPath, "r+");
    let flushing: Promise<void> | undefined;
    try {
      await connection.backup(toPath, {
        progress() {
          // The copy goes to disk while it is written: a commit's `fsync` waits for it otherwise, on ext4. SQLite itself
          // syncs the whole file at the end and reports its failure.
          flushing ??= copy
            .datasync()
            .catch(() => undefined)
            .finally(() => (flushing = undefined));
          return PAGES_PER_STEP;
        },
      });
    } finally {
      await flushing;
      await copy.close();
    }
  } finally {
    connection.close();
  }
}

/** The application id of croft's databases, by which a database of another program is refused. */
const APPLICATION_ID = 0x63726674;

/** Marks an empty database as croft's. Throws `corrupt` for a database of another program. */
export function assertOwnDatabase(connection: Sqlite.Database, path: string): void {
  const owner = connection.pragma("application_id", { simple: true });
  if (owner === APPLICATION_ID) return;
  const tables = connection.prepare("SELECT count(*) FROM sqlite_schema").pluck().get();
  if (owner !== 0 || tables !== 0)
    throw new StorageError(
      "corrupt",
      `${path} is the database of another program: move it away, or name another folder`,
    );
  connection.pragma(`application_id = ${APPLICATION_ID}`);
}
