import type { Database } from "../../storage/engine/database.ts";
import {
  countPending,
  endPending,
  findRateWindow,
  type RateWindow,
  shortenRateWindow,
} from "../../storage/tables/common/rate-limits.ts";
import { type LimitRule, secondsLeft, toStoredKey } from "./rate-windows.ts";

/** An attempt at a limit. A key belongs to one rule. */
export interface AttemptHit {
  readonly key: string;
  readonly rule: LimitRule;
}

/** Result of beginning an attempt. */
export type AttemptOutcome =
  /** It is counted at every key, until `end` says how it ended. */
  | { readonly kind: "begun" }
  /** So many attempts were wrong that a limit is reached. */
  | { readonly kind: "refused"; readonly resetSeconds: number }
  /** A limit would be exceeded if the attempts that are being checked turn out wrong. */
  | { readonly kind: "undecided"; readonly at: AttemptHit };

/** How an attempt ended. `unchecked`: nothing could be checked, so it does not count. */
export type AttemptEnd = "right" | "wrong" | "unchecked";

/** After this time a check has ended without its result, as in a daemon that was killed: it counts as wrong. */
const PENDING_MS = 60_000;
/** Clocks of several daemons differ by less than this, and an attempt is judged a moment after its clock was read. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Creates counters of failed attempts, which all daemons on a database share. An attempt is counted as pending before its check
 * and uncounted when it was right. So failed attempts, also parallel ones, never exceed a rule's `max`, and a right attempt is
 * not refused because of others whose result is not known yet.
 */
export function createAttempts({
  db,
  clock,
  enabled,
}: {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly enabled: boolean;
}) {
  /** Judges a window before another attempt. Undefined while the rule permits one. */
  async function judge(
    { key, rule }: AttemptHit,
    now: number,
  ): Promise<Exclude<AttemptOutcome, { kind: "begun" }> | undefined> {
    const name = toStoredKey(key);
    const window = await findRateWindow(db, name);
    if (window === undefined || window.expiresAt <= now || window.points < rule.max)
      return undefined;
    if (window.points - toPending(window, now) < rule.max)
      return { kind: "undecided", at: { key, rule } };
    const latest = now + rule.seconds * 1000;
    // The clock was ahead: otherwise the window would end too late.
    if (window.expiresAt > latest) await shortenRateWindow(db, name, latest);
    const expiresAt = Math.min(window.expiresAt, latest);
    return { kind: "refused", resetSeconds: secondsLeft({ expiresAt }, now) };
  }

  /** Returns the worst judgement: that of a key at which the limit is reached for certain. */
  async function judgeAll(hits: readonly AttemptHit[], now: number) {
    let undecided: AttemptOutcome | undefined;
    for (const hit of hits) {
      const judged = await judge(hit, now);
      if (judged?.kind === "refused") return judged;
      undecided ??= judged;
    }
    return undecided;
  }

  return {
    /**
     * Counts an attempt as pending at every key, or at none. Keys must come in an order that all callers share, so that
     * statements do not deadlock.
     */
    async begin(hits: readonly AttemptHit[]): Promise<AttemptOutcome> {
      if (!enabled) return { kind: "begun" };
      const now = clock();
      // Read first, so that a flood costs no writes.
      const judged = await judgeAll(hits, now);
      if (judged !== undefined) return judged;
      const windows = hits.map(({ key, rule }) => ({
        key: toStoredKey(key),
        windowMs: rule.seconds * 1000,
      }));
      const points = await countPending(db, windows, {
        now,
        pendingUntil: now + PENDING_MS,
        pendingUntilMax: now + PENDING_MS + CLOCKS_DIFFER_MS,
      });
      const exceeded = hits.find(({ key, rule }) => (points.get(toStoredKey(key)) ?? 0) > rule.max);
      if (exceeded === undefined) return { kind: "begun" };
      // Others have counted meanwhile. Until this attempt is uncounted it is pending, so none is refused for it.
      await end(
        hits.map(({ key }) => key),
        "unchecked",
      );
      return (await judgeAll(hits, now)) ?? { kind: "undecided", at: exceeded };
    },

    /** Returns whether the attempts that are being checked decide whether another is within the rule. */
    isUndecided: async (at: AttemptHit): Promise<boolean> =>
      (await judge(at, clock()))?.kind === "undecided",

    end,
  };

  /** Ends an attempt that was begun. A right one also clears the wrong ones at the `cleared` keys. */
  async function end(
    keys: readonly string[],
    how: AttemptEnd,
    cleared: readonly string[] = [],
  ): Promise<void> {
    if (!enabled || keys.length === 0) return;
    const toFate = (key: string) => (cleared.includes(key) ? "cleared" : "uncounted");
    await endPending(
      db,
      keys.map((key) => ({
        key: toStoredKey(key),
        fate: how === "wrong" ? "counted" : how === "right" ? toFate(key) : "uncounted",
      })),
    );
  }
}

/** A time far beyond that of a new attempt comes from a clock that was ahead. */
function toPending({ pending, pendingUntil }: RateWindow, now: number): number {
  return pendingUntil > now && pendingUntil <= now + PENDING_MS + CLOCKS_DIFFER_MS ? pending : 0;
}
