import { AppError } from "../errors.ts";

/** The bytes that one request's body reserves in a budget of memory or of disk space. */
export interface BodyMemory {
  /**
   * Reserves `bytes` more. Refuses with `rate_limited` beyond the caller's share, with `unavailable` beyond the
   * total.
   */
  grow(bytes: number): void;
  /** Returns all reserved bytes to the budget. Idempotent. */
  release(): void;
}

/** Bounds on the reserved bytes of all request bodies. */
interface Budget {
  readonly total: number;
  /** Maximum share of one caller, so that a single caller cannot lock out all others. */
  readonly perCaller: number;
}

/** Bounds the memory of request bodies that are read whole: one budget for anonymous callers and one for signed-in ones. */
export type BodyBudgets = ReturnType<typeof createBodyBudgets>;

const MIB = 1024 * 1024;

/** Parsing a body briefly takes up to four times its size, so both budgets amount to about 600 MiB at worst. */
const ANONYMOUS: Budget = { total: 32 * MIB, perCaller: 16 * MIB };
const SIGNED_IN: Budget = { total: 128 * MIB, perCaller: 64 * MIB };

/**
 * The uncounted first bytes of each body. Sign-in and registration fit into them, so they work while the budget is used
 * up; the number of connections bounds their sum.
 */
const FREE_BYTES = 16 * 1024;

/** Seconds after which a refused client may try again: a body is in memory for at most 30 seconds. */
const RETRY_AFTER_SECONDS = 5;

/** @param largestBody the largest body that any operation takes, in bytes: a caller's share is never smaller */
export function createBodyBudgets(largestBody: number) {
  return {
    /** @param address the key of the address that the request comes from */
    anonymous: createBudget(ANONYMOUS, largestBody),
    /** @param account the key of the signed-in caller */
    signedIn: createBudget(SIGNED_IN, largestBody),
  };
}

/** Maximum number of largest forms in temporary files at the same time, of one caller and of all. */
const SPOOLED_PER_CALLER = 1;
const SPOOLED_IN_ALL = 4;

/**
 * Bounds the disk space of files that precede the fields of their form and wait for them. Refuses as
 * `BodyMemory.grow` does.
 */
export function createSpoolBudget(largestFile: number): (caller: string) => BodyMemory {
  const budget = {
    perCaller: SPOOLED_PER_CALLER * largestFile,
    total: SPOOLED_IN_ALL * largestFile,
  };
  return createBudget(budget, largestFile, 0);
}

function createBudget(
  budget: Budget,
  largestBody: number,
  freeBytes = FREE_BYTES,
): (caller: string) => BodyMemory {
  const perCaller = Math.max(budget.perCaller, largestBody);
  const total = Math.max(budget.total, 2 * perCaller);
  const byCaller = new Map<string, number>();
  let used = 0;
  return (caller) => {
    let received = 0;
    let reserved = 0;
    const count = (bytes: number) => {
      const ofCaller = (byCaller.get(caller) ?? 0) + bytes;
      used += bytes;
      reserved += bytes;
      if (ofCaller > 0) byCaller.set(caller, ofCaller);
      else byCaller.delete(caller);
    };
    return {
      grow(bytes) {
        received += bytes;
        const uncounted = Math.max(0, received - freeBytes) - reserved;
        if (uncounted <= 0) return;
        if ((byCaller.get(caller) ?? 0) + uncounted > perCaller)
          throw refusal("rate_limited", "You are sending too much at once.");
        if (used + uncounted > total)
          throw refusal("unavailable", "The server is receiving too much at once.");
        count(uncounted);
      },
      release: () => count(-reserved),
    };
  };
}

function refusal(code: "rate_limited" | "unavailable", sentence: string): AppError {
  return new AppError(code, `${sentence} Try again in ${RETRY_AFTER_SECONDS} seconds.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
