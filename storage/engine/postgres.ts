import { setTimeout as delay } from "node:timers/promises";
import { StorageError } from "./database.ts";
import type { Queries, SqlValue } from "./database.ts";
import type { MigratableDatabase } from "./migrate.ts";
import { hasGivenWay, hasLostConnection, toPostgresStorageError } from "./postgres-errors.ts";
import type { UniqueIndexes } from "./postgres-errors.ts";
import { CONNECTIONS_MAX, createPool, toServerName } from "./postgres-pool.ts";
import type { PostgresClient, PostgresPool } from "./postgres-pool.ts";
import {
  assertUnicode,
  createQueries,
  inTransaction,
  readUniqueIndexes,
  withMigrationLock,
} from "./postgres-session.ts";
import { createScopes } from "./scope.ts";
import { assertOrdinary, toNumbered } from "./sql-text.ts";
import { createTextCache } from "./text-cache.ts";
import { createCount, createTurns } from "./turns.ts";

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

  const whilePatient = (work: () => Promise<void>): Promise<void> =>
    pool.withoutLimit?.(work) ?? work();

  async function loadUniqueIndexes(): Promise<void> {
    uniqueIndexes = await withClient(readUniqueIndexes);
  }

  await withClient((client) => assertUnicode(client, server))
    .then(loadUniqueIndexes)
    .catch(async (error: unknown) => {
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
    transaction: (work) =>
      write((client) => inTransaction(client, () => scopes.run(queriesOn(client), clock(), work))),
    async whileMigrating(work) {
      const unlimited = (): Promise<void> => scopes.withoutLimit(work);
      if (pool.isSingle === true) await unlimited();
      else await whilePatient(() => withClient((client) => withMigrationLock(client, unlimited)));
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
