import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
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
  assertUsable(path);
  const opened: Sqlite.Database[] = [];
  try {
    makeMissing(path);
    const forWriting = new Sqlite(path, { timeout: busyTimeoutMs });
    opened.push(forWriting);
    claim(forWriting, path);
    keepLog(forWriting, path);
    configure(forWriting);
    const forReading = new Sqlite(path, { timeout: busyTimeoutMs, readonly: true });
    opened.push(forReading);
    configure(forReading);
    return { forWriting, forReading };
  } catch (error) {
    for (const connection of opened) connection.close();
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

/** SQLite would take an empty file for a new database: one that is there has lost what was in it. */
function assertUsable(path: string): void {
  let found: Stats | undefined;
  try {
    accessSync(dirname(path), constants.W_OK);
    found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined) closeSync(openSync(path, "a"));
  } catch (error) {
    throw toFileStorageError(error, path);
  }
  if (found === undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw new StorageError(
      "failed",
      `${path} is a link that leads to no file: mount the disk it leads to, or remove the link to begin anew`,
    );
  if (found?.size === 0)
    throw new StorageError(
      "corrupt",
      `${path} is empty: restore a backup with \`croft daemon restore --database latest\`, or remove the file to begin anew`,
    );
}

/**
 * Makes the file where it is missing, readable by its owner alone; its log and shared memory take over its mode. It is made
 * aside: a start that is cut off, or a full disk, leaves no empty file that the next start would take for a loss.
 */
function makeMissing(path: string): void {
  if (existsSync(path)) return;
  const fresh = `${path}.new`;
  // What is left of another database must not be read into this one.
  for (const left of [fresh, `${fresh}-wal`, `${fresh}-shm`, `${path}-wal`, `${path}-shm`])
    rmSync(left, { force: true });
  try {
    closeSync(openSync(fresh, "wx", 0o600));
    const connection = new Sqlite(fresh);
    try {
      claim(connection, path);
      keepLog(connection, path);
    } finally {
      connection.close();
    }
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error instanceof Sqlite.SqliteError || error instanceof StorageError
      ? error
      : toFileStorageError(error, path);
  }
}

function keepLog(connection: Sqlite.Database, path: string): void {
  if (connection.pragma("journal_mode = WAL", { simple: true }) !== "wal")
    throw new StorageError(
      "failed",
      `the file system of ${path} has no shared memory, which SQLite's log needs`,
    );
}

function toOpenError(error: unknown, path: string): StorageError {
  if (error instanceof StorageError) return error;
  const failure = toSqliteStorageError(error, `opening ${path}`);
  if (failure.code !== "corrupt") return failure;
  return new StorageError(
    "corrupt",
    `${path} is damaged or no SQLite database: restore a backup with \`croft daemon restore --database latest\``,
    { cause: failure },
  );
}
