import { accessSync, closeSync, constants, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Sqlite from "better-sqlite3";
import { StorageError } from "./database.ts";
import { toFileStorageError, toSqliteStorageError } from "./sqlite-errors.ts";
import { claim } from "./sqlite-maintenance.ts";

/** The two connections of a database; the same one twice when it is in memory. */
export interface Connections {
  readonly forWriting: Sqlite.Database;
  readonly forReading: Sqlite.Database;
}

/** Opens and sets up both connections. Throws `StorageError` with a sentence that says what is wrong with the file. */
export function connect(
  { path, image }: { readonly path: string; readonly image?: Uint8Array | undefined },
  busyTimeoutMs: number,
): Connections {
  if (path === ":memory:") {
    const connection = new Sqlite(image === undefined ? path : Buffer.from(image));
    claim(connection, path);
    configure(connection);
    return { forWriting: connection, forReading: connection };
  }
  const isNew = makeFile(path);
  const opened: Sqlite.Database[] = [];
  try {
    const forWriting = new Sqlite(path, { timeout: busyTimeoutMs });
    opened.push(forWriting);
    claim(forWriting, path);
    if (forWriting.pragma("journal_mode = WAL", { simple: true }) !== "wal")
      throw new StorageError(
        "failed",
        `the file system of ${path} has no shared memory, which SQLite's log needs`,
      );
    configure(forWriting);
    const forReading = new Sqlite(path, { timeout: busyTimeoutMs, readonly: true });
    opened.push(forReading);
    configure(forReading);
    return { forWriting, forReading };
  } catch (error) {
    for (const connection of opened) connection.close();
    // As a disk that is full leaves it; the next start would take it for one that has lost everything.
    if (isNew && statSync(path).size === 0) rmSync(path);
    throw toOpenError(error, path);
  }
}

function configure(connection: Sqlite.Database): void {
  // A commit is on the disk when it is acknowledged, whatever default SQLite was built with.
  connection.pragma("synchronous = FULL");
  // macOS only: without it fsync leaves the data in the drive's cache.
  connection.pragma("fullfsync = ON");
  connection.pragma("foreign_keys = ON");
  // The file may come from a restored backup: nothing in its schema may call functions with side effects.
  connection.pragma("trusted_schema = OFF");
  connection.pragma("cell_size_check = ON");
  connection.pragma("temp_store = MEMORY");
  // One great transaction does not leave a log of its size behind.
  connection.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`);
}

/**
 * Moves the log into the file and empties it, so that the file is complete by itself. On a full disk the log stays:
 * it holds every commit, and the next start reads it.
 */
export function foldLog(connection: Sqlite.Database): void {
  try {
    connection.pragma("wal_checkpoint(TRUNCATE)");
  } catch (error) {
    const failure = toSqliteStorageError(error, "wal_checkpoint");
    if (failure.code !== "full" && failure.code !== "readonly") throw failure;
  }
}

const LOG_KEPT_BYTES = 64 * 1024 * 1024;

/**
 * Makes the file where it is missing, readable by its owner alone; its log and shared memory take over its mode. SQLite
 * would take an empty file for a new database: one that was there before has lost what was in it.
 */
function makeFile(path: string): boolean {
  let isNew = true;
  try {
    try {
      closeSync(openSync(path, "ax", 0o600));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      isNew = false;
      closeSync(openSync(path, "a"));
    }
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw toFileStorageError(error, path);
  }
  if (!isNew && statSync(path).size === 0)
    throw new StorageError(
      "corrupt",
      `${path} is empty: restore a backup with \`croft daemon restore\`, or remove the file to begin anew`,
    );
  return isNew;
}

function toOpenError(error: unknown, path: string): StorageError {
  if (error instanceof StorageError) return error;
  const failure = toSqliteStorageError(error, `opening ${path}`);
  if (failure.code !== "corrupt") return failure;
  return new StorageError(
    "corrupt",
    `${path} is damaged or no SQLite database: restore a backup with \`croft daemon restore\``,
    { cause: failure },
  );
}
