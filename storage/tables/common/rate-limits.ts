import type { Queries } from "../../engine/database.ts";

/** A window of a rate limit: the points used so far, and its end in epoch milliseconds. */
export interface RateWindow {
  readonly points: number;
  readonly expiresAt: number;
}

/** Returns the window of `key` as last committed; it may have ended. */
export async function findRateWindow(db: Queries, key: string): Promise<RateWindow | undefined> {
  const row = await db.get<{ points: number; expires_at: number }>(
    "SELECT points, expires_at FROM rate_limits WHERE key = ?",
    key,
  );
  return row && { points: row.points, expiresAt: row.expires_at };
}

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
  const row = await db.get<{ points: number; expires_at: number }>(
    `INSERT INTO rate_limits (key, points, expires_at) VALUES (?, 1, ?)
     ON CONFLICT (key) DO UPDATE SET
       points = CASE WHEN rate_limits.expires_at <= ? THEN 1 ELSE rate_limits.points + 1 END,
       expires_at = CASE
         WHEN rate_limits.expires_at <= ? OR rate_limits.expires_at > excluded.expires_at
         THEN excluded.expires_at ELSE rate_limits.expires_at END
     RETURNING points, expires_at`,
    key,
    now + windowMs,
    now,
    now,
  );
  if (row === undefined) {
    throw new Error("a counted hit gives its row");
  }
  return { points: row.points, expiresAt: row.expires_at };
}

/** Shortens a window so that it ends at `expiresAt` (epoch milliseconds) at the latest. */
export async function shortenRateWindow(
  db: Queries,
  key: string,
  expiresAt: number,
): Promise<void> {
  await db.run(
    "UPDATE rate_limits SET expires_at = ? WHERE key = ? AND expires_at > ?",
    expiresAt,
    key,
    expiresAt,
  );
}

/**
 * Uncounts one hit of each key, in one statement: a transaction of several loses against parallel ones on PostgreSQL, and a sign-in does
 * not wait for its retries. Does nothing once the window has expired.
 */
export async function uncountHits(db: Queries, keys: readonly string[]): Promise<void> {
  const marks = keys.map(() => "?").join(", ");
  await db.run(
    `UPDATE rate_limits SET points = points - 1 WHERE key IN (${marks}) AND points > 0`,
    ...keys,
  );
}

/** Forgets one key, as after a success that clears a counter. */
export async function deleteRateWindow(db: Queries, key: string): Promise<void> {
  await db.run("DELETE FROM rate_limits WHERE key = ?", key);
}

/** Deletes windows that ended before `now`; returns how many. */
export async function deleteEndedWindows(db: Queries, now: number): Promise<number> {
  return (await db.run("DELETE FROM rate_limits WHERE expires_at <= ?", now)).changes;
}
