import { StorageError } from "./database.ts";
import type { SqlValue } from "./database.ts";

/** One connection to a server. `values` stand for `$1`, `$2`, …; without them `text` may be several statements. */
export interface PostgresClient {
  query(text: string, values?: SqlValue[]): Promise<PostgresResult>;
}

export interface PostgresResult {
  readonly rows: object[];
  /** How many rows were changed; 0 for a statement that only reads. */
  readonly changes: number;
}

/** Lends connections, one borrower at a time. */
export interface PostgresPool {
  /** There is one connection and nobody else on the database: an embedded engine. */
  readonly isSingle?: boolean;
  /** Waits for a free connection. */
  connect(): Promise<PostgresClient & { release(broken: boolean): void }>;
  /** While `work` runs, an answer may take as long as it takes: what is asked then waits for another daemon's migration. */
  withoutLimit?(work: () => Promise<void>): Promise<void>;
  /** Closes all; none is lent any more. */
  end(): Promise<void>;
}

/** How a column's text becomes a `SqlValue`, by type id: what SQLite gives as a number is a number here as well. */
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

/** The commands whose row count is a number of changes: the server counts the rows of a SELECT as well. */
const CHANGING = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/** How many connections a daemon holds at most. */
export const CONNECTIONS_MAX = 10;
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;
/** A statement that takes longer has no plan; migrations lift the limit. */
const STATEMENT_TIMEOUT_MS = 20_000;
/**
 * A server that works has given the statement up by then: this one is frozen or cut off, and would be waited for without
 * end. Less than a transaction may take, so that it ends with the loss of its connection.
 */
const ANSWER_TIMEOUT_MS = 25_000;
const LOCK_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;

/**
 * A pool of connections to the server at `url`. Opens none yet. The driver is loaded by those who use it.
 * @param answerTimeoutMs how long a query waits for its answer before the connection counts as lost
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
    // Single statements as well: a transaction is only safe from writers that are serializable themselves.
    options: "-c default_transaction_isolation=serializable",
  });
  // A connection that the server closes between two statements would end the process otherwise, lent or not.
  // The statement that finds it closed reports that, and the pool drops it.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return {
    connect: async () => {
      const client = await pool.connect();
      return {
        async query(text, values) {
          const limit = isLimited ? { query_timeout: answerTimeoutMs } : {};
          const asked = { text, ...(values === undefined ? {} : { values }), ...limit };
          const { rows, command, rowCount } = await client.query<object>(asked);
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
 * The driver takes these modes for `verify-full` as well, and says on standard error that it will not always; named outright,
 * the server's certificate stays checked, and nothing is said. `uselibpqcompat` asks for their weaker meaning.
 */
function withCheckedTls(url: string): string {
  const mode = new URL(url).searchParams.get("sslmode");
  // The driver would take any other word for one that asks for TLS.
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

/** Host, port and database of an address, for messages: never its user or password. */
export function toServerName(url: string): string {
  if (!URL.canParse(url)) return "the given address";
  const { host, pathname, searchParams } = new URL(url);
  return `${host === "" ? (searchParams.get("host") ?? "") : host}${pathname}`;
}
