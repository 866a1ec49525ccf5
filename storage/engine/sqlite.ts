import { StorageError } from "./database.ts";
import type { Queries, SqlValue } from "./database.ts";
import type { MigratableDatabase } from "./migrate.ts";
import { createRowMemo } from "./row-memo.ts";
import { createScopes } from "./scope.ts";
import { connect, foldLog } from "./sqlite-connect.ts";
import { watchDatabaseFile } from "./database-file.ts";
import { backupDatabase, findProblems } from "./sqlite-maintenance.ts";
import { createStatements } from "./sqlite-statements.ts";
import type { Statements } from "./sqlite-statements.ts";
import { createWriter } from "./sqlite-writer.ts";

export interface SqliteOptions {
  /** The file, made when absent in a directory that exists; `:memory:` for a database that ends with `close`. */
  readonly path: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A serialized database that `:memory:` starts with. */
  readonly image?: Uint8Array | undefined;
  /** Told of a transaction that was undone because it did not end. */
  readonly onStuck?: ((message: string) => void) | undefined;
  /** Nobody else writes the file: then rows that were read are remembered until the next commit. */
  readonly isSoleWriter?: boolean;
  /** How long a transaction may be open before it is undone; 30,000. It only awaits statements, so it takes milliseconds. */
  readonly transactionTimeoutMs?: number;
  /** How long a statement waits for another process's lock, holding the thread; 2,000. */
  readonly busyTimeoutMs?: number;
}

/** What only the embedded database can do besides. */
export interface SqliteDatabase extends MigratableDatabase {
  readonly dialect: "sqlite";
  /** The file, or `:memory:`. */
  readonly path: string;
  /** What `integrity_check` and `foreign_key_check` find, one sentence each; empty when sound. Reads the whole file, holding the thread. */
  integrityCheck(): Promise<string[]>;
  /** What `quick_check` finds: as `integrityCheck`, without comparing indexes and foreign keys. */
  quickCheck(): Promise<string[]>;
  /**
   * Writes a consistent copy as of this moment to `toPath` (mode 0600) while others read and write.
   * Refuses with `failed` when the file exists; leaves none when it fails.
   */
  backup(toPath: string): Promise<void>;
  /** The whole database as bytes, to be an `image`. */
  serialize(): Uint8Array;
}

const TRANSACTION_TIMEOUT_MS = 30_000;
const BUSY_TIMEOUT_MS = 2_000;

/**
 * Opens an SQLite database: durable commits (write-ahead log, `synchronous=FULL`), one connection that writes and
 * one that reads. Throws `StorageError`: `corrupt` for a file that is no database, `readonly`, `full`, `busy`, `failed`.
 */
export function openSqlite(options: SqliteOptions): SqliteDatabase {
  const { path, clock } = options;
  const { forWriting, forReading } = connect(options, options.busyTimeoutMs ?? BUSY_TIMEOUT_MS);
  const memo = options.isSoleWriter === true ? createRowMemo(clock) : undefined;
  const file = path === ":memory:" ? undefined : watchDatabaseFile(path);
  const writer = createWriter(forWriting, {
    onCommit: memo?.clear,
    assertWritable: file?.assertInPlace,
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

  /** On a shared connection a read between the statements of a transaction would see what has not committed. */
  function mustQueue(sql: string): boolean {
    return !reading.isRead(sql) || (isShared && writer.isOpen());
  }

  return {
    dialect: "sqlite",
    path,
    ...(file === undefined ? {} : { assertInPlace: file.assertInPlace }),
    async get<T extends object>(sql: string, ...values: SqlValue[]) {
      assertUsable();
      if (!mustQueue(sql)) {
        const read = () => reading.get<T>(sql, values);
        return memo === undefined ? read() : memo.get(sql, values, read);
      }
      return writer.statement(() => writing.get<T>(sql, values));
    },
    async all<T extends object>(sql: string, ...values: SqlValue[]) {
      assertUsable();
      if (!mustQueue(sql)) return reading.all<T>(sql, values);
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
        if (!isShared) forReading.close();
        try {
          foldLog(forWriting);
        } finally {
          forWriting.close();
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

/** The statements of a connection as the port's three verbs. */
function toQueries(statements: Statements): Queries {
  return {
    get: async <T extends object>(sql: string, ...values: SqlValue[]) =>
      statements.get<T>(sql, values),
    all: async <T extends object>(sql: string, ...values: SqlValue[]) =>
      statements.all<T>(sql, values),
    run: async (sql, ...values) => statements.run(sql, values),
  };
}
