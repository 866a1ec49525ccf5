import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { UserId, IssueId, CommentId, RepositoryId } from "../ids.ts";
import { generated, id, initial, nowUnlessGiven, optional, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";
import { issues } from "./issues.ts";

export const comments = defineTable("forge_issue_comments", {
  id: generated(id<CommentId>()),
  issueId: id<IssueId>(),
  /** Undefined once the account is deleted. */
  authorId: optional(id<UserId>()),
  body: text(),
  /** The author's name at the place from which the comment was imported; empty for one that was written here. */
  originalAuthor: initial("", text()),
  createdAt: nowUnlessGiven(),
  updatedAt: nowUnlessGiven(),
  /** `comment`, `code` for one on a line, or the kind of an event of the timeline, which have further columns. */
  kind: unread(initial("comment", text())),
  /** JSON with the facts of an event; empty for comments. */
  details: unread(initial("", text())),
  /** The issue, and the comment on it, that names this one. */
  refIssueId: unread(optional(id<IssueId>())),
  refCommentId: unread(optional(id<CommentId>())),
});
/** A comment on an issue. Times are epoch milliseconds. */
export type ForgeComment = RecordOf<typeof comments>;

/** Adds a comment and updates the count and the time of the issue. */
export async function insertComment(
  tx: Transaction,
  { issueId, authorId, body }: Pick<ForgeComment, "issueId" | "authorId" | "body">,
): Promise<ForgeComment> {
  const row = await comments.insert(tx, { issueId, authorId, body });
  await issues.update(
    tx,
    { id: issueId },
    { commentCount: sql`comment_count + 1`, updatedAt: tx.now },
  );
  return row;
}

/** Adds a comment of another server with its times. */
export async function insertImportedComment(
  tx: Transaction,
  comment: Omit<ForgeComment, "id">,
): Promise<void> {
  await comments.insert(tx, comment);
  await issues.update(tx, { id: comment.issueId }, { commentCount: sql`comment_count + 1` });
}

/** Updates the text of a comment. Returns undefined when it does not exist. */
export const updateComment = (
  tx: Transaction,
  id: CommentId,
  body: string,
): Promise<ForgeComment | undefined> => comments.change(tx, { id }, { body, updatedAt: tx.now });

/** Deletes a comment and updates the count of the issue. Idempotent. */
export async function deleteComment(tx: Transaction, { id, issueId }: ForgeComment): Promise<void> {
  const changes = await comments.delete(tx, sql`id = ${id} AND kind = 'comment'`);
  if (changes === 0) return;
  await issues.update(
    tx,
    { id: issueId },
    { commentCount: sql`comment_count - 1`, updatedAt: tx.now },
  );
}

/** Deletes all comments of a user and updates the counts of the issues. */
export async function deleteCommentsOf(tx: Transaction, authorId: UserId): Promise<void> {
  await tx.run(
    `UPDATE forge_issues SET comment_count = comment_count -
       (SELECT COUNT(*) FROM forge_issue_comments c WHERE c.issue_id = forge_issues.id AND c.author_id = ? AND c.kind = 'comment')
     WHERE id IN (SELECT o.issue_id FROM forge_issue_comments o WHERE o.author_id = ? AND o.kind = 'comment')`,
    authorId,
    authorId,
  );
  await comments.delete(tx, sql`author_id = ${authorId} AND kind = 'comment'`);
}

/** Returns a comment of a repository; undefined also for one of another repository. */
export async function findComment(
  db: Queries,
  repositoryId: RepositoryId,
  id: CommentId,
): Promise<ForgeComment | undefined> {
  return comments.find(
    db,
    sql`id = ${id} AND kind = 'comment' AND issue_id IN (SELECT i.id FROM forge_issues i
        WHERE i.repository_id = ${repositoryId})`,
  );
}

/** Returns any entry of a timeline of a repository, also a comment on a line, with its kind. */
export async function findEntry(
  db: Queries,
  repositoryId: RepositoryId,
  id: CommentId,
): Promise<(ForgeComment & { readonly kind: string }) | undefined> {
  const row = await db.get<{ kind: string }>(
    `SELECT c.kind, ${comments.as("c").columns} FROM forge_issue_comments c
     JOIN forge_issues i ON i.id = c.issue_id WHERE c.id = ? AND i.repository_id = ?`,
    id,
    repositoryId,
  );
  return row && { ...comments.read(row), kind: row.kind };
}

/** As `findComment`, also a comment on a line. */
export async function findCommentOrLine(
  db: Queries,
  repositoryId: RepositoryId,
  id: CommentId,
): Promise<ForgeComment | undefined> {
  return comments.find(
    db,
    sql`id = ${id} AND kind IN ('comment', 'code') AND issue_id IN (SELECT i.id FROM forge_issues i
        WHERE i.repository_id = ${repositoryId})`,
  );
}

/** Returns the existing comments of these ids, unordered. */
export async function listCommentsByIds(
  db: Queries,
  ids: readonly CommentId[],
): Promise<ForgeComment[]> {
  if (ids.length === 0) return [];
  return comments.list(db, sql`kind = 'comment' AND id IN (${ids})`);
}

/** Returns the existing comments of these ids, also texts of reviews and comments on lines. */
export async function listTextsByIds(
  db: Queries,
  ids: readonly CommentId[],
): Promise<ForgeComment[]> {
  return ids.length === 0 ? [] : comments.list(db, sql`id IN (${ids})`);
}

/** Range of the last change of comments in epoch milliseconds, both ends included. */
export interface CommentFilter {
  readonly issueId: IssueId;
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

/**
 * Returns the comments on an issue, oldest first, and the total count. The list has no pages, so it is truncated at
 * `count` comments or `bytes` of text, but always includes the first comment.
 */
export async function listComments(
  db: Queries,
  { issueId, since, before }: CommentFilter,
  most: { readonly count: number; readonly bytes: number },
): Promise<{ readonly comments: readonly ForgeComment[]; readonly total: number }> {
  const conditions = ["issue_id = ?", "kind = 'comment'"];
  const values: SqlValue[] = [issueId];
  if (since !== undefined) {
    conditions.push("updated_at >= ?");
    values.push(since);
  }
  if (before !== undefined) {
    conditions.push("updated_at <= ?");
    values.push(before);
  }
  const where = conditions.join(" AND ");
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_issue_comments WHERE ${where}`,
    ...values,
  );
  // Reads only the lengths first, because all texts together may not fit into memory.
  const sizes = await db.all<{ id: CommentId; bytes: number }>(
    `SELECT id, OCTET_LENGTH(body) AS bytes FROM forge_issue_comments WHERE ${where} ORDER BY id LIMIT ?`,
    ...values,
    most.count,
  );
  let bytes = 0;
  const fitting = sizes.filter((row, at) => (bytes += row.bytes) <= most.bytes || at === 0);
  const lastId = fitting.at(-1)?.id;
  if (lastId === undefined) return { comments: [], total: 0 };
  const rows = await comments.readAll(
    db,
    `SELECT ${comments.columns} FROM forge_issue_comments WHERE ${where} AND id <= ? ORDER BY id`,
    ...values,
    lastId,
  );
  return { comments: rows, total: counted?.total ?? rows.length };
}

/** Returns a page of the comments on all issues of a repository, oldest first, and the total count. */
export async function listCommentsOfRepository(
  db: Queries,
  {
    repositoryId,
    isPull,
    since,
    before,
  }: Omit<CommentFilter, "issueId"> & {
    readonly repositoryId: RepositoryId;
    /** Whether the comments are those on pull requests, or those on issues; on both if undefined. */
    readonly isPull: boolean | undefined;
  },
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly comments: readonly ForgeComment[]; readonly total: number }> {
  const conditions = [
    "kind = 'comment'",
    `issue_id IN (SELECT i.id FROM forge_issues i
       WHERE i.repository_id = ?${isPull === undefined ? "" : " AND i.is_pull = ?"})`,
    ...(since === undefined ? [] : ["updated_at >= ?"]),
    ...(before === undefined ? [] : ["updated_at <= ?"]),
  ];
  const kind = isPull === undefined ? undefined : Number(isPull);
  const values = [repositoryId, kind, since, before].filter((value) => value !== undefined);
  const where = conditions.join(" AND ");
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_issue_comments WHERE ${where}`,
    ...values,
  );
  const rows = await comments.readAll(
    db,
    `SELECT ${comments.columns} FROM forge_issue_comments WHERE ${where} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { comments: rows, total: counted?.total ?? 0 };
}

/** Returns the id of the newest comment; undefined without comments. */
export async function findLastCommentId(
  db: Queries,
  issueId: IssueId,
): Promise<CommentId | undefined> {
  const row = await db.get<{ id: CommentId }>(
    "SELECT id FROM forge_issue_comments WHERE issue_id = ? AND kind = 'comment' ORDER BY id DESC LIMIT 1",
    issueId,
  );
  return row?.id;
}

/** Returns the ids of the users who commented on an issue. */
export async function listCommenters(db: Queries, issueId: IssueId): Promise<UserId[]> {
  const rows = await db.all<{ id: UserId }>(
    "SELECT DISTINCT author_id AS id FROM forge_issue_comments WHERE issue_id = ? AND kind = 'comment' AND author_id IS NOT NULL ORDER BY author_id",
    issueId,
  );
  return rows.map(({ id }) => id);
}
