import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { type Database, type Queries, StorageError } from "../../../storage/engine/database.ts";

// A database that is busy, or full, once, at a chosen statement of a chosen request. Statements of jobs and of other requests do not
// count, so each attempt meets the same statements.

/** The statements of the requests that were sent during one call of `failingAt`. */
interface Attempt {
  readonly failsAt: number;
  readonly failure: StorageError;
  count: number;
  isOver: boolean;
  hasFailed: boolean;
}

const attempts = new AsyncLocalStorage<Attempt | undefined>();
let current: Attempt | undefined;
let isSubscribed = false;

/** Wraps a database for `failingAt`. */
export function withBusyStatements<T extends Database>(db: T): T {
  if (!isSubscribed) {
    isSubscribed = true;
    // Published in the same turn in which the listener of the server gets the request.
    subscribe("http.server.request.start", () => attempts.enterWith(current));
  }
  const wrapped: Pick<Database, "get" | "all" | "run" | "transaction"> = {
    ...toQueries(db, () => attempts.getStore()),
    transaction(work) {
      const attempt = attempts.getStore();
      return db.transaction(async (tx) => {
        const queries = toQueries(tx, () => attempt);
        const result = await work({ ...tx, ...queries });
        // A transaction whose statement failed is rolled back, even if the failure was caught; and its commit may fail.
        if (attempt?.hasFailed === true && !attempt.isOver) throw attempt.failure;
        step(attempt);
        return result;
      });
    },
  };
  return new Proxy(db, {
    get(target, name) {
      if (name in wrapped) return wrapped[name as keyof typeof wrapped];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/**
 * Sends requests whose statement number `failsAt` finds the database busy, or fails otherwise. `hasFailed` is false when there
 * were fewer.
 */
export async function failingAt<T>(
  failsAt: number,
  send: () => Promise<T>,
  failure: StorageError = new StorageError("busy", "injected: another process holds the database"),
): Promise<{ readonly result: T; readonly hasFailed: boolean }> {
  const attempt: Attempt = { failsAt, failure, count: 0, isOver: false, hasFailed: false };
  current = attempt;
  try {
    return { result: await send(), hasFailed: attempt.hasFailed };
  } finally {
    current = undefined;
    attempt.isOver = true;
  }
}

function toQueries(
  queries: Queries,
  find: () => Attempt | undefined,
): Pick<Database, "get" | "all" | "run"> {
  return {
    async get(sql, ...values) {
      step(find());
      return queries.get(sql, ...values);
    },
    async all(sql, ...values) {
      step(find());
      return queries.all(sql, ...values);
    },
    async run(sql, ...values) {
      step(find());
      return queries.run(sql, ...values);
    },
  };
}

function step(attempt: Attempt | undefined): void {
  if (attempt === undefined || attempt.isOver) return;
  attempt.count += 1;
  if (attempt.count !== attempt.failsAt) return;
  attempt.hasFailed = true;
  throw attempt.failure;
}
