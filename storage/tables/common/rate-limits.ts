import type { Queries } from "../../engine/database.ts";
import { generated, integer, text, unread } from "../columns.ts";
import { type Condition, raw, sql, SqlText } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";

const rateLimits = defineTable("rate_limits", {
  key: unread(text()),
  points: integer(),
  expiresAt: integer(),
  pending: generated(integer()),
  pendingUntil: generated(integer()),
});
/**
 * A window of a rate limit: the points used so far, and its end in epoch milliseconds. `pending` of the points belong to
 * attempts whose result is unknown; they are so until `pendingUntil` at the latest.
 */
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
 * Counts one attempt of each key whose result is not known yet, as `countHit` does, and returns the points by key. The next
 * window takes over the attempts that are still pending at the end of one, so that each is counted whenever it ends.
 *
 * One statement for all keys: on PostgreSQL transactions about the same rows make each other fail, statements wait. They take
 * rows in the order of the keys, so all callers need the same order.
 */
export async function countPending(
  db: Queries,
  windows: readonly { readonly key: string; readonly windowMs: number }[],
  {
    now,
    pendingUntil,
    pendingUntilMax,
  }: {
    readonly now: number;
    readonly pendingUntil: number;
    /** A later time comes from a clock that was ahead. */
    readonly pendingUntilMax: number;
  },
): Promise<ReadonlyMap<string, number>> {
  const live = sql`CASE WHEN rate_limits.pending_until > ${now} AND rate_limits.pending_until <= ${pendingUntilMax}
    THEN rate_limits.pending ELSE 0 END`;
  const rows = windows.map(
    ({ key, windowMs }) => sql`(${key}, 1, ${now + windowMs}, 1, ${pendingUntil})`,
  );
  const statement = sql`INSERT INTO rate_limits (key, points, expires_at, pending, pending_until) VALUES ${list(rows)}
     ON CONFLICT (key) DO UPDATE SET
       points = CASE WHEN rate_limits.expires_at <= ${now} THEN 1 + ${live} ELSE rate_limits.points + 1 END,
       expires_at = CASE
         WHEN rate_limits.expires_at <= ${now} OR rate_limits.expires_at > excluded.expires_at
         THEN excluded.expires_at ELSE rate_limits.expires_at END,
       pending = 1 + ${live},
       pending_until = excluded.pending_until
     RETURNING key, points`;
  const counted = await db.all<{ key: string; points: number }>(statement.sql, ...statement.values);
  return new Map(counted.map(({ key, points }) => [key, points]));
}

/**
 * Ends a pending attempt of each key, in one statement as `countPending`. The attempt stays counted at the keys that are
 * not `uncounted`; at a `cleared` key no ended attempt does.
 */
export async function endPending(
  db: Queries,
  keys: readonly {
    readonly key: string;
    readonly fate: "counted" | "uncounted" | "cleared";
  }[],
): Promise<void> {
  // `excluded.points` tells what happens to those of the row. A row that was deleted comes back empty and has ended.
  const rows = keys.map(({ key, fate }) => sql`(${key}, ${POINTS_OF[fate]}, 0)`);
  const statement = sql`INSERT INTO rate_limits (key, points, expires_at) VALUES ${list(rows)}
     ON CONFLICT (key) DO UPDATE SET
       points = CASE excluded.points
         WHEN ${POINTS_OF.cleared} THEN ${lessOne("pending")}
         WHEN ${POINTS_OF.uncounted} THEN ${lessOne("points")}
         ELSE rate_limits.points END,
       pending = ${lessOne("pending")}`;
  await db.run(statement.sql, ...statement.values);
}

/** The points of a new row, which has no attempts: none, or fewer. */
const POINTS_OF = { counted: 0, uncounted: -1, cleared: -2 } as const;

const lessOne = (column: string) =>
  raw(`CASE WHEN rate_limits.${column} > 1 THEN rate_limits.${column} - 1 ELSE 0 END`);

function list(rows: readonly Condition[]): SqlText {
  return new SqlText(
    rows.map((row) => row.sql).join(", "),
    rows.flatMap((row) => row.values),
  );
}

/** Deletes windows that ended before `now`, unless an attempt may be pending; returns how many. */
export const deleteEndedWindows = (db: Queries, now: number): Promise<number> =>
  rateLimits.delete(db, sql`expires_at <= ${now} AND (pending = 0 OR pending_until <= ${now})`);
