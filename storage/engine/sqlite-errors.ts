import Sqlite from "better-sqlite3";
import { StorageError } from "./database.ts";
import type { StorageErrorCode } from "./database.ts";

/**
 * Converts the failure of an SQLite call by its extended result code. Only the name of the violated constraint comes from
 * the message: SQLite reports it nowhere else. Returns a `StorageError` unchanged.
 */
export function toSqliteStorageError(error: unknown, context: string): StorageError {
  if (error instanceof StorageError) return error;
  if (!(error instanceof Sqlite.SqliteError))
    return new StorageError("failed", `${messageOf(error)} in: ${context}`, { cause: error });
  const code = toCode(error.code);
  return new StorageError(code, `${error.message} (${error.code}) in: ${context}`, {
    cause: error,
    constraint: code === "conflict" ? constraintOf(error.message) : undefined,
  });
}

/** Converts the failure of a file system call on the database's file, by its `errno` name. */
export function toFileStorageError(error: unknown, path: string): StorageError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  switch (code) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new StorageError("readonly", `${path} cannot be written: check its owner and mode`, {
        cause: error,
      });
    case "ENOSPC":
    case "EDQUOT":
      return new StorageError("full", `no room left for ${path}: free some disk space`, {
        cause: error,
      });
    default:
      return new StorageError("failed", `${path} cannot be opened: ${messageOf(error)}`, {
        cause: error,
      });
  }
}

const CONFLICTS = new Set([
  "SQLITE_CONSTRAINT_UNIQUE",
  "SQLITE_CONSTRAINT_PRIMARYKEY",
  "SQLITE_CONSTRAINT_ROWID",
  "SQLITE_CONSTRAINT_CHECK",
  "SQLITE_CONSTRAINT_FOREIGNKEY",
  "SQLITE_CONSTRAINT_TRIGGER",
]);

// By primary code, the part of an extended code before its second underscore. Violated NOT NULL and datatype constraints
// are not conflicts: only a wrong statement causes them.
const BY_PRIMARY_CODE: ReadonlyMap<string, StorageErrorCode> = new Map([
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_READONLY", "readonly"],
  ["SQLITE_PERM", "readonly"],
  ["SQLITE_CORRUPT", "corrupt"],
  ["SQLITE_NOTADB", "corrupt"],
]);

function toCode(extended: string): StorageErrorCode {
  if (CONFLICTS.has(extended)) return "conflict";
  // The shared memory file of both connections could not be extended; mapped memory has no other error for a full disk.
  if (extended === "SQLITE_IOERR_SHMSIZE") return "full";
  const primary = extended.split("_", 2).join("_");
  return BY_PRIMARY_CODE.get(primary) ?? "failed";
}

// "UNIQUE constraint failed: users.email, users.kind", "… failed: index 'users_lower'", "CHECK … failed: is_positive".
// A foreign key has no name here.
function constraintOf(message: string): string | undefined {
  const found = /constraint failed: (?:index '(.+)'|(.+))$/s.exec(message);
  return found?.[1] ?? found?.[2]?.replaceAll(", ", ",");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
