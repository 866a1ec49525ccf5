import Sqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { isSerializationFailure, StorageError } from "../../../../storage/engine/database.ts";
import {
  hasLostConnection,
  toPostgresStorageError,
} from "../../../../storage/engine/postgres-errors.ts";
import {
  toFileStorageError,
  toSqliteStorageError,
} from "../../../../storage/engine/sqlite-errors.ts";

describe("SQLite's result codes", () => {
  test.each([
    ["SQLITE_CONSTRAINT_UNIQUE", "conflict"],
    ["SQLITE_CONSTRAINT_PRIMARYKEY", "conflict"],
    ["SQLITE_CONSTRAINT_ROWID", "conflict"],
    ["SQLITE_CONSTRAINT_CHECK", "conflict"],
    ["SQLITE_CONSTRAINT_FOREIGNKEY", "conflict"],
    ["SQLITE_CONSTRAINT_NOTNULL", "failed"],
    ["SQLITE_CONSTRAINT_DATATYPE", "failed"],
    ["SQLITE_BUSY", "busy"],
    ["SQLITE_BUSY_SNAPSHOT", "busy"],
    ["SQLITE_LOCKED", "busy"],
    ["SQLITE_FULL", "full"],
    ["SQLITE_IOERR_SHMSIZE", "full"],
    ["SQLITE_READONLY", "readonly"],
    ["SQLITE_READONLY_DBMOVED", "readonly"],
    ["SQLITE_CORRUPT", "corrupt"],
    ["SQLITE_CORRUPT_INDEX", "corrupt"],
    ["SQLITE_NOTADB", "corrupt"],
    ["SQLITE_CANTOPEN", "failed"],
    ["SQLITE_IOERR_FSYNC", "failed"],
    ["SQLITE_ERROR", "failed"],
  ])("%s is %s", (code, expected) => {
    const error = new Sqlite.SqliteError("words that say FULL, BUSY and UNIQUE", code);
    expect(toSqliteStorageError(error, "SELECT 1").code).toBe(expected);
  });

  test("a StorageError passes through", () => {
    const error = new StorageError("full", "no room");
    expect(toSqliteStorageError(error, "SELECT 1")).toBe(error);
    expect(toPostgresStorageError(error, "SELECT 1")).toBe(error);
  });
});

describe("errors of the file system", () => {
  test.each([
    ["EACCES", "readonly", "check its owner and mode"],
    ["EROFS", "readonly", "check its owner and mode"],
    ["ENOSPC", "full", "free some disk space"],
    ["EDQUOT", "full", "free some disk space"],
    ["ENOENT", "failed", "cannot be opened"],
  ])("%s is %s and names the remedy", (code, expected, words) => {
    const error = toFileStorageError(Object.assign(new Error("no"), { code }), "/home/croft.db");
    expect(error.code).toBe(expected);
    expect(error.message).toContain("/home/croft.db");
    expect(error.message).toContain(words);
  });
});

describe("PostgreSQL's states", () => {
  const serverError = (code: string, more: object = {}) =>
    Object.assign(new Error("the server's words"), { code, ...more });

  test.each([
    ["23505", "conflict"],
    ["23514", "conflict"],
    ["23503", "conflict"],
    ["23502", "failed"],
    ["40001", "busy"],
    ["40P01", "busy"],
    ["57014", "busy"],
    ["55P03", "busy"],
    ["53300", "busy"],
    ["53100", "full"],
    ["25006", "readonly"],
    ["XX001", "corrupt"],
    ["42703", "failed"],
    ["28P01", "failed"],
  ])("%s is %s", (state, expected) => {
    expect(toPostgresStorageError(serverError(state), "SELECT 1").code).toBe(expected);
  });

  test("identifies a constraint by its columns when it has some", () => {
    const indexes = new Map([["users_email_key", "users.email"]]);
    const unique = serverError("23505", { constraint: "users_email_key" });
    const check = serverError("23514", { constraint: "users_age_positive" });
    expect(toPostgresStorageError(unique, "", indexes).constraint).toBe("users.email");
    expect(toPostgresStorageError(check, "", indexes).constraint).toBe("users_age_positive");
  });

  test("values of a statement stay out of message and cause", () => {
    const detail = "Key (email)=(mira@example.org) already exists.";
    const duplicate = toPostgresStorageError(serverError("23505", { detail }), "INSERT");
    const bad = Object.assign(new Error('invalid input syntax for type bigint: "mira"'), {
      code: "22P02",
    });
    for (const error of [duplicate, toPostgresStorageError(bad, "INSERT")])
      expect(
        `${error.message} ${String(error.cause)} ${JSON.stringify(error.cause)}`,
      ).not.toContain("mira");
  });

  test("distinguishes serialization failures from lost connections", () => {
    const of = (error: unknown) => toPostgresStorageError(error, "SELECT 1");
    const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const terminated = new Error("Connection terminated unexpectedly");
    expect(
      [serverError("40001"), serverError("40P01")].map(of).map(isSerializationFailure),
    ).toEqual([true, true]);
    expect([serverError("23505"), reset].map(of).map(isSerializationFailure)).toEqual([
      false,
      false,
    ]);
    const lost = [reset, terminated, serverError("57P01"), serverError("08006")];
    expect(lost.map(of).map(hasLostConnection)).toEqual([true, true, true, true]);
    // The server may be back at the next attempt: not a bug.
    expect(lost.map((error) => of(error).code)).toEqual(["busy", "busy", "busy", "busy"]);
    expect(of(serverError("08P01")).code).toBe("failed");
    const kept = [serverError("23505"), serverError("42P01"), new StorageError("failed", "misuse")];
    expect(kept.map(of).map(hasLostConnection)).toEqual([false, false, false]);
    expect(hasLostConnection(new Error("a service's own"))).toBe(false);
  });
});
