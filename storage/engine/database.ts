// storage/engine: one port to a relational database, and its two engines.
// Start here, then sqlite.ts or postgres.ts; migrate.ts updates the schema.
// SQL text is portable: `?` placeholders, RETURNING, ON CONFLICT, integers for booleans and epoch milliseconds, JSON as text.

/**
 * A value of a placeholder or a column; bytes are a Uint8Array. Numbers are within 2^53 - 1. For a larger number an
 * engine throws `corrupt` on reading and `failed` on writing. Text with a NUL is `failed` too.
 */
export type SqlValue = string | number | null | Uint8Array;

/** One row, by column name. */
export type Row = Record<string, SqlValue>;

/** The result of a statement that changes rows. */
export interface Changes {
  readonly changes: number;
}

/** The three methods that a database and an open transaction share. */
export interface Queries {
  /** Returns the first row, or undefined without rows. */
  get<T extends object = Row>(sql: string, ...values: SqlValue[]): Promise<T | undefined>;
  /** Returns all rows, in the order of the statement. Like `get` it may change rows, with RETURNING. */
  all<T extends object = Row>(sql: string, ...values: SqlValue[]): Promise<T[]>;
  /** Runs a statement for its effect. */
  run(sql: string, ...values: SqlValue[]): Promise<Changes>;
}

/**
 * A database. Reads outside a transaction see the last commit and never wait for a writer, nor for the sync of a commit.
 * A write outside a transaction is a transaction of its own: it is durable when the promise resolves. Waiting writes may
 * share one commit. Every failure is a `StorageError`.
 */
export interface Database extends Queries {
  readonly dialect: "sqlite" | "postgres";
  /**
   * Runs `work` without concurrent writers and commits it. Rolls back when `work` throws or one of its statements fails,
   * even if `work` catches the failure: use ON CONFLICT DO NOTHING where a conflict is expected.
   * `work` awaits nothing but calls of `tx`: no network, no hashing, no files, not this database. It is retried from
   * the start after a serialization failure, so it must have no effects besides its statements.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * Throws when the file of an embedded database takes no further writes: `detached` when it was removed or replaced, `full`
   * or `failed` after a failed sync. Absent without a file.
   */
  readonly assertWritable?: () => void;
  /** Completes running calls, checkpoints and closes. Further calls fail. */
  close(): Promise<void>;
}

/** A transaction that is open during one callback; later calls fail. `now` is read once, so that all its rows have one time. */
export interface Transaction extends Queries {
  readonly dialect: "sqlite" | "postgres";
  /** Epoch milliseconds at the start of the transaction. */
  readonly now: number;
  /**
   * Runs `work` once the callback has ended, as the last statements of the transaction: for a row that many transactions
   * write, so that it is locked for the shortest time and after all others.
   */
  beforeCommit(work: () => Promise<void>): void;
}

/**
 * The reason of a failed statement, as far as a caller can act on it.
 * `conflict`: a UNIQUE, CHECK or FOREIGN KEY constraint refused the change. `busy`: another process holds the database, or
 * its server does not answer at the moment. `full`: no space left. `readonly`: the files cannot be written. `corrupt`: the
 * file is damaged or not a database. `closed`: the database was closed. `detached`: its file was removed or replaced while
 * it was open. `failed`: a bug in the statement, a value that cannot be stored, or a database that cannot be opened; the
 * message says what to do.
 */
export type StorageErrorCode =
  | "conflict"
  | "busy"
  | "full"
  | "readonly"
  | "corrupt"
  | "closed"
  | "detached"
  | "failed";

/** A failed statement. The message is for the log. It is made from the engine's error code, never from its text. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;
  /** The violated constraint as `table.column[,table.column]`, or its name when it has an expression. Undefined for a foreign key on SQLite. */
  readonly constraint: string | undefined;

  constructor(
    code: StorageErrorCode,
    message: string,
    options?: { cause?: unknown; constraint?: string | undefined },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = "StorageError";
    this.code = code;
    this.constraint = options?.constraint;
  }
}

/** Returns whether `error` is a violated constraint. */
export function isConflict(error: unknown): error is StorageError {
  return error instanceof StorageError && error.code === "conflict";
}

/**
 * Returns whether a transaction of PostgreSQL lost against other ones (serialization failure or deadlock). The engine has retried
 * it; the same call may succeed later.
 */
export function isSerializationFailure(error: unknown): boolean {
  if (!(error instanceof StorageError) || !(error.cause instanceof Error)) return false;
  const state: unknown = Reflect.get(error.cause, "code");
  return state === "40001" || state === "40P01";
}
