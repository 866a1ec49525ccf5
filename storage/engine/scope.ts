import { AsyncLocalStorage } from "node:async_hooks";
import { StorageError } from "./database.ts";
import type { Database, Queries, SqlValue, Transaction } from "./database.ts";

export interface ScopesOptions {
  readonly dialect: Database["dialect"];
  /** The time after which the transaction of a callback is rolled back. */
  readonly timeoutMs: number;
  /** Called when a transaction is rolled back because of this limit. */
  readonly onStuck?: ((message: string) => void) | undefined;
  /**
   * Returns whether a failed statement requires a retry of the transaction, even if the callback catches the failure.
   */
  readonly mustRetry?: (failure: unknown) => boolean;
}

interface Scope {
  isOpen: boolean;
  /** The latest statement; it ends after all earlier ones. */
  last: Promise<unknown> | undefined;
  /** The first failure. PostgreSQL refuses every later statement; SQLite would accept it, so that a service tested on it alone would break. */
  failure: unknown;
  /** Statements that run after the callback. */
  readonly beforeCommit: (() => Promise<void>)[];
}

/**
 * Creates the scopes of one database. Separates calls inside a transaction's callback from calls outside, by the same
 * rules for both engines.
 */
export function createScopes(options: ScopesOptions) {
  const { dialect, timeoutMs, onStuck, mustRetry } = options;
  let isLimited = true;
  const current = new AsyncLocalStorage<Scope>();
  return {
    /** Throws `failed` inside a callback, where a call of the database would be a deadlock. */
    assertOutside(): void {
      if (current.getStore()?.isOpen === true)
        throw new StorageError(
          "failed",
          "a transaction's callback uses the database instead of its tx",
        );
    },
    /** Runs `work` with a `tx` on `queries` that expires with it. Rejects with the first failed statement even if `work` caught it. */
    async run<T>(queries: Queries, now: number, work: (tx: Transaction) => Promise<T>): Promise<T> {
      const scope: Scope = {
        isOpen: true,
        last: undefined,
        failure: undefined,
        beforeCommit: [],
      };
      const tx = createTransaction(dialect, queries, scope, now);
      try {
        const running = current.run(scope, async () => {
          const value = await work(tx);
          for (const finish of scope.beforeCommit) await finish();
          return value;
        });
        const result = await (isLimited ? withinTime(running, timeoutMs, onStuck) : running);
        // A statement that the callback did not await still belongs to the transaction.
        await scope.last;
        if (scope.failure !== undefined) throw scope.failure;
        return result;
      } catch (error) {
        throw mustRetry?.(scope.failure) === true ? scope.failure : error;
      } finally {
        scope.isOpen = false;
      }
    },
    /** Lifts the time limit while `work`, a migration, runs. */
    async withoutLimit(work: () => Promise<void>): Promise<void> {
      isLimited = false;
      try {
        await work();
      } finally {
        isLimited = true;
      }
    },
  };
}

function createTransaction(
  dialect: Database["dialect"],
  queries: Queries,
  scope: Scope,
  now: number,
): Transaction {
  async function attempt<T>(apply: () => Promise<T>): Promise<T> {
    if (!scope.isOpen) throw new StorageError("failed", "the transaction has ended");
    if (scope.failure !== undefined) throw scope.failure;
    const running = apply();
    scope.last = running.catch((error: unknown) => {
      scope.failure ??= error;
    });
    await scope.last;
    return running;
  }
  return {
    dialect,
    now,
    get: <T extends object>(sql: string, ...values: SqlValue[]) =>
      attempt(() => queries.get<T>(sql, ...values)),
    all: <T extends object>(sql: string, ...values: SqlValue[]) =>
      attempt(() => queries.all<T>(sql, ...values)),
    run: (sql, ...values) => attempt(() => queries.run(sql, ...values)),
    beforeCommit(work) {
      if (!scope.isOpen) throw new StorageError("failed", "the transaction has ended");
      scope.beforeCommit.push(work);
    },
  };
}

/** Rejects with `failed` when `running` takes longer than statements alone could. */
function withinTime<T>(
  running: Promise<T>,
  timeoutMs: number,
  onStuck: ((message: string) => void) | undefined,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => {
    const message = `a transaction did not end within ${timeoutMs} ms and is undone: its callback may await nothing but its tx`;
    onStuck?.(message);
    reject(new StorageError("failed", message));
  }, timeoutMs);
  const settle = (apply: () => void): void => {
    clearTimeout(timer);
    apply();
  };
  running.then(
    (value) => settle(() => resolve(value)),
    (error: unknown) => settle(() => reject(error)),
  );
  return promise;
}
