import type { Queries, Transaction } from "../../../engine/database.ts";
import { flag, id, initial, integer, joined, oneOf, optional, text } from "../../columns.ts";
import { all, type Condition, sql } from "../../condition.ts";
import { defineTable, type Page, type RecordOf } from "../../table.ts";
import type { CommentId, IssueId, RepositoryId, ReviewId, UserId } from "../ids.ts";
import { comments } from "../issues/comments.ts";
import { isVisibleTo } from "./reviews.ts";

/** Of the list of a review, in bytes of texts and hunks: texts are edited after they were counted, and imported reviews have many. */
const REVIEW_LIST_MAX = { count: 2_000, bytes: 32 * 1024 * 1024 };
/** Of the list of a pull request. */
const PULL_LIST_MAX = { count: 1_000, bytes: 4 * 1024 * 1024 };

const reviewLines = defineTable(
  "forge_review_lines AS line",
  {
    commentId: id<CommentId>(),
    reviewId: id<ReviewId>(),
    path: text(),
    /** Whether the line is one of the old or of the new file. */
    side: oneOf(["old", "new"]),
    /** From 1. */
    line: integer(),
    /** The commit whose diff the line is in. */
    commitId: text(),
    /** The part of the diff that ends with the line. */
    hunk: text(),
    /** Undefined while the conversation is open. */
    resolvedBy: optional(id<UserId>()),
    /** Where later pushes have moved the line to; undefined while they left it, and once it is outdated. */
    currentLine: optional(integer()),
    /** Whether a push has changed or removed the line. */
    isOutdated: initial(false, flag()),
    /** The commit that the two members before are about: of the head, or of the base for a line of the old file. */
    followedTo: initial("", text()),
    issueId: joined("comment.issue_id", id<IssueId>()),
    /** Undefined once the account is deleted. */
    authorId: joined("comment.author_id", optional(id<UserId>())),
    body: joined("comment.body", text()),
    /** As of a comment. */
    originalAuthor: joined("comment.original_author", text()),
    createdAt: joined("comment.created_at", integer()),
    updatedAt: joined("comment.updated_at", integer()),
  },
  "JOIN forge_issue_comments AS comment ON comment.id = line.comment_id",
);
/** A comment on a line of a diff. Times are epoch milliseconds. */
export type ReviewLine = RecordOf<typeof reviewLines>;

export type NewReviewLine = Pick<
  ReviewLine,
  "reviewId" | "issueId" | "authorId" | "body" | "path" | "side" | "line" | "commitId" | "hunk"
> &
  Partial<
    Pick<
      ReviewLine,
      | "currentLine"
      | "isOutdated"
      | "followedTo"
      | "originalAuthor"
      | "resolvedBy"
      | "createdAt"
      | "updatedAt"
    >
  >;

/**
 * Adds a comment on a line, with the time of the transaction unless another one is given. It is not counted among the
 * comments of the conversation.
 */
export async function insertReviewLine(
  tx: Transaction,
  {
    issueId,
    authorId,
    body,
    originalAuthor = "",
    createdAt = tx.now,
    updatedAt = tx.now,
    ...line
  }: NewReviewLine,
): Promise<ReviewLine> {
  const comment = await comments.insert(tx, {
    issueId,
    authorId,
    body,
    kind: "code",
    originalAuthor,
    createdAt,
    updatedAt,
  });
  await reviewLines.insert(tx, { ...line, commentId: comment.id });
  const added = await findReviewLine(tx, comment.id);
  if (added === undefined) throw new Error("the comment on a line did not come back");
  return added;
}

/** Deletes a comment on a line. Idempotent. */
export async function deleteReviewLine(tx: Transaction, commentId: CommentId): Promise<void> {
  await comments.delete(tx, { id: commentId, kind: "code" });
}

export function findReviewLine(db: Queries, commentId: CommentId): Promise<ReviewLine | undefined> {
  return reviewLines.find(db, sql`line.comment_id = ${commentId}`);
}

/**
 * Returns the comments of a review, oldest first. The list has no pages, so it is truncated as `REVIEW_LIST_MAX` says, but always
 * includes the first comment.
 */
export function listReviewLines(db: Queries, reviewId: ReviewId): Promise<ReviewLine[]> {
  return listFitting(db, sql`line.review_id = ${reviewId}`, REVIEW_LIST_MAX);
}

/** Which comments on lines of a pull request a list has. */
export interface PullLinesFilter {
  readonly issueId: IssueId;
  /** The person who sees a pending review; `all` sees those of others, too. */
  readonly viewer: UserId | "all" | undefined;
  /** Undefined for both. */
  readonly isOutdated: boolean | undefined;
  /** Undefined for all reviews. */
  readonly reviewIds: readonly ReviewId[] | undefined;
}

