import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "./database.ts";
import type { Queries, SqlValue } from "./database.ts";
import type { MigratableDatabase } from "./migrate.ts";
import { createRowCache } from "./row-cache.ts";
import { createScopes } from "./scope.ts";
import { connect, checkpoint } from "./sqlite-connect.ts";
import type { SyncDescriptor } from "./database-log.ts";
import { backupDatabase, findProblems } from "./sqlite-maintenance.ts";
import { createStatements } from "./sqlite-statements.ts";
import type { Statements } from "./sqlite-statements.ts";
import { createWriter, isBusy } from "./sqlite-writer.ts";

export interface SqliteOptions {
  /** The file, created when it is missing in an existing folder; `:memory:` for a database that ends with `close`. */
  readonly path: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A serialized database as the initial content of `:memory:`. */
  readonly image?: Uint8Array | undefined;
  /** Called when a transaction is rolled back because it stayed open too long. */
  readonly onStuck?: ((message: string) => void) | undefined;
  /** No other process writes the file: then rows are cached until the next commit. */
  readonly isSoleWriter?: boolean;
  /** How long a transaction may stay open before it is rolled back; 30,000. It awaits statements only, so it takes milliseconds. */
  readonly transactionTimeoutMs?: number;
  /**
   * How long a write waits for another process's write lock before it fails as `busy`; 5,000. Reads go on meanwhile.
   */
  readonly busyTimeoutMs?: number;
  /** Syncs the log after each commit; `fdatasync` in libuv's pool. */
  readonly syncLog?: SyncDescriptor | undefined;
}

/** The embedded database with the operations that only it has. */
export interface SqliteDatabase extends MigratableDatabase {
  readonly dialect: "sqlite";
  /** The file, or `:memory:`. */
  readonly path: string;
  /** Returns the problems that `integrity_check` and `foreign_key_check` find, one sentence each. Reads the whole file, blocking the thread. */
  integrityCheck(): Promise<string[]>;
  /** Returns the problems that `quick_check` finds: as `integrityCheck`, without indexes and foreign keys. */
  quickCheck(): Promise<string[]>;
  /**
   * Writes a consistent copy to `toPath` (mode 0600) during concurrent reads and writes.
   * Throws `failed` when the file exists. Leaves no file when it fails.
   */
  backup(toPath: string): Promise<void>;
  /** Returns the whole database as bytes, for `image`. */
  serialize(): Uint8Array;
}

const TRANSACTION_TIMEOUT_MS = 30_000;
const BUSY_TIMEOUT_MS = 5_000;
/** How long the start waits for another process, blocking the thread. */
const OPEN_TIMEOUT_MS = 2_000;
/** Attempts of a read to get past a process that recovers or resets the log, and the wait between two of them. */
const READ_ATTEMPTS = 40;
const READ_RETRY_MS = 25;

/**
 * Opens an SQLite database: durable commits (write-ahead log, synced after each commit without blocking the thread), one
 * connection that writes and one that reads. A reader may see a commit before it is durable. Throws `StorageError`: `corrupt` for a file that is not a database,
 * `readonly`, `full`, `busy`, `failed`.
 */
export function openSqlite(options: SqliteOptions): SqliteDatabase {
  const { path, clock } = options;
  const { forWriting, forReading, file } = connect(options, OPEN_TIMEOUT_MS);
  const cache = options.isSoleWriter === true ? createRowCache(clock) : undefined;
  const writer = createWriter(forWriting, {
    busyTimeoutMs: options.busyTimeoutMs ?? BUSY_TIMEOUT_MS,
    onCommit: cache?.clear,
    sync: file?.log.sync,
    assertWritable: file?.assertWritable,
  });
  const writing = createStatements(forWriting);
  const isShared = forReading === forWriting;
  const reading = isShared ? writing : createStatements(forReading);
  const scopes = createScopes({
    dialect: "sqlite",
    timeoutMs: options.transactionTimeoutMs ?? TRANSACTION_TIMEOUT_MS,
    onStuck: options.onStuck,
  });
  const insideTransaction = toQueries(writing);
  let closing: Promise<void> | undefined;

  function assertUsable(): void {
    if (closing !== undefined) throw new StorageError("closed", "the database is closed");
    scopes.assertOutside();
  }

  /** Returns whether a read must wait: on a shared connection it would see the uncommitted changes of a transaction. */
  function mustQueue(sql: string): boolean {
    return !reading.isRead(sql) || (isShared && writer.isOpen());
  }

  return {
    dialect: "sqlite",
    path,
    ...(file === undefined ? {} : { assertWritable: file.assertWritable }),
    async get<T extends object>(sql: string, ...values: SqlValue[]) {
      assertUsable();
      if (!mustQueue(sql)) {
        const read = () => reading.get<T>(sql, values);
        return patiently(() => (cache === undefined ? read() : cache.get(sql, values, read)));
      }
      return writer.statement(() => writing.get<T>(sql, values));
    },
    async all<T extends object>(sql: string, ...values: SqlValue[]) {
      assertUsable();
      if (!mustQueue(sql)) return patiently(() => reading.all<T>(sql, values));
      return writer.statement(() => writing.all<T>(sql, values));
    },
    async run(sql, ...values) {
      assertUsable();
      return writer.statement(() => writing.run(sql, values));
    },
    async transaction(work) {
      assertUsable();
      return writer.transaction(() => scopes.run(insideTransaction, clock(), work));
    },
    close: () =>
      (closing ??= writer.drain().then(() => {
        const keepsLog = file?.log.isSynced() === false;
        if (!isShared && !keepsLog) forReading.close();
        try {
          forWriting.pragma(`busy_timeout = ${OPEN_TIMEOUT_MS}`);
          if (!keepsLog) checkpoint(forWriting, "TRUNCATE");
        } finally {
          file?.log.close();
          forWriting.close();
          // After a failed sync the log stays for the next start, which checks it: another sync would report success without a
          // write. SQLite checkpoints and deletes it with the last connection, unless that only reads.
          if (keepsLog) forReading.close();
        }
      })),
    async whileMigrating(work) {
      forWriting.pragma("foreign_keys = OFF");
      try {
        await scopes.withoutLimit(work);
      } finally {
        forWriting.pragma("foreign_keys = ON");
      }
    },
    async integrityCheck() {
      assertUsable();
      return findProblems(forReading, "integrity_check");
    },
    async quickCheck() {
      assertUsable();
      return findProblems(forReading, "quick_check");
    },
    async backup(toPath) {
      assertUsable();
      await backupDatabase(isShared ? forReading : path, toPath);
    },
    serialize: () => forReading.serialize(),
  };
}

/**
 * Runs a read. It never waits for a writer, but another process may hold the file alone for a moment, such as one that
 * recovers the log: then it is tried again.
 */
function patiently<T>(read: () => T): T | Promise<T> {
  try {
    return read();
  } catch (error) {
    if (!isBusy(error)) throw error;
    return readLater(read);
  }
}

async function readLater<T>(read: () => T): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    await sleep(READ_RETRY_MS);
    try {
      return read();
    } catch (error) {
      if (!isBusy(error) || attempt >= READ_ATTEMPTS) throw error;
    }
  }
}

/** Creates the methods of the port from the statements of a connection. */
export function toQueries(statements: Statements): Queries {
  return {
    get: async <T extends object>(sql: string, ...values: SqlValue[]) =>
      statements.get<T>(sql, values),
    all: async <T extends object>(sql: string, ...values: SqlValue[]) =>
      statements.all<T>(sql, values),
    run: async (sql, ...values) => statements.run(sql, values),
  };
}
