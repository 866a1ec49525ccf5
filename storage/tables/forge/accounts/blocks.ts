import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, now, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type Window } from "../../table.ts";
import type { RepositoryId, UserId } from "../ids.ts";
import { deleteFollow } from "./follows.ts";
import { addStar } from "./user-counts.ts";
import type { UserPage } from "./user-lists.ts";
import { users } from "./users.ts";

const blocks = defineTable("forge_blocks", {
  blockerId: id<UserId>(),
  blockedId: id<UserId>(),
  note: text(),
  createdAt: now(),
});

/** An account that has blocked a user. */
export interface Block {
  readonly blockerId: UserId;
  readonly blockedId: UserId;
}

export function isBlocked(db: Queries, { blockerId, blockedId }: Block): Promise<boolean> {
  return blocks.exists(db, { blockerId, blockedId });
}

/** Returns whether one of the accounts has blocked a user. */
export function isBlockedByAny(
  db: Queries,
  blockerIds: readonly UserId[],
  blockedId: UserId,
): Promise<boolean> {
  if (blockerIds.length === 0) return Promise.resolve(false);
  return blocks.exists(db, sql`blocked_id = ${blockedId} AND blocker_id IN (${blockerIds})`);
}

/**
 * Blocks a user. Ends what binds both: follows, and the stars, watches and collaborations of the user in repositories of
 * the blocker. Throws `conflict` when the user is blocked.
 */
export async function insertBlock(tx: Transaction, block: Block, note: string): Promise<void> {
  await blocks.insert(tx, { ...block, note });
  const { blockerId, blockedId } = block;
  await deleteFollow(tx, { followerId: blockerId, followedId: blockedId });
  await deleteFollow(tx, { followerId: blockedId, followedId: blockerId });
  const starred = await tx.all<{ id: RepositoryId }>(
    `DELETE FROM forge_stars WHERE user_id = ? AND ${OF_BLOCKER} RETURNING repository_id AS id`,
    blockedId,
    blockerId,
  );
  for (const { id: repositoryId } of starred)
    await addStar(tx, { repositoryId, userId: blockedId }, -1);
  for (const table of ["forge_watches", "forge_collaborators"])
    await tx.run(`DELETE FROM ${table} WHERE user_id = ? AND ${OF_BLOCKER}`, blockedId, blockerId);
}

const OF_BLOCKER = "repository_id IN (SELECT id FROM forge_repositories WHERE owner_id = ?)";

/** Ends a block and returns whether there was one. */
export async function deleteBlock(db: Queries, { blockerId, blockedId }: Block): Promise<boolean> {
  return (await blocks.delete(db, { blockerId, blockedId })) > 0;
}

/** Returns a page of the users whom an account has blocked, by id, and their count. */
export async function listBlocked(
  db: Queries,
  blockerId: UserId,
  window: Window,
): Promise<UserPage> {
  const from = {
    sql: "forge_blocks b JOIN forge_users u ON u.id = b.blocked_id WHERE b.blocker_id = ?",
    values: [blockerId],
  };
  const { records, total } = await users.as("u").page(db, from, { ...window, order: "u.id" });
  return { users: records, total };
}
