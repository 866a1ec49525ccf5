import { StorageError } from "./database.ts";
import type { StorageErrorCode } from "./database.ts";

/** The names of unique indexes, as `table.column[,table.column]` where they have only columns. */
export type UniqueIndexes = ReadonlyMap<string, string>;

/**
 * Converts the failure of a call to PostgreSQL by its SQLSTATE. Omits the server's statements about values (its detail,
 * and every text about bad data) and everything of the address except host and database.
 */
export function toPostgresStorageError(
  error: unknown,
  context: string,
  uniqueIndexes?: UniqueIndexes,
): StorageError {
  if (error instanceof StorageError) return error;
  const { code: state, message, constraint } = toFields(error);
  if (!SQLSTATE.test(state))
    return new StorageError(
      "busy",
      `no answer from the PostgreSQL server (${state || message}): ${context}`,
      { cause: error },
    );
  // Class 22 quotes the value that did not fit.
  const text = state.startsWith("22") ? "bad data" : message;
  const code = toCode(state);
  return new StorageError(code, `${text} (SQLSTATE ${state}) in: ${context}`, {
    cause: Object.assign(new Error(text), { code: state }),
    constraint:
      code === "conflict" && constraint !== undefined
        ? (uniqueIndexes?.get(constraint) ?? constraint)
        : undefined,
  });
}

/** Returns whether the connection is lost: the network failed, or the server closed it. */
export function hasLostConnection(error: unknown): boolean {
  if (!(error instanceof StorageError) || error.cause === undefined) return false;
  const state = toFields(error.cause).code;
  return !SQLSTATE.test(state) || isGone(state);
}

/** Connection exceptions and interventions of an operator. */
function isGone(state: string): boolean {
  return state.startsWith("08") || state.startsWith("57P");
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

const BY_STATE: ReadonlyMap<string, StorageErrorCode> = new Map([
  ["23505", "conflict"], // unique_violation
  ["23514", "conflict"], // check_violation
  ["23503", "conflict"], // foreign_key_violation
  ["23001", "conflict"], // restrict_violation
  ["23P01", "conflict"], // exclusion_violation
  ["40001", "busy"], // serialization_failure, after all retries
  ["40P01", "busy"], // deadlock_detected, after all retries
  ["53300", "busy"], // too_many_connections
  ["55P03", "busy"], // lock_not_available
  ["57014", "busy"], // query_canceled, by the statement timeout
  ["53100", "full"], // disk_full
  ["25006", "readonly"], // read_only_sql_transaction
  ["XX001", "corrupt"], // data_corrupted
  ["XX002", "corrupt"], // index_corrupted
]);

function toCode(state: string): StorageErrorCode {
  // The server is starting, stopping or unreachable: the statement may be retried. A protocol violation is a bug here.
  if (isGone(state) && state !== "08P01") return "busy";
  return BY_STATE.get(state) ?? "failed";
}

interface Fields {
  /** The SQLSTATE, or the name of a network error; otherwise empty. */
  readonly code: string;
  readonly message: string;
  readonly constraint: string | undefined;
}

function toFields(error: unknown): Fields {
  const of = (name: string): string | undefined => {
    const value: unknown =
      typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined;
    return typeof value === "string" ? value : undefined;
  };
  return {
    code: of("code") ?? "",
    message: of("message") ?? String(error),
    constraint: of("constraint"),
  };
}
