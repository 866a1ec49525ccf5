import type { Queries, Transaction } from "../../../engine/database.ts";
import { type Condition, sql } from "../../condition.ts";
import type { Reader } from "../repositories/readable.ts";
import { addFollow } from "./user-counts.ts";
import type { Window } from "../../table.ts";
import type { UserPage } from "./user-lists.ts";
import { users } from "./users.ts";
import type { UserId } from "../ids.ts";

interface Follow {
  readonly followerId: UserId;
  readonly followedId: UserId;
}

/** Lets a user follow an account. Idempotent. */
export async function insertFollow(tx: Transaction, follow: Follow): Promise<void> {
  const { changes } = await tx.run(
    `INSERT INTO forge_follows (followed_id, follower_id, created_at) VALUES (?, ?, ?)
     ON CONFLICT (followed_id, follower_id) DO NOTHING`,
    follow.followedId,
    follow.followerId,
    tx.now,
  );
  if (changes > 0) await addFollow(tx, follow, 1);
}

/** Ends a follow. Idempotent. */
export async function deleteFollow(tx: Transaction, follow: Follow): Promise<void> {
  const { changes } = await tx.run(
    "DELETE FROM forge_follows WHERE followed_id = ? AND follower_id = ?",
    follow.followedId,
    follow.followerId,
  );
  if (changes > 0) await addFollow(tx, follow, -1);
}

export async function isFollowing(db: Queries, follow: Follow): Promise<boolean> {
  const row = await db.get(
    "SELECT follower_id FROM forge_follows WHERE followed_id = ? AND follower_id = ?",
    follow.followedId,
    follow.followerId,
  );
  return row !== undefined;
}

/** Returns a page of the followers of an account that the reader may see, by id, and their count. */
export function listFollowers(
  db: Queries,
  accountId: UserId,
  reader: Reader,
  window: Window,
): Promise<UserPage> {
  const from = "forge_follows f JOIN forge_users u ON u.id = f.follower_id WHERE f.followed_id = ?";
  return listVisibleUsers(db, { sql: from, values: [accountId] }, reader, window);
}

/** Returns a page of the accounts that a user follows and the reader may see, by id, and their count. */
export function listFollowed(
  db: Queries,
  userId: UserId,
  reader: Reader,
  window: Window,
): Promise<UserPage> {
  const from = "forge_follows f JOIN forge_users u ON u.id = f.followed_id WHERE f.follower_id = ?";
  return listVisibleUsers(db, { sql: from, values: [userId] }, reader, window);
}

/** Returns a page of the accounts `u` of a FROM clause with its conditions, as far as the reader may see them, by id. */
export async function listVisibleUsers(
  db: Queries,
  from: Condition,
  reader: Reader,
  window: Window,
): Promise<UserPage> {
  const seen = sql`${from} AND (${toVisible(reader)})`;
  const { records, total } = await users.as("u").page(db, seen, { ...window, order: "u.id" });
  return { users: records, total };
}

/** Returns the condition for the accounts `u` that a reader may see: by their visibility, or as a member. */
export function toVisible(reader: Reader): Condition {
  if (reader === undefined) return { sql: "u.visibility = 0", values: [] };
  if (reader.isAdmin) return { sql: "1 = 1", values: [] };
  const everyones = reader.isRestricted ? "u.visibility = 0" : "u.visibility IN (0, 1)";
  return {
    sql: `${everyones} OR u.id = ?
      OR (u.kind = 1 AND u.id IN (SELECT o.org_id FROM forge_org_members o WHERE o.user_id = ?))`,
    values: [reader.id, reader.id],
  };
}
