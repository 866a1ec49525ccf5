// storage/engine: one port to a relational database and its two engines.
// Start here, then sqlite.ts or postgres.ts; migrate.ts brings a schema up to date.
// SQL text is portable: `?` placeholders, RETURNING, ON CONFLICT, integers for booleans and epoch milliseconds, JSON as text.

/**
 * What a placeholder takes and a column gives, bytes as a Uint8Array. Numbers are within 2^53 - 1: beyond, an engine
 * throws `corrupt` for what it read and `failed` for what it was given. It throws `failed` for text with a NUL, too.
 */
export type SqlValue = string | number | null | Uint8Array;

/** One row, by column name. */
export type Row = Record<string, SqlValue>;

/** What a statement that changes rows did. */
export interface Changes {
  readonly changes: number;
}

/** The three verbs that both the database and a running transaction have. */
export interface Queries {
  /** The first row, or undefined when there is none. */
  get<T extends object = Row>(sql: string, ...values: SqlValue[]): Promise<T | undefined>;
  /** All rows, in the order of the statement. As `get` it may change rows, with RETURNING. */
  all<T extends object = Row>(sql: string, ...values: SqlValue[]): Promise<T[]>;
  /** Runs a statement for its effect. */
  run(sql: string, ...values: SqlValue[]): Promise<Changes>;
}

/**
 * A database. Reads outside a transaction see the last commit and never wait for a writer.
 * A write outside a transaction is its own: it has committed, durably, when the promise resolves, and
 * waiting writes may share one commit. Every failure is a `StorageError`.
 */
export interface Database extends Queries {
  readonly dialect: "sqlite" | "postgres";
  /**
   * Runs `work` alone among writers and commits what it did, or rolls all of it back when it throws or one of its
   * statements fails, even if `work` catches that: use ON CONFLICT DO NOTHING where a conflict is expected.
   * `work` awaits nothing but calls of `tx`: no network, no hashing, no files, not this database. It may be run again
   * from the start when the engine had to give way to another writer, so it has no other effect than its statements.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Throws `detached` when the file of an embedded database is no longer in its place. Absent where there is no file. */
  readonly assertInPlace?: () => void;
  /** Finishes what is under way, checkpoints and closes. Further calls fail. */
  close(): Promise<void>;
}

/** A transaction that is open for the length of one callback; used later it fails. `now` is read once, so all its rows carry one time. */
export interface Transaction extends Queries {
  readonly dialect: "sqlite" | "postgres";
  /** Epoch milliseconds at the start of the transaction. */
  readonly now: number;
}

/**
 * Why a statement failed, as far as a caller can act on it.
 * `conflict`: a UNIQUE, CHECK or FOREIGN KEY constraint refused the change. `busy`: another process holds the database, or its
 * server does not answer at the moment.
 * `full`: no room left. `readonly`: the files cannot be written. `corrupt`: the file is damaged or no database.
 * `closed`: the database was closed. `detached`: its file was removed or replaced while it was open. `failed`: anything else: a bug in the statement, a value that cannot be stored,
 * or a database that cannot be opened, with a message that says what helps.
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

/** A failed statement. The message is for the log; made from the engine's error code, never from its words. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;
  /** The violated constraint as `table.column[,table.column]`, or its name when it is no list of columns; a foreign key tells none on SQLite. */
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

/** Whether `error` is the refusal of a constraint. */
export function isConflict(error: unknown): error is StorageError {
  return error instanceof StorageError && error.code === "conflict";
}
