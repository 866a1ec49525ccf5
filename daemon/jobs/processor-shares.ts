import { AppError } from "../errors.ts";

/** What one account may use of the processors in worker threads, over a period. */
export type ProcessorShares = ReturnType<typeof createProcessorShares>;

export interface ProcessorSharesOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Processor time that an account may use at once. */
  readonly shareMs?: number;
  /** The time in which a used up share is whole again. */
  readonly periodMs?: number;
}

/** A fifth of one processor: of two, one account leaves nine tenths to the others. */
const SHARE_MS = 60_000;
const PERIOD_MS = 300_000;
/** Accounts whose use is remembered; the one that was booked longest ago is forgotten. */
const ACCOUNTS_MAX = 10_000;

/**
 * Creates the shares of all accounts. Each call has a budget of its own; without a share, an account that repeats calls
 * within their budgets would keep the processors from everybody for ever.
 */
export function createProcessorShares({
  clock,
  shareMs = SHARE_MS,
  periodMs = PERIOD_MS,
}: ProcessorSharesOptions) {
  const used = new Map<string, { ms: number; at: number }>();

  /** Returns what is booked now: it shrinks as time passes. */
  function usedBy(account: string): number {
    const last = used.get(account);
    if (last === undefined) return 0;
    const passed = Math.max(clock() - last.at, 0);
    return Math.max(last.ms - (passed * shareMs) / periodMs, 0);
  }

  function waitMs(account: string): number {
    const excess = usedBy(account) - shareMs;
    return excess < 0 ? 0 : ((excess + 1) * periodMs) / shareMs;
  }

  return {
    /** Returns the milliseconds until the account may use more; 0 while it has not used up its share. */
    waitMs,
    /** Throws `rate_limited` with `Retry-After` when the account has used up its share. */
    assertLeft(account: string): void {
      const seconds = Math.ceil(waitMs(account) / 1000);
      if (seconds === 0) return;
      throw new AppError(
        "rate_limited",
        `The work for this account has used up its ${shareMs / 1000} seconds of processor time in ${periodMs / 60_000} minutes: patterns, expressions, masks or files take too long. Try again in ${seconds} seconds.`,
        { retryAfterSeconds: seconds },
      );
    },
    /** Books processor time that was used for an account. */
    book(account: string, milliseconds: number): void {
      const ms = usedBy(account) + milliseconds;
      used.delete(account);
      used.set(account, { ms, at: clock() });
      const [oldest] = used.keys();
      if (used.size > ACCOUNTS_MAX && oldest !== undefined) used.delete(oldest);
    },
  };
}
