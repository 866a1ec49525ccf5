import type { Queries } from "../../engine/database.ts";
import { integer, text, unread } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";

const rateLimits = defineTable("rate_limits", {
  key: unread(text()),
  points: integer(),
  expiresAt: integer(),
});
/** A window of a rate limit: the points used so far, and its end in epoch milliseconds. */
export type RateWindow = RecordOf<typeof rateLimits>;

/** Returns the window of `key` as last committed; it may have ended. */
export const findRateWindow = (db: Queries, key: string): Promise<RateWindow | undefined> =>
  rateLimits.find(db, { key });

/**
 * Counts one hit in one statement, so that concurrent hits all count. The first hit after the end of a window opens the
 * next one. A window that ends later than one opened now comes from a clock that was ahead; it is shortened to a full
 * window, not reset.
 */
export async function countHit(
  db: Queries,
  key: string,
  now: number,
  windowMs: number,
): Promise<RateWindow> {
  const counted = await rateLimits.readOne(
    db,
    `INSERT INTO rate_limits (key, points, expires_at) VALUES (?, 1, ?)
     ON CONFLICT (key) DO UPDATE SET
       points = CASE WHEN rate_limits.expires_at <= ? THEN 1 ELSE rate_limits.points + 1 END,
       expires_at = CASE
         WHEN rate_limits.expires_at <= ? OR rate_limits.expires_at > excluded.expires_at
         THEN excluded.expires_at ELSE rate_limits.expires_at END
     RETURNING ${rateLimits.columns}`,
    key,
    now + windowMs,
    now,
    now,
  );
  if (counted === undefined) throw new Error("a counted hit gives its row");
  return counted;
}

/** Shortens a window so that it ends at `expiresAt` (epoch milliseconds) at the latest. */
export async function shortenRateWindow(
  db: Queries,
  key: string,
  expiresAt: number,
): Promise<void> {
  await rateLimits.update(db, sql`key = ${key} AND expires_at > ${expiresAt}`, { expiresAt });
}

/**
 * Uncounts one hit of each key, in one statement: a transaction of several loses against parallel ones on PostgreSQL, and a sign-in does
 * not wait for its retries. Does nothing once the window has expired.
 */
export async function uncountHits(db: Queries, keys: readonly string[]): Promise<void> {
  await rateLimits.update(db, sql`key IN (${keys}) AND points > 0`, { points: sql`points - 1` });
}

/** Forgets one key, as after a success that clears a counter. */
export async function deleteRateWindow(db: Queries, key: string): Promise<void> {
  await rateLimits.delete(db, { key });
}

/** Deletes windows that ended before `now`; returns how many. */
export const deleteEndedWindows = (db: Queries, now: number): Promise<number> =>
  rateLimits.delete(db, sql`expires_at <= ${now}`);
