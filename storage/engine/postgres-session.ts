import { StorageError } from "./database.ts";
import type { Changes, Queries, SqlValue } from "./database.ts";
import { hasLostConnection, toPostgresStorageError } from "./postgres-errors.ts";
import type { UniqueIndexes } from "./postgres-errors.ts";
import type { PostgresClient, PostgresResult } from "./postgres-pool.ts";
import type { TextCache } from "./text-cache.ts";
import { assertExact, assertStorable } from "./values.ts";

/** Creates the methods of the port on one connection. */
export function createQueries(
  client: PostgresClient,
  numbered: TextCache<string>,
  uniqueIndexes: UniqueIndexes,
): Queries {
  const query = async (sql: string, values: SqlValue[]): Promise<PostgresResult> => {
    values.forEach(assertStorable);
    return send(client, numbered(sql), values, uniqueIndexes);
  };
  return {
    async get<T extends object>(sql: string, ...values: SqlValue[]) {
      const [row] = (await query(sql, values)).rows;
      return row === undefined ? undefined : (assertExact(row) as T);
    },
    async all<T extends object>(sql: string, ...values: SqlValue[]) {
      return (await query(sql, values)).rows.map(assertExact) as T[];
    },
    async run(sql, ...values): Promise<Changes> {
      return { changes: (await query(sql, values)).changes };
    },
  };
}

const BEGIN_SERIALIZABLE = "BEGIN ISOLATION LEVEL SERIALIZABLE";

/**
 * Runs `work` in a serializable transaction, which waits for an exclusive one. With `isAlone` it is exclusive itself,
 * or the database has no other connections.
 */
export function inTransaction<T>(
  client: PostgresClient,
  work: () => Promise<T>,
  isAlone: boolean,
): Promise<T> {
  // One message to the server: the lock costs no further round trip.
  const waits = `${BEGIN_SERIALIZABLE}; SELECT pg_advisory_xact_lock_shared(${ALONE_LOCK_KEY})`;
  return between(client, isAlone ? BEGIN_SERIALIZABLE : waits, work);
}

/** Begins a transaction, runs `work` and commits, or rolls back when it rejects. A lost connection rolls back by itself. */
async function between<T>(
  client: PostgresClient,
  begin: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    await send(client, begin);
    const result = await work();
    await send(client, "COMMIT");
    return result;
  } catch (error) {
    // A rollback fails only with the connection; its error replaces the first one.
    if (!hasLostConnection(error)) await send(client, "ROLLBACK");
    throw error;
  }
}

/** The keys of the advisory locks, which no other program on the server should use: "croft", "crofu". */
const LOCK_KEY = 0x63726f6674;
const ALONE_LOCK_KEY = 0x63726f6675;

/**
 * Runs `work`, a transaction on another connection, while the transactions of all daemons wait. Waits for those that run.
 * The lock ends with the transaction of `client`, as that of migrations does.
 */
export function whileOthersWait<T>(client: PostgresClient, work: () => Promise<T>): Promise<T> {
  return between(client, "BEGIN ISOLATION LEVEL READ COMMITTED", async () => {
    await send(client, "SELECT pg_advisory_xact_lock($1)", [ALONE_LOCK_KEY]);
    return work();
  });
}

/**
 * Runs `work` while holding the migration lock of the database; waits for it. The lock ends with its transaction, so
 * neither a crash nor a connection pooler can leave it behind.
 */
export function withMigrationLock<T>(client: PostgresClient, work: () => Promise<T>): Promise<T> {
  const locked = async (): Promise<T> => {
    await send(client, "SET LOCAL statement_timeout = 0");
    await send(client, "SET LOCAL lock_timeout = 0");
    await send(client, "SET LOCAL idle_in_transaction_session_timeout = 0");
    await send(client, "SELECT pg_advisory_xact_lock($1)", [LOCK_KEY]);
    return work();
  };
  return between(client, "BEGIN ISOLATION LEVEL READ COMMITTED", locked);
}

/**
 * Reads the columns of the unique indexes. SQLite reports the columns of a violated index and PostgreSQL its name; with
 * this map services see columns from both. An index on an expression has a name on both.
 */
export async function readUniqueIndexes(client: PostgresClient): Promise<UniqueIndexes> {
  const { rows } = await send(
    client,
    `SELECT index.relname AS name, string_agg(owner.relname || '.' || field.attname, ',' ORDER BY key.position) AS columns
     FROM pg_index
     JOIN pg_class index ON index.oid = pg_index.indexrelid
     JOIN pg_class owner ON owner.oid = pg_index.indrelid
     CROSS JOIN LATERAL unnest(pg_index.indkey::int2[]) WITH ORDINALITY AS key (number, position)
     JOIN pg_attribute field ON field.attrelid = owner.oid AND field.attnum = key.number
     WHERE pg_index.indisunique AND pg_index.indexprs IS NULL AND owner.relnamespace = current_schema()::regnamespace
     GROUP BY index.relname`,
  );
  return new Map(
    (rows as { name: string; columns: string }[]).map((row) => [row.name, row.columns]),
  );
}

/** Throws `failed` when the database cannot store every text. */
export async function assertUnicode(client: PostgresClient, server: string): Promise<void> {
  const { rows } = await send(client, "SELECT current_setting('server_encoding') AS encoding");
  const [{ encoding } = { encoding: "" }] = rows as { encoding: string }[];
  if (encoding !== "UTF8")
    throw new StorageError(
      "failed",
      `${server} stores ${encoding}: create the database with ENCODING 'UTF8'`,
    );
}

async function send(
  client: PostgresClient,
  text: string,
  values?: SqlValue[],
  uniqueIndexes?: UniqueIndexes,
): Promise<PostgresResult> {
  try {
    return await client.query(text, values);
  } catch (error) {
    throw toPostgresStorageError(error, text, uniqueIndexes);
  }
}
