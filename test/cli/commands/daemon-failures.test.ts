import { expect, test } from "vitest";
import { CliError } from "../../../cli/errors.ts";
import { toDaemonFailure } from "../../../cli/support/daemon-failures.ts";
import { StorageError, type StorageErrorCode } from "../../../storage/engine/database.ts";

const cases: readonly (readonly [StorageErrorCode, string, string])[] = [
  ["readonly", "attempt to write a readonly database (SQLITE_READONLY)", "file_error"],
  ["busy", "database is locked (SQLITE_BUSY)", "already_running"],
  ["corrupt", "database disk image is malformed (SQLITE_CORRUPT)", "storage_unusable"],
  ["failed", "no such table: jobs (SQLITE_ERROR)", "storage_unusable"],
];

test.each(cases)("of a database that is %s no statement is shown", (code, message, to) => {
  const error = new StorageError(code, `${message} in: INSERT INTO instance\n VALUES (?)`);
  const failure = toDaemonFailure(error, {});
  expect(failure).toBeInstanceOf(CliError);
  expect(failure).toMatchObject({
    code: to,
    details: { hint: expect.stringMatching(/./) as string },
  });
  expect((failure as CliError).message).not.toMatch(/INSERT|VALUES/);
});

test("a sentence that was written for people stays as it is", () => {
  const words = "/home/croft.db is the database of another program: move it away";
  const failure = toDaemonFailure(new StorageError("corrupt", words), {});
  expect(failure).toMatchObject({ code: "storage_unusable", message: words });
});

test.each([
  ['database "x" does not exist (SQLSTATE 3D000) in: connecting to db/x', /create the database/],
  ["no answer from the PostgreSQL server (ECONNREFUSED): connecting to db/x", /start the server/],
  [
    "no answer from the PostgreSQL server (The server does not support SSL connections): connecting to db/x",
    /sslmode=disable/,
  ],
  ["permission denied for schema public (SQLSTATE 42501) in: CREATE TABLE t (n)", /the rights/],
  ['relation "jobs" already exists (SQLSTATE 42P07) in: CREATE TABLE jobs (n)', /another program/],
])("of a server comes with the remedy, and without statements: %s", (words, hint) => {
  const failure = toDaemonFailure(new StorageError("failed", words), {}) as CliError;
  expect(failure.details.hint).toMatch(hint);
  expect(failure.message).not.toContain("CREATE TABLE");
});
