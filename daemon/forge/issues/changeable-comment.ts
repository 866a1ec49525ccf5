import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { type ReviewId, toCommentId } from "../../../storage/tables/forge/ids.ts";
import {
  findCommentOrLine,
  findEntry,
  type ForgeComment,
} from "../../../storage/tables/forge/issues/comments.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import {
  findReviewLine,
  measureReviewLines,
  type ReviewLine,
} from "../../../storage/tables/forge/pulls/review-lines.ts";
import { findReviewById, type ForgeReview } from "../../../storage/tables/forge/pulls/reviews.ts";
import { AppError } from "../../errors.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { notFound } from "../refusals.ts";

/**
 * Finds an entry of a timeline, or a comment on a line, and its kind in the table. Refuses with `not_found`, also a comment
 * of a pending review of another person.
 */
export async function openEntry(
  db: Queries,
  { repository }: OwnedRepository,
  caller: ForgeCaller | undefined,
  id: number,
): Promise<{
  readonly kind: string;
  readonly issue: ForgeIssue;
  readonly comment: ForgeComment;
}> {
  const entry = await findEntry(db, repository.id, toCommentId(id));
  const issue = entry && (await findIssueById(db, entry.issueId));
  if (entry === undefined || issue === undefined) throw notFound();
  const line = entry.kind === "code" ? await findReviewLine(db, entry.id) : undefined;
  const review = line && (await findReviewById(db, line.reviewId));
  if (review !== undefined && !isVisible(review, caller)) throw notFound();
  const { kind, ...comment } = entry;
  return { kind, issue, comment };
}

/** A comment that its author and writers change. */
interface ChangeableComment {
  readonly issue: ForgeIssue;
  readonly comment: ForgeComment;
  /** Of a comment on a line. */
  readonly review: ForgeReview | undefined;
}

/** Most comments on lines of a review, and bytes of them with their hunks: one list has all of them. */
const REVIEW_MAX = { lines: 1_000, bytes: 4 * 1024 * 1024 };

/**
 * Finds a comment of a conversation, or one on a line of a diff. Refuses with `not_found`, also a comment of a pending review of
 * another person.
 */
export async function openChangeable(
  db: Queries,
  { repository }: OwnedRepository,
  caller: ForgeCaller,
  id: number,
): Promise<ChangeableComment> {
  const comment = await findCommentOrLine(db, repository.id, toCommentId(id));
  const issue = comment && (await findIssueById(db, comment.issueId));
  if (comment === undefined || issue === undefined) throw notFound();
  const line = await findReviewLine(db, comment.id);
  const review = line && (await findReviewById(db, line.reviewId));
  if (review !== undefined && !isVisible(review, caller)) throw notFound();
  return { issue, comment, review };
}

/** Returns whether a caller sees a review: others see a pending one only as site administrators. */
export function isVisible(
  { state, reviewerId }: ForgeReview,
  caller: ForgeCaller | undefined,
): boolean {
  if (state !== "pending") return true;
  return caller !== undefined && (caller.user.isAdmin || isSelf(caller.user, reviewerId));
}

/** Refuses with `unprocessable` more comments on lines than a review may have. */
export async function assertRoom(
  tx: Transaction,
  reviewId: ReviewId,
  added: readonly Pick<ReviewLine, "body" | "hunk">[],
): Promise<void> {
  if (added.length === 0) return;
  const has = await measureReviewLines(tx, reviewId);
  let { bytes } = has;
  for (const { body, hunk } of added) bytes += Buffer.byteLength(body) + Buffer.byteLength(hunk);
  if (has.lines + added.length > REVIEW_MAX.lines || bytes > REVIEW_MAX.bytes) throw tooMany();
}

/** Refuses with `unprocessable` a text that is longer than the former one when the review has no room for it. */
export async function assertRoomForText(
  tx: Transaction,
  reviewId: ReviewId,
  { before, after }: { readonly before: string; readonly after: string },
): Promise<void> {
  const grows = Buffer.byteLength(after) - Buffer.byteLength(before);
  if (grows <= 0) return;
  const { bytes } = await measureReviewLines(tx, reviewId);
  if (bytes + grows > REVIEW_MAX.bytes) throw tooMany();
}

const tooMany = () =>
  new AppError(
    "unprocessable",
    `a review has at most ${REVIEW_MAX.lines} comments on lines, of ${REVIEW_MAX.bytes} bytes in all`,
  );
