import Sqlite from "better-sqlite3";
import type { Queries } from "./database.ts";
import { toSqliteStorageError } from "./sqlite-errors.ts";
import { findProblems } from "./sqlite-maintenance.ts";
import { createStatements } from "./sqlite-statements.ts";
import { toQueries } from "./sqlite.ts";

/** A database that is only read, whether another process has it open or not. */
export interface SqliteReader extends Queries {
  /** Returns the problems that SQLite finds in the file, one sentence each. Reads the whole file, blocking the thread. */
  integrityCheck(): string[];
  close(): void;
}

/** Opens an existing database without changing or migrating it. @throws StorageError */
export function openSqliteReader(path: string): SqliteReader {
  try {
    const connection = new Sqlite(path, { readonly: true, fileMustExist: true });
    return {
      ...toQueries(createStatements(connection)),
      integrityCheck: () => findProblems(connection, "integrity_check"),
      close: () => void connection.close(),
    };
  } catch (error) {
    throw toSqliteStorageError(error, path);
  }
}
