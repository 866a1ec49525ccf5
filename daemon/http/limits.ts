import { type Database, StorageError } from "../../storage/engine/database.ts";
import {
  countHit,
  deleteEndedWindows,
  findRateWindow,
  type RateWindow,
  shortenRateWindow,
} from "../../storage/tables/common/rate-limits.ts";
import { PATIENCE_MS, withinMs } from "../utilities/within.ts";
import { createAttempts } from "./attempts.ts";
import type { RateLimiter } from "./bind.ts";
import { limitAddress } from "./client-address.ts";
import type { Route } from "./handle.ts";
import { type LimitRule, secondsLeft, toStoredKey } from "./rate-windows.ts";

/** Result of counting one hit. */
export interface LimitOutcome {
  readonly allowed: boolean;
  /** Hits left in this window; 0 when refused. */
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

/** Counts hits by key. */
export type Limiter = ReturnType<typeof createLimiter>;

export interface LimiterOptions {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** False lets everything pass uncounted: for measurements. */
  readonly enabled?: boolean;
}

/**
 * Creates limits that are counted in the database, so that they survive a restart and several daemons share them. Each hit
 * is one atomic statement: of concurrent hits exactly `max` pass. Refused hits are not counted, so a flood causes reads and
 * no writes. Keys are stored hashed: they may contain e-mail addresses and have any length.
 *
 * Not a rate-limiter library: those have their own clocks, so their windows could be tested only with sleeps, and a store
 * of our own would replace all of their code but the arithmetic below.
 */
export function createLimiter({ db, clock, enabled = true }: LimiterOptions) {
  return {
    /** False when everything passes uncounted. */
    counts: enabled,
    /** Counts one hit of `key` and returns whether it is within the rule. A key belongs to one rule. */
    async consume(key: string, { max, seconds }: LimitRule): Promise<LimitOutcome> {
      if (!enabled) {
        return { allowed: true, remaining: max, resetSeconds: seconds };
      }
      const now = clock();
      const windowMs = seconds * 1000;
      const name = toStoredKey(key);
      const window = await findRateWindow(db, name);
      if (window !== undefined && window.points >= max && endsWithin(window, now, windowMs)) {
        return { allowed: false, remaining: 0, resetSeconds: secondsLeft(window, now) };
      }
      const counted = await countHit(db, name, now, windowMs);
      return toOutcome(max, counted.points, secondsLeft(counted, now));
    },
    /**
     * Counts one hit of every key if all are within their rules; otherwise counts no hit. Keys must come in an order
     * that all callers share, so that transactions do not deadlock. Returns the outcome of the key that has the fewest
     * hits left.
     */
    async consumeAll(
      hits: readonly { readonly key: string; readonly rule: LimitRule }[],
    ): Promise<LimitOutcome> {
      const rules = hits.map(({ key, rule }) => ({ name: toStoredKey(key), ...rule }));
      const unlimited = rules.map(({ max, seconds }) => toOutcome(max, 0, seconds));
      if (!enabled) return fewestLeft(unlimited);
      const now = clock();
      // Read first, so that a flood costs no writes.
      for (const { name, max, seconds } of rules) {
        const window = await findRateWindow(db, name);
        if (window === undefined || window.points < max || window.expiresAt <= now) continue;
        if (endsWithin(window, now, seconds * 1000))
          return toOutcome(max, max + 1, secondsLeft(window, now));
        // The clock was ahead: otherwise the window would end too late.
        await shortenRateWindow(db, name, now + seconds * 1000);
        return toOutcome(max, max + 1, seconds);
      }
      try {
        return await db.transaction(async (tx) => {
          const outcomes: LimitOutcome[] = [];
          for (const { name, max, seconds } of rules) {
            const counted = await countHit(tx, name, now, seconds * 1000);
            const outcome = toOutcome(max, counted.points, secondsLeft(counted, now));
            if (!outcome.allowed) throw new LimitReached(outcome);
            outcomes.push(outcome);
          }
          return fewestLeft(outcomes);
        });
      } catch (error) {
        if (error instanceof LimitReached) return error.outcome;
        throw error;
      }
    },
    /** Counters of failed attempts. Their keys are not those of hits. */
    attempts: createAttempts({ db, clock, enabled }),
    /** Deletes ended windows and returns how many. For a schedule. */
    prune: (): Promise<number> => deleteEndedWindows(db, clock()),
    /** The key of an address: an IPv6 network counts as one caller. */
    addressKey: limitAddress,
  };
}

/** How long a request that seems to be beyond a limit waits to be counted. */
const REFUSAL_PATIENCE_MS = 2000;

/**
 * Returns a limiter for whole requests, which must be answered while another process holds the database: a hit that cannot
 * be counted soon is added to the last known number instead, and is counted later or lost. Attempts to sign in use the
 * other limiter, which waits.
 */
export function createRequestLimiter(limiter: Limiter, db: Database): RateLimiter {
  /** Hits that are being counted, by key. */
  const counting = new Map<string, number>();
  /** The latest hit could not be counted soon: the next ones do not wait. */
  let isHeld = false;
  // PostgreSQL is not held by another process: a hit that waits there waits for its turn.
  if (db.dialect === "postgres") return limiter;
  return {
    counts: limiter.counts,
    addressKey: limiter.addressKey,
    async consume(key, rule) {
      const hits = (counting.get(key) ?? 0) + 1;
      counting.set(key, hits);
      const counted = limiter
        .consume(key, rule)
        .then((outcome) => {
          isHeld = false;
          return outcome;
        })
        .catch((error: unknown) => {
          if (error instanceof StorageError && error.code === "busy") return undefined;
          throw error;
        })
        .finally(() => {
          const left = (counting.get(key) ?? 1) - 1;
          if (left === 0) counting.delete(key);
          else counting.set(key, left);
        });
      const outcome = await withinMs(isHeld ? 0 : PATIENCE_MS, counted);
      if (outcome !== undefined) return outcome;
      isHeld = true;
      const window = await findRateWindow(db, toStoredKey(key));
      const estimate = toOutcome(rule.max, (window?.points ?? 0) + hits, rule.seconds);
      if (estimate.allowed) return estimate;
      // Some of the hits that are being counted will be refused, so this one may be within the rule.
      return (await withinMs(REFUSAL_PATIENCE_MS, counted)) ?? estimate;
    },
  };
}

/** Multiplies the limits that are counted per account and minute. */
export function scaleAccountLimits(routes: readonly Route[], factor: number): readonly Route[] {
  if (factor === 1) return routes;
  return routes.map((route) => {
    const { limit } = route.endpoint;
    if (limit?.key !== "account" || limit.seconds !== 60) return route;
    const max = Math.max(1, Math.round(limit.max * factor));
    return { ...route, endpoint: { ...route.endpoint, limit: { ...limit, max } } };
  });
}

/** Rolls back the transaction of `consumeAll`. */
class LimitReached extends Error {
  readonly outcome: LimitOutcome;
  constructor(outcome: LimitOutcome) {
    super("limit reached");
    this.outcome = outcome;
  }
}

function toOutcome(max: number, points: number, resetSeconds: number): LimitOutcome {
  return { allowed: points <= max, remaining: Math.max(0, max - points), resetSeconds };
}

function fewestLeft(outcomes: readonly LimitOutcome[]): LimitOutcome {
  return outcomes.reduce((fewest, next) => (next.remaining < fewest.remaining ? next : fewest));
}

/**
 * Returns whether the clock was ahead when a window was opened, so that it ends later than one opened now. Counting
 * corrects it.
 */
function endsWithin({ expiresAt }: RateWindow, now: number, windowMs: number): boolean {
  return expiresAt > now && expiresAt <= now + windowMs;
}
