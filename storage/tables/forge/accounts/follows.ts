import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, now } from "../../columns.ts";
import { type Condition, sql } from "../../condition.ts";
import type { Reader } from "../repositories/readable.ts";
import { addFollow } from "./user-counts.ts";
import { defineTable, type RecordOf, type Window } from "../../table.ts";
import type { UserPage } from "./user-lists.ts";
import { users } from "./users.ts";
import type { UserId } from "../ids.ts";

const follows = defineTable("forge_follows", {
  followedId: id<UserId>(),
  followerId: id<UserId>(),
  createdAt: now(),
});
type Follow = Pick<RecordOf<typeof follows>, "followerId" | "followedId">;

/** Lets a user follow an account. Idempotent. */
export async function insertFollow(tx: Transaction, follow: Follow): Promise<void> {
  const added = await follows.upsert(
    tx,
    follow,
    "ON CONFLICT (followed_id, follower_id) DO NOTHING",
  );
  if (added !== undefined) await addFollow(tx, follow, 1);
}

/** Ends a follow. Idempotent. */
export async function deleteFollow(
  tx: Transaction,
  { followedId, followerId }: Follow,
): Promise<void> {
  const deleted = await follows.delete(tx, { followedId, followerId });
  if (deleted > 0) await addFollow(tx, { followedId, followerId }, -1);
}

export const isFollowing = (db: Queries, { followedId, followerId }: Follow): Promise<boolean> =>
  follows.exists(db, { followedId, followerId });

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
