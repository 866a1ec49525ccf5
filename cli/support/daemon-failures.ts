import { CliError, type CliErrorDetails } from "../errors.ts";
import type { CliErrorCode } from "../exit-codes.ts";

/**
 * Converts a failure of the daemon's own code. Distinguishes its errors by name and code, because importing their classes
 * would load the daemon. `refusals` gives the command's meaning of a refusal by its code.
 */
export function toDaemonFailure(
  error: unknown,
  refusals: Readonly<Partial<Record<string, CliErrorCode>>>,
): unknown {
  if (!(error instanceof Error) || error instanceof CliError) return error;
  const { name, message } = error;
  const code = String((error as { readonly code?: unknown }).code ?? "");
  const failure = (to: CliErrorCode, details: CliErrorDetails = {}) =>
    new CliError(to, message, { cause: error, ...details });
  switch (name) {
    case "AppError":
      return failure(refusals[code] ?? codeOfRefusal[code] ?? "unexpected");
    case "ListenError":
      return failure(code === "EADDRINUSE" ? "already_running" : "invalid_config", {
        hint: (error as { readonly hint?: string }).hint,
      });
    case "TlsError":
      return failure("invalid_config");
    case "StorageError":
      if (code === "full")
        return new CliError("storage_full", "no space left on the disk of the data folder", {
          cause: error,
          hint: "free some space, then start again: nothing is lost",
        });
      return toStorageFailure(code, error);
    case "DataDirectoryError":
      return failure(code === "full" ? "storage_full" : "file_error");
    case "MasterKeyError":
      return failure("storage_unusable");
    default:
      return error;
  }
}

/** Replaces messages of SQLite that quote a statement. */
function toStorageFailure(code: string, error: Error): CliError {
  if (/PostgreSQL|\(SQLSTATE /.test(error.message)) return toServerFailure(code, error);
  const isOurs = !/\(SQLITE_\w+\) in: /.test(error.message);
  const failure = (to: CliErrorCode, words: string, hint: string) =>
    new CliError(to, isOurs ? error.message : words, { cause: error, ...(isOurs ? {} : { hint }) });
  switch (code) {
    case "readonly":
      return failure(
        "file_error",
        "the database in the data folder cannot be written",
        "check the owner and mode of croft.db, croft.db-wal and croft.db-shm, and how their disk is mounted",
      );
    case "corrupt":
      return failure(
        "storage_unusable",
        "the database is damaged",
        '"croft daemon restore --database latest" replaces it with the latest copy',
      );
    case "busy":
      return failure(
        "already_running",
        "another program is writing to the database in the data folder",
        "end it, such as a shell that has croft.db open, then start again",
      );
    default:
      return failure(
        "storage_unusable",
        `the database cannot be used: ${error.message.replace(/ \((SQLITE_\w+)\) in: .*$/s, " ($1)")}`,
        'check croft.db, croft.db-wal and croft.db-shm; "croft daemon restore --database latest" replaces the database with the latest copy',
      );
  }
}

/** Removes the statement from messages of PostgreSQL. */
function toServerFailure(code: string, error: Error): CliError {
  const message = error.message.replace(/ in: (?!connecting to ).*$/s, "");
  const [, hint] = serverHints.find(([words]) => words.test(message)) ?? [];
  return new CliError(code === "full" ? "storage_full" : "storage_unusable", message, {
    cause: error,
    hint,
  });
}

const serverHints: readonly (readonly [RegExp, string])[] = [
  [
    /support SSL/,
    'add "sslmode=disable" to database_url (CROFT_DATABASE_URL), or turn TLS on at the server',
  ],
  [
    /certificate|altnames/i,
    'name the authority of the server\'s certificate with "sslrootcert=FILE" in database_url (CROFT_DATABASE_URL)',
  ],
  [
    /SQLSTATE 3D000/,
    "create the database there, or name another one in database_url (CROFT_DATABASE_URL)",
  ],
  [/\(ENOENT\)/, "check the files and folders that database_url (CROFT_DATABASE_URL) names"],
  [
    /SQLSTATE 28|password must be/,
    "correct user and password in database_url (CROFT_DATABASE_URL)",
  ],
  [
    /SQLSTATE 42501/,
    "give the user of database_url (CROFT_DATABASE_URL) the rights, or the database itself",
  ],
  [
    /SQLSTATE 42(?:703|P07)/,
    "give croft a database of its own: the one of database_url (CROFT_DATABASE_URL) holds tables of another program",
  ],
  [/SQLSTATE 53300/, "let the server have more connections (max_connections), or end others"],
  [/no answer/, "start the server, or correct its address in database_url (CROFT_DATABASE_URL)"],
];

const codeOfRefusal: Readonly<Partial<Record<string, CliErrorCode>>> = {
  unprocessable: "invalid",
  storage_full: "storage_full",
  unavailable: "already_running",
  provider_failed: "provider_offline",
};
