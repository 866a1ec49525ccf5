import { setTimeout as delay } from "node:timers/promises";
import { isSerializationFailure, StorageError } from "./database.ts";
import type { Queries, SqlValue, Transaction } from "./database.ts";
import type { MigratableDatabase } from "./migrate.ts";
import { hasLostConnection, toPostgresStorageError } from "./postgres-errors.ts";
import type { UniqueIndexes } from "./postgres-errors.ts";
import { CONNECTIONS_MAX, createPool, toServerName } from "./postgres-pool.ts";
import type { PostgresClient, PostgresPool } from "./postgres-pool.ts";
import {
  assertUnicode,
  createQueries,
  inTransaction,
  readUniqueIndexes,
  whileOthersWait,
  withMigrationLock,
} from "./postgres-session.ts";
import { createScopes } from "./scope.ts";
import { assertOrdinary, toNumbered } from "./sql-text.ts";
import { createTextCache } from "./text-cache.ts";
import { createSemaphore } from "../locks.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, or a pool that the caller owns. */
  readonly url: string | PostgresPool;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Called when a transaction is rolled back because it stayed open too long. */
  readonly onStuck?: ((message: string) => void) | undefined;
  /** How long a transaction may stay open before it is rolled back; 30,000. */
  readonly transactionTimeoutMs?: number;
}

/** A database on a PostgreSQL server, which several daemons may share. */
export interface PostgresDatabase extends MigratableDatabase {
  readonly dialect: "postgres";
}

const TRANSACTION_TIMEOUT_MS = 30_000;
/** The rest of the connections is for reads, which never wait for a writer. */
const WRITERS_MAX = CONNECTIONS_MAX - 3;
/** Retries after a serialization failure before the call fails with `busy`. */
const RETRIES_MAX = 20;
/**
 * Retries of a call beside others; further retries run alone, because a long transaction, or a statement about a whole table, may
 * lose against short ones every time.
 */
const RETRIES_BESIDE_OTHERS = 5;
const RETRY_DELAY_MS = 5;

/**
 * Connects to a PostgreSQL server. All transactions are SERIALIZABLE. After a serialization failure they are retried, one at
 * a time in this process, so that they do not conflict with each other forever; after several, while the transactions of
 * all daemons wait. Throws `failed` when the server cannot be reached.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { url, clock } = options;
  const pool = typeof url === "string" ? await createPool(url) : url;
  const server = typeof url === "string" ? toServerName(url) : "the embedded server";
  const scopes = createScopes({
    dialect: "postgres",
    timeoutMs: options.transactionTimeoutMs ?? TRANSACTION_TIMEOUT_MS,
    onStuck: options.onStuck,
    mustRetry: isSerializationFailure,
  });
  const numbered = createTextCache((sql) => {
    assertOrdinary(sql);
    return toNumbered(sql);
  });
  const withWriter = createSemaphore({ permits: WRITERS_MAX });
  const withRetryLock = createSemaphore({ permits: 1 });
  const running = countRunning();
  let uniqueIndexes: UniqueIndexes = new Map();
  let closing: Promise<void> | undefined;

  /** Lends a connection to `use`, and discards it if it was lost. */
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

  /** Runs `attempt`, and retries it after a serialization failure, once the retries of other calls have ended. */
  async function untilDone<T>(attempt: Attempt<T>): Promise<T> {
    try {
      return await attempt(false);
    } catch (error) {
      if (!isSerializationFailure(error)) throw error;
    }
    return withRetryLock(() => retry(attempt));
  }

  /** Wraps the public methods: they fail inside a callback and after `close`, and `close` waits for them. */
  async function guarded<T>(use: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new StorageError("closed", "the database is closed");
    scopes.assertOutside();
    return running.during(use);
  }

  /** Runs `work`, with `isAlone` while the transactions of all daemons wait. */
  const aloneIf = <T>(isAlone: boolean, work: () => Promise<T>): Promise<T> =>
    isAlone && pool.isSingle !== true
      ? withClient((client) => whileOthersWait(client, work))
      : work();

  const queriesOn = (client: PostgresClient): Queries =>
    createQueries(client, numbered, uniqueIndexes);
  const read = <T>(use: (queries: Queries) => Promise<T>): Promise<T> =>
    guarded(() =>
      untilDone((isAlone) =>
        aloneIf(isAlone, () => withClient((client) => use(queriesOn(client)))),
      ),
    );
  const write = <T>(use: (client: PostgresClient) => Promise<T>): Promise<T> =>
    guarded(() =>
      untilDone((isAlone) => withWriter(() => aloneIf(isAlone, () => withClient(use)))),
    );
  const transact = <T>(work: (tx: Transaction) => Promise<T>, isAlone: boolean): Promise<T> =>
    withClient((client) =>
      inTransaction(
        client,
        () => scopes.run(queriesOn(client), clock(), work),
        isAlone || pool.isSingle === true,
      ),
    );

  const withoutPoolTimeout = (work: () => Promise<void>): Promise<void> =>
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
    // A writing statement with RETURNING takes a reader's connection; such statements are rare.
    get: <T extends object>(sql: string, ...values: SqlValue[]) =>
      read((queries) => queries.get<T>(sql, ...values)),
    all: <T extends object>(sql: string, ...values: SqlValue[]) =>
      read((queries) => queries.all<T>(sql, ...values)),
    run: (sql, ...values) => write((client) => queriesOn(client).run(sql, ...values)),
    transaction: (work) =>
      guarded(() =>
        untilDone((isAlone) =>
          // The permit comes before the lock: writers that wait for the lock hold permits.
          withWriter(() => aloneIf(isAlone, () => transact(work, isAlone))),
        ),
      ),
    async whileMigrating(work) {
      const unlimited = (): Promise<void> => scopes.withoutLimit(work);
      if (pool.isSingle === true) await unlimited();
      else
        await withoutPoolTimeout(() =>
          withClient((client) => withMigrationLock(client, unlimited)),
        );
      await loadUniqueIndexes();
    },
    close: () => (closing ??= running.whenIdle().then(() => pool.end())),
  };
}

/** Counts running calls, so that closing can wait for them. */
function countRunning() {
  let count = 0;
  let onIdle: (() => void) | undefined;
  return {
    async during<T>(work: () => Promise<T>): Promise<T> {
      count += 1;
      try {
        return await work();
      } finally {
        count -= 1;
        if (count === 0) onIdle?.();
      }
    },
    whenIdle(): Promise<void> {
      if (count === 0) return Promise.resolve();
      return new Promise((resolve) => {
        onIdle = resolve;
      });
    },
  };
}

/** @param isAlone whether a transaction should run while all others wait */
type Attempt<T> = (isAlone: boolean) => Promise<T>;

async function retry<T>(attempt: Attempt<T>): Promise<T> {
  for (let retries = 1; ; retries++) {
    try {
      return await attempt(retries > RETRIES_BESIDE_OTHERS);
    } catch (error) {
      if (!isSerializationFailure(error) || retries === RETRIES_MAX) throw error;
      await delay(RETRY_DELAY_MS * retries);
    }
  }
}
