import { setTimeout as delay } from "node:timers/promises";
import { StorageError } from "./database.ts";
import type { Changes, Queries, SqlValue, Transaction } from "./database.ts";
import type { MigratableDatabase } from "./migrate.ts";
import { hasGivenWay, hasLostConnection, toPostgresStorageError } from "./postgres-errors.ts";
import type { UniqueIndexes } from "./postgres-errors.ts";
import { CONNECTIONS_MAX, createPool, toServerName } from "./postgres-pool.ts";
import type { PostgresClient, PostgresPool, PostgresResult } from "./postgres-pool.ts";
import { createScopes } from "./scope.ts";
import { assertOrdinary, toNumbered } from "./sql-text.ts";
import { createTextCache } from "./text-cache.ts";
import type { TextCache } from "./text-cache.ts";
import { createCount, createTurns } from "./turns.ts";
import { assertExact, assertStorable } from "./values.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, or a pool of someone else's connections. */
  readonly url: string | PostgresPool;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Told of a transaction that was undone because it did not end. */
  readonly onStuck?: ((message: string) => void) | undefined;
  /** How long a transaction may be open before it is undone; 30,000. */
  readonly transactionTimeoutMs?: number;
}

/** A database on a PostgreSQL server, which several daemons may share. */
export interface PostgresDatabase extends MigratableDatabase {
  readonly dialect: "postgres";
}

const TRANSACTION_TIMEOUT_MS = 30_000;
/** The rest of the connections is for reads, which never wait for a writer. */
const WRITERS_MAX = CONNECTIONS_MAX - 3;
/** How often something that gave way to another writer is run again before it fails with `busy`. */
const RETRIES_MAX = 20;
const RETRY_DELAY_MS = 5;
/** Any number that nothing else on the server uses for an advisory lock: "croft". */
const LOCK_KEY = 0x63726f6674;

/**
 * Connects to a PostgreSQL server. Everything is SERIALIZABLE: what gives way to another writer runs again, one at
 * a time in this process, so that it cannot give way forever. Throws `failed` when the server cannot be reached.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { url, clock } = options;
  const pool = typeof url === "string" ? await createPool(url) : url;
  const server = typeof url === "string" ? toServerName(url) : "the embedded server";
  const scopes = createScopes({
    dialect: "postgres",
    timeoutMs: options.transactionTimeoutMs ?? TRANSACTION_TIMEOUT_MS,
    onStuck: options.onStuck,
    mustRetry: hasGivenWay,
  });
  const numbered = createTextCache((sql) => {
    assertOrdinary(sql);
    return toNumbered(sql);
  });
  const inTurn = createTurns(WRITERS_MAX);
  const running = createCount();
  let uniqueIndexes: UniqueIndexes = new Map();
  let lastRetry: Promise<unknown> = Promise.resolve();
  let closing: Promise<void> | undefined;

  /** Lends a connection to `use`, and throws it away when it broke. */
  async function withClient<T>(use: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw toPostgresStorageError(error, `connecting to ${server}`);
    });
    let isBroken = true;
    try {
      const result = await use(client);
      isBroken = false;
      return result;
    } catch (error) {
      isBroken = hasLostConnection(error);
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  /** Runs `attempt`, and again after others that had to, each time it gave way to another writer. */
  async function untilDone<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      if (!hasGivenWay(error)) throw error;
    }
    const turn = lastRetry.then(() => retry(attempt));
    lastRetry = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  /** The public verbs: refused inside a callback and after `close`, waited for by `close`. */
  async function guarded<T>(use: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new StorageError("closed", "the database is closed");
    scopes.assertOutside();
    return running.during(use);
  }

  const queriesOn = (client: PostgresClient): Queries =>
    createQueries(client, numbered, uniqueIndexes);
  const read = <T>(use: (queries: Queries) => Promise<T>): Promise<T> =>
    guarded(() => untilDone(() => withClient((client) => use(queriesOn(client)))));
  const write = <T>(use: (client: PostgresClient) => Promise<T>): Promise<T> =>
    guarded(() => untilDone(() => inTurn(() => withClient(use))));

  async function runTransaction<T>(
    client: PostgresClient,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    const queries = queriesOn(client);
    await send(client, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    try {
      const result = await scopes.run(queries, clock(), work);
      await send(client, "COMMIT");
      return result;
    } catch (error) {
      await rollBack(client, error);
      throw error;
    }
  }

  async function loadUniqueIndexes(): Promise<void> {
    uniqueIndexes = await withClient(readUniqueIndexes);
  }

  await loadUniqueIndexes().catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  return {
    dialect: "postgres",
    // A changing statement with RETURNING comes this way too; it is rare enough to take a reader's connection.
    get: <T extends object>(sql: string, ...values: SqlValue[]) =>
      read((queries) => queries.get<T>(sql, ...values)),
    all: <T extends object>(sql: string, ...values: SqlValue[]) =>
      read((queries) => queries.all<T>(sql, ...values)),
    run: (sql, ...values) => write((client) => queriesOn(client).run(sql, ...values)),
    transaction: (work) => write((client) => runTransaction(client, work)),
    async whileMigrating(work) {
      const unlimited = (): Promise<void> => scopes.withoutLimit(work);
      if (pool.isSingle === true) await unlimited();
      else await withClient((client) => alone(client, unlimited));
      await loadUniqueIndexes();
    },
    close: () => (closing ??= running.none().then(() => pool.end())),
  };
}

async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let retries = 1; ; retries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!hasGivenWay(error) || retries === RETRIES_MAX) throw error;
      await delay(RETRY_DELAY_MS * retries);
    }
  }
}

function createQueries(
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

/** Undoes after `failure`. A failure of its own is the network's, and takes its place: the server undoes by itself then. */
async function rollBack(client: PostgresClient, failure: unknown): Promise<void> {
  if (!hasLostConnection(failure)) await send(client, "ROLLBACK");
}

/** The lock ends with its transaction, so no crash and no pooler in between can leave it behind. */
async function alone<T>(client: PostgresClient, work: () => Promise<T>): Promise<T> {
  await send(client, "BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await send(client, "SET LOCAL statement_timeout = 0");
    await send(client, "SET LOCAL lock_timeout = 0");
    await send(client, "SET LOCAL idle_in_transaction_session_timeout = 0");
    await send(client, "SELECT pg_advisory_xact_lock($1)", [LOCK_KEY]);
    const result = await work();
    await send(client, "COMMIT");
    return result;
  } catch (error) {
    await rollBack(client, error);
    throw error;
  }
}

/**
 * SQLite tells the columns of a violated unique index, PostgreSQL its name: services see columns from both.
 * An index on an expression has a name on both.
 */
async function readUniqueIndexes(client: PostgresClient): Promise<UniqueIndexes> {
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
