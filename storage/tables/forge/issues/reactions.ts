import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { UserId, IssueId, CommentId } from "../ids.ts";

/** The subject of a reaction: an issue, or a comment on it. */
export interface ReactionSubject {
  readonly issueId: IssueId;
  /** Undefined for the issue itself. */
  readonly commentId: CommentId | undefined;
}

/** A reaction of a user. */
export interface ForgeReaction extends ReactionSubject {
  readonly userId: UserId;
  readonly content: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** Adds a reaction. Returns it, and whether the user had not given it before. */
export async function insertReaction(
  tx: Transaction,
  reaction: Omit<ForgeReaction, "createdAt">,
): Promise<{ readonly reaction: ForgeReaction; readonly isNew: boolean }> {
  const before = await findReaction(tx, reaction);
  if (before !== undefined) return { reaction: before, isNew: false };
  await tx.run(
    "INSERT INTO forge_reactions (issue_id, comment_id, user_id, content, created_at) VALUES (?, ?, ?, ?, ?)",
    reaction.issueId,
    reaction.commentId ?? null,
    reaction.userId,
    reaction.content,
    tx.now,
  );
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
  const rows = await db.all<ReactionRow>(
    `SELECT ${columns} FROM forge_reactions WHERE ${sql} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { reactions: rows.map(toReaction), total: counted?.total ?? 0 };
}

async function findReaction(
  db: Queries,
  { userId, content, ...subject }: Omit<ForgeReaction, "createdAt">,
): Promise<ForgeReaction | undefined> {
  const { sql, values } = toSubjectCondition(subject);
  const row = await db.get<ReactionRow>(
    `SELECT ${columns} FROM forge_reactions WHERE ${sql} AND user_id = ? AND content = ?`,
    ...values,
    userId,
    content,
  );
  return row && toReaction(row);
}

function toSubjectCondition({ issueId, commentId }: ReactionSubject): {
  readonly sql: string;
  readonly values: readonly SqlValue[];
} {
  return commentId === undefined
    ? { sql: "issue_id = ? AND comment_id IS NULL", values: [issueId] }
    : { sql: "comment_id = ?", values: [commentId] };
}

interface ReactionRow {
  issue_id: IssueId;
  comment_id: CommentId | null;
  user_id: UserId;
  content: string;
  created_at: number;
}

const columns = "issue_id, comment_id, user_id, content, created_at";

function toReaction(row: ReactionRow): ForgeReaction {
  return {
    issueId: row.issue_id,
    commentId: row.comment_id ?? undefined,
    userId: row.user_id,
    content: row.content,
    createdAt: row.created_at,
  };
}
