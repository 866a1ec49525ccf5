import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { UserId, IssueId, CommentId } from "../ids.ts";
import { id, now, optional, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";

/** The subject of a reaction: an issue, or a comment on it. */
export interface ReactionSubject {
  readonly issueId: IssueId;
  /** Undefined for the issue itself. */
  readonly commentId: CommentId | undefined;
}

const reactions = defineTable("forge_reactions", {
  issueId: id<IssueId>(),
  commentId: optional(id<CommentId>()),
  userId: id<UserId>(),
  content: text(),
  /** Epoch milliseconds. */
  createdAt: now(),
});
/** A reaction of a user. */
export type ForgeReaction = RecordOf<typeof reactions>;

/** Adds a reaction. Returns it, and whether the user had not given it before. */
export async function insertReaction(
  tx: Transaction,
  reaction: Omit<ForgeReaction, "createdAt">,
): Promise<{ readonly reaction: ForgeReaction; readonly isNew: boolean }> {
  const before = await findReaction(tx, reaction);
  if (before !== undefined) return { reaction: before, isNew: false };
  await reactions.insert(tx, reaction);
  return { reaction: { ...reaction, createdAt: tx.now }, isNew: true };
}

/** Deletes a reaction. Idempotent. */
export async function deleteReaction(
  tx: Transaction,
  reaction: Omit<ForgeReaction, "createdAt">,
): Promise<void> {
  const { sql, values } = toSubjectCondition(reaction);
  await tx.run(
    `DELETE FROM forge_reactions WHERE ${sql} AND user_id = ? AND content = ?`,
    ...values,
    reaction.userId,
    reaction.content,
  );
}

/** Returns a page of the reactions, oldest first, and the total count. */
export async function listReactions(
  db: Queries,
  subject: ReactionSubject,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly reactions: readonly ForgeReaction[]; readonly total: number }> {
  const { sql, values } = toSubjectCondition(subject);
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_reactions WHERE ${sql}`,
    ...values,
  );
  const rows = await reactions.readAll(
    db,
    `SELECT ${reactions.columns} FROM forge_reactions WHERE ${sql} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { reactions: rows, total: counted?.total ?? 0 };
}

async function findReaction(
  db: Queries,
  { userId, content, ...subject }: Omit<ForgeReaction, "createdAt">,
): Promise<ForgeReaction | undefined> {
  const { sql, values } = toSubjectCondition(subject);
  return reactions.readOne(
    db,
    `SELECT ${reactions.columns} FROM forge_reactions WHERE ${sql} AND user_id = ? AND content = ?`,
    ...values,
    userId,
    content,
  );
}

function toSubjectCondition({ issueId, commentId }: ReactionSubject): {
  readonly sql: string;
  readonly values: readonly SqlValue[];
} {
  return commentId === undefined
    ? { sql: "issue_id = ? AND comment_id IS NULL", values: [issueId] }
    : { sql: "comment_id = ?", values: [commentId] };
}
