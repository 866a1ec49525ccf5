import type { Queries, Transaction } from "../../engine/database.ts";

/** A comment on an issue. Times are epoch milliseconds. */
export interface ForgeComment {
  readonly id: number;
  readonly issueId: number;
  /** Undefined once the account is gone. */
  readonly authorId: number | undefined;
  readonly body: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Adds a comment; the issue's count and time follow. */
export async function insertComment(
  tx: Transaction,
  { issueId, authorId, body }: Pick<ForgeComment, "issueId" | "authorId" | "body">,
): Promise<ForgeComment> {
  const row = await tx.get<CommentRow>(
    `INSERT INTO forge_issue_comments (issue_id, author_id, body, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?) RETURNING ${commentColumns}`,
    issueId,
    authorId ?? null,
    body,
    tx.now,
    tx.now,
  );
  if (row === undefined) throw new Error("the comment was not added");
  await tx.run(
    "UPDATE forge_issues SET comment_count = comment_count + 1, updated_at = ? WHERE id = ?",
    tx.now,
    issueId,
  );
  return toComment(row);
}

/** Writes a comment's text; undefined when it is gone. */
export async function updateComment(
  tx: Transaction,
  id: number,
  body: string,
): Promise<ForgeComment | undefined> {
  const row = await tx.get<CommentRow>(
    `UPDATE forge_issue_comments SET body = ?, updated_at = ? WHERE id = ? RETURNING ${commentColumns}`,
    body,
    tx.now,
    id,
  );
  return row && toComment(row);
}

/** A comment of a repository: one of another repository counts as missing. */
export async function findComment(
  db: Queries,
  repositoryId: number,
  id: number,
): Promise<ForgeComment | undefined> {
  const row = await db.get<CommentRow>(
    `SELECT ${commentColumns} FROM forge_issue_comments
     WHERE id = ? AND issue_id IN (SELECT i.id FROM forge_issues i WHERE i.repository_id = ?)`,
    id,
    repositoryId,
  );
  return row && toComment(row);
}

/** Comments on an issue, oldest first; the list has no pages, so `limit` bounds it. */
export async function listComments(
  db: Queries,
  issueId: number,
  limit: number,
): Promise<ForgeComment[]> {
  const rows = await db.all<CommentRow>(
    `SELECT ${commentColumns} FROM forge_issue_comments WHERE issue_id = ? ORDER BY id LIMIT ?`,
    issueId,
    limit,
  );
  return rows.map(toComment);
}

/** The newest comment's id; undefined while there is none. */
export async function findLastCommentId(db: Queries, issueId: number): Promise<number | undefined> {
  const row = await db.get<{ id: number }>(
    "SELECT id FROM forge_issue_comments WHERE issue_id = ? ORDER BY id DESC LIMIT 1",
    issueId,
  );
  return row?.id;
}

/** The ids of those who commented on an issue. */
export async function listCommenters(db: Queries, issueId: number): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    "SELECT DISTINCT author_id AS id FROM forge_issue_comments WHERE issue_id = ? AND author_id IS NOT NULL ORDER BY author_id",
    issueId,
  );
  return rows.map(({ id }) => id);
}

interface CommentRow {
  id: number;
  issue_id: number;
  author_id: number | null;
  body: string;
  created_at: number;
  updated_at: number;
}

const commentColumns = "id, issue_id, author_id, body, created_at, updated_at";

function toComment(row: CommentRow): ForgeComment {
  return {
    id: row.id,
    issueId: row.issue_id,
    authorId: row.author_id ?? undefined,
    body: row.body,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
