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
import { watchDatabaseFile } from "./database-file.ts";
import { type DatabaseLog, type SyncDescriptor, openDatabaseLog } from "./database-log.ts";
import { StorageError } from "./database.ts";
import { toFileStorageError, toSqliteStorageError } from "./sqlite-errors.ts";
import { assertOwnDatabase } from "./sqlite-maintenance.ts";

/**
 * The two connections of a database; both are the same one for a database in memory. A statement that finds the lock of
 * another process fails at once: waiting would block the thread.
 */
export interface Connections {
  readonly forWriting: Sqlite.Database;
  readonly forReading: Sqlite.Database;
  /** Undefined for a database in memory. */
  readonly file:
    | {
        readonly log: DatabaseLog;
        /** Throws when further writes would be lost: see `Database`. */
        readonly assertWritable: () => void;
      }
    | undefined;
}

export interface ConnectOptions {
  readonly path: string;
  readonly image?: Uint8Array | undefined;
  readonly syncLog?: SyncDescriptor | undefined;
}

/**
 * Opens and configures both connections; waits for other processes for `busyTimeoutMs` meanwhile, blocking the thread. Throws
 * `StorageError` with the problem of the file.
 */
export function connect(
  { path, image, syncLog }: ConnectOptions,
  busyTimeoutMs: number,
): Connections {
  if (path === ":memory:") {
    const connection = new Sqlite(image === undefined ? path : Buffer.from(image));
    assertOwnDatabase(connection, path);
    configure(connection);
    return { forWriting: connection, forReading: connection, file: undefined };
  }
  assertUsable(path);
  const opened: Sqlite.Database[] = [];
  try {
    makeMissing(path);
    const forWriting = new Sqlite(path, { timeout: busyTimeoutMs });
    opened.push(forWriting);
    assertOwnDatabase(forWriting, path);
    keepLog(forWriting, path);
    configure(forWriting);
    const forReading = new Sqlite(path, { timeout: busyTimeoutMs, readonly: true });
    opened.push(forReading);
    configure(forReading);
    // After a crash the log may hold commits that were never synced. This process shows them, so they must be durable.
    checkpoint(forWriting, "PASSIVE");
    for (const connection of opened) connection.pragma("busy_timeout = 0");
    return { forWriting, forReading, file: openFile(path, syncLog) };
  } catch (error) {
    for (const connection of opened) connection.close();
    throw toOpenError(error, path);
  }
}

/** Watches the file of a database that SQLite has opened, and opens its log. */
function openFile(path: string, syncLog: SyncDescriptor | undefined): Connections["file"] {
  const { assertInPlace } = watchDatabaseFile(path);
  const log = openDatabaseLog(path, syncLog);
  return {
    log,
    assertWritable(): void {
      assertInPlace();
      log.assertSynced();
    },
  };
}

function configure(connection: Sqlite.Database): void {
  // SQLite syncs the log before a checkpoint and the database after it, but no commit: `DatabaseLog` does that.
  connection.pragma("synchronous = NORMAL");
  // macOS only: without it SQLite's fsync leaves the data in the drive's cache.
  connection.pragma("fullfsync = ON");
  connection.pragma("foreign_keys = ON");
  // The file may come from a restored backup: nothing in its schema may call functions with side effects.
  connection.pragma("trusted_schema = OFF");
  connection.pragma("cell_size_check = ON");
  connection.pragma("temp_store = MEMORY");
  // Keeps the log small after one large transaction.
  connection.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`);
}

/**
 * Checkpoints the WAL. `TRUNCATE` waits for readers and empties it, so that the file is complete by itself. On a full disk
 * the log stays: it holds every commit, and the next start reads it.
 */
export function checkpoint(connection: Sqlite.Database, mode: "PASSIVE" | "TRUNCATE"): void {
  try {
    connection.pragma(`wal_checkpoint(${mode})`);
  } catch (error) {
    const failure = toSqliteStorageError(error, "wal_checkpoint");
    if (failure.code !== "full" && failure.code !== "readonly") throw failure;
  }
}

const LOG_KEPT_BYTES = 64 * 1024 * 1024;

/** Refuses an empty file: SQLite would treat it as a new database, but it has lost its content. */
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
      `${path} is a link to a missing file: mount its disk, or remove the link to start with an empty database`,
    );
  if (found?.size === 0)
    throw new StorageError(
      "corrupt",
      `${path} is empty: restore a backup with \`croft daemon restore --database latest\`, or remove the file to start with an empty database`,
    );
}

/**
 * Creates a missing file, readable by its owner alone; its log and shared memory inherit its mode. It gets a temporary name
 * first: an interrupted start, or a full disk, leaves no empty file that the next start would refuse.
 */
function makeMissing(path: string): void {
  if (existsSync(path)) return;
  const fresh = `${path}.new`;
  // A log that another database left behind must not be read into this one.
  for (const leftover of [fresh, `${fresh}-wal`, `${fresh}-shm`, `${path}-wal`, `${path}-shm`])
    rmSync(leftover, { force: true });
  try {
    closeSync(openSync(fresh, "wx", 0o600));
    const connection = new Sqlite(fresh);
    try {
      assertOwnDatabase(connection, path);
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
