import { StorageError } from "./database.ts";
import type { SqlValue } from "./database.ts";

/** A connection to a server. `values` are those of `$1`, `$2`, …; without them `text` may hold several statements. */
export interface PostgresClient {
  query(text: string, values?: SqlValue[]): Promise<PostgresResult>;
}

export interface PostgresResult {
  readonly rows: object[];
  /** The number of changed rows; 0 for a statement that only reads. */
  readonly changes: number;
}

/** A pool of connections; each has one user at a time. */
export interface PostgresPool {
  /** The pool is one connection, and the only one to the database: an embedded engine. */
  readonly isSingle?: boolean;
  /** Waits for a free connection. */
  connect(): Promise<PostgresClient & { release(broken: boolean): void }>;
  /** Lifts the time limit of queries while `work` runs: it may wait for another daemon's migration. */
  withoutLimit?(work: () => Promise<void>): Promise<void>;
  /** Closes all connections. Later calls of `connect` fail. */
  end(): Promise<void>;
}

/** Converts a column's text to a `SqlValue`, by type id: a number of SQLite is a number here as well. */
export const VALUE_PARSERS: Readonly<Record<number, (text: string) => SqlValue>> = {
  16: (text) => (text === "t" ? 1 : 0), // bool
  20: Number, // int8
  21: Number, // int2
  23: Number, // int4
  26: Number, // oid
  700: Number, // float4
  701: Number, // float8
  1700: Number, // numeric: the sum of a BIGINT column
};

/** Commands whose row count is the number of changed rows; the server counts the rows of a SELECT as well. */
const CHANGING = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/** The maximum number of connections of a daemon. */
export const CONNECTIONS_MAX = 10;
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;
/** Time limit of a statement. A longer one lacks an index; migrations lift the limit. */
const STATEMENT_TIMEOUT_MS = 20_000;
/**
 * Time limit of a response. A healthy server has cancelled the statement by then, so the server is frozen or
 * unreachable. Shorter than the time limit of a transaction, so that the transaction fails with the loss of its
 * connection.
 */
const ANSWER_TIMEOUT_MS = 25_000;
const LOCK_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;

/**
 * Creates a pool of connections to the server at `url`, without opening one. Loads the driver on demand.
 * @param answerTimeoutMs the time after which a query without an answer makes its connection count as lost
 */
export async function createPool(
  url: string,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
): Promise<PostgresPool> {
  const { default: pg } = await import("pg");
  let isLimited = true;
  const pool = new pg.Pool({
    ...toConfig(url, pg.types),
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    application_name: "croft",
    // For single statements as well: a serializable transaction is protected only from serializable writers.
    options: "-c default_transaction_isolation=serializable",
  });
  // Without a listener, a connection that the server closes between two statements would end the process.
  // The next statement on it reports the closed connection, and the pool drops it.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return {
    connect: async () => {
      const client = await pool.connect();
      return {
        async query(text, values) {
          const limit = isLimited ? { query_timeout: answerTimeoutMs } : {};
          const statement = { text, ...(values === undefined ? {} : { values }), ...limit };
          const { rows, command, rowCount } = await client.query<object>(statement);
          return { rows, changes: CHANGING.has(command) ? (rowCount ?? 0) : 0 };
        },
        release: (broken) => client.release(broken),
      };
    },
    async withoutLimit(work) {
      isLimited = false;
      try {
        await work();
      } finally {
        isLimited = true;
      }
    },
    end: () => pool.end(),
  };
}

type DriverTypes = { getTypeParser(id: number, format: "text" | "binary"): unknown };

function toConfig(url: string, driverTypes: DriverTypes): object {
  if (!URL.canParse(url)) throw new StorageError("failed", "the database's address is no URL");
  return {
    connectionString: withCheckedTls(url),
    types: {
      getTypeParser: (id: number, format: "text" | "binary" = "text") =>
        (format === "text" ? VALUE_PARSERS[id] : undefined) ??
        driverTypes.getTypeParser(id, format),
    },
  };
}

/**
 * The driver treats these modes as `verify-full`, with a warning on standard error that this will change. `verify-full`
 * instead keeps the check of the certificate and avoids the warning. `uselibpqcompat` selects their weaker meaning.
 */
function withCheckedTls(url: string): string {
  const mode = new URL(url).searchParams.get("sslmode");
  // The driver would read any other word as a request for TLS.
  if (mode !== null && !TLS_MODES.has(mode))
    throw new StorageError(
      "failed",
      `sslmode in the database's address takes ${[...TLS_MODES].join(", ")}, not ${JSON.stringify(mode)}`,
    );
  if (/[?&]uselibpqcompat=true(?=&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

const TLS_MODES: ReadonlySet<string> = new Set([
  "disable",
  "prefer",
  "require",
  "verify-ca",
  "verify-full",
  "no-verify",
]);

/** Returns host, port and database of an address for messages, without user and password. */
export function toServerName(url: string): string {
  if (!URL.canParse(url)) return "the given address";
  const { host, pathname, searchParams } = new URL(url);
  return `${host === "" ? (searchParams.get("host") ?? "") : host}${pathname}`;
}