/** Returns the comments on lines of a pull request, oldest first, as `listReviewLines` those of one review, and the count of all. */
export async function listPullLines(
  db: Queries,
  { issueId, viewer, isOutdated, reviewIds }: PullLinesFilter,
): Promise<Page<ReviewLine>> {
  const isVisible = isVisibleTo(viewer);
  const where = all([
    sql`line.review_id IN (SELECT id FROM forge_reviews WHERE issue_id = ${issueId} AND ${isVisible})`,
    ...(isOutdated === undefined ? [] : [sql`line.is_outdated = ${isOutdated}`]),
    ...(reviewIds === undefined ? [] : [sql`line.review_id IN (${reviewIds})`]),
  ]);
  return {
    records: await listFitting(db, where, PULL_LIST_MAX),
    total: await reviewLines.count(db, where),
  };
}

async function listFitting(
  db: Queries,
  where: Condition,
  most: { readonly count: number; readonly bytes: number },
): Promise<ReviewLine[]> {
  // Reads only the lengths first, because all texts together may not fit into memory.
  const sizes = await db.all<{ id: CommentId; bytes: number }>(
    `SELECT line.comment_id AS id, OCTET_LENGTH(comment.body) + OCTET_LENGTH(line.hunk) AS bytes
     FROM ${reviewLines.from} WHERE ${where.sql} ORDER BY line.comment_id LIMIT ?`,
    ...where.values,
    most.count,
  );
  let sum = 0;
  const fitting = sizes.filter(({ bytes }, at) => (sum += bytes) <= most.bytes || at === 0);
  const last = fitting.at(-1)?.id;
  if (last === undefined) return [];
  const within = sql`${where} AND line.comment_id <= ${last}`;
  return reviewLines.list(db, within, { order: "line.comment_id" });
}

/** Returns how many comments on lines reviews have; those without any are left out. */
export async function countReviewLines(
  db: Queries,
  reviewIds: readonly ReviewId[],
): Promise<ReadonlyMap<ReviewId, number>> {
  const { sql: condition, values } = sql`review_id IN (${reviewIds})`;
  const rows = await db.all<{ review_id: ReviewId; total: number }>(
    `SELECT review_id, COUNT(*) AS total FROM forge_review_lines WHERE ${condition} GROUP BY review_id`,
    ...values,
  );
  return new Map(rows.map(({ review_id: id, total }) => [id, Number(total)]));
}

/** Returns how many comments on lines a review has, and how many bytes they have with their hunks. */
export async function measureReviewLines(
  db: Queries,
  reviewId: ReviewId,
): Promise<{ readonly lines: number; readonly bytes: number }> {
  const found = await db.get<{ lines: number; bytes: number | null }>(
    `SELECT COUNT(*) AS lines, SUM(OCTET_LENGTH(comment.body) + OCTET_LENGTH(line.hunk)) AS bytes
     FROM forge_review_lines AS line JOIN forge_issue_comments AS comment ON comment.id = line.comment_id
     WHERE line.review_id = ?`,
    reviewId,
  );
  return { lines: Number(found?.lines ?? 0), bytes: Number(found?.bytes ?? 0) };
}

/** Returns comments on lines of a pull request that are not followed to its head or base, the newest first. */
export function listUnfollowedLines(
  db: Queries,
  issueId: IssueId,
  { head, base, limit }: { readonly head: string; readonly base: string; readonly limit: number },
): Promise<ReviewLine[]> {
  const ofPull = sql`comment.issue_id = ${issueId} AND comment.kind = 'code'`;
  const isNew = sql`line.side = 'new' AND line.followed_to <> ${head}`;
  const isOld = sql`line.side = 'old' AND line.followed_to <> ${base}`;
  const where = sql`${ofPull} AND ((${isNew}) OR (${isOld}))`;
  return reviewLines.list(db, where, { order: "line.comment_id DESC", limit });
}

/** Records where a push has left the line of a comment. */
export async function moveReviewLine(
  tx: Transaction,
  commentId: CommentId,
  place: Pick<ReviewLine, "currentLine" | "isOutdated" | "followedTo">,
): Promise<void> {
  await reviewLines.update(tx, { commentId }, place);
}

/** Records who resolved the conversation of a comment; undefined opens it again. */
export async function resolveReviewLine(
  tx: Transaction,
  commentId: CommentId,
  resolvedBy: UserId | undefined,
): Promise<void> {
  await tx.run(
    "UPDATE forge_review_lines SET resolved_by = ? WHERE comment_id = ?",
    resolvedBy ?? null,
    commentId,
  );
}

/** What a comment of a repository belongs to: a pull request's line, or a conversation. */
export async function findCommentPlace(
  db: Queries,
  repositoryId: RepositoryId,
  commentId: CommentId,
): Promise<{ readonly issueId: IssueId; readonly isOnLine: boolean } | undefined> {
  const row = await db.get<{ issue_id: IssueId; kind: string }>(
    `SELECT c.issue_id, c.kind FROM forge_issue_comments c JOIN forge_issues i ON i.id = c.issue_id
     WHERE c.id = ? AND i.repository_id = ?`,
    commentId,
    repositoryId,
  );
  return row && { issueId: row.issue_id, isOnLine: row.kind === "code" };
}
