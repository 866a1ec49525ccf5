import type { Queries, Transaction } from "../../../engine/database.ts";
import { inChunksOfIds } from "../../chunks.ts";
import {
  flag,
  generated,
  id,
  initial,
  nowUnlessGiven,
  oneOf,
  optional,
  text,
} from "../../columns.ts";
import { type Condition, sql } from "../../condition.ts";
import { issues } from "../issues/issues.ts";
import { defineTable, type Page, type RecordOf, type Window } from "../../table.ts";
import type { CommentId, IssueId, ReviewId, TeamId, UserId } from "../ids.ts";

/** `pending`: only its author sees it. `requested`: a person or a team was asked and has not answered. */
const reviewStates = ["pending", "approved", "changes_requested", "comment", "requested"] as const;
export type ReviewState = (typeof reviewStates)[number];

const reviews = defineTable("forge_reviews", {
  id: generated(id<ReviewId>()),
  issueId: id<IssueId>(),
  /** Undefined for a team, and once the account is deleted. */
  reviewerId: optional(id<UserId>()),
  /** The team that was asked. */
  teamId: optional(id<TeamId>()),
  state: oneOf(reviewStates),
  body: initial("", text()),
  /** The commit that was reviewed; empty for a request. */
  commitId: initial("", text()),
  /** Whether it counts for the rule of the base branch. */
  isOfficial: flag(),
  /** Whether the content has changed since. */
  isStale: initial(false, flag()),
  isDismissed: initial(false, flag()),
  /** Its entry in the timeline, once it is submitted. */
  commentId: optional(id<CommentId>()),
  /** The reviewer's name at the place from which the review was imported; empty for one that was written here. */
  originalAuthor: initial("", text()),
  createdAt: nowUnlessGiven(),
  submittedAt: nowUnlessGiven(),
  updatedAt: nowUnlessGiven(),
});
/** A review of a pull request, or a request for one. Times are epoch milliseconds. */
export type ForgeReview = RecordOf<typeof reviews>;

export type NewReview = Pick<ForgeReview, "issueId" | "state" | "isOfficial"> &
  Partial<Pick<ForgeReview, "reviewerId" | "teamId" | "body" | "commitId" | "isStale">>;

/** The members of a review that can change. */
export type ReviewChanges = Partial<
  Pick<
    ForgeReview,
    | "state"
    | "body"
    | "commitId"
    | "isOfficial"
    | "isStale"
    | "isDismissed"
    | "commentId"
    | "submittedAt"
  >
>;

export function insertReview(tx: Transaction, review: NewReview): Promise<ForgeReview> {
  return reviews.insert(tx, review);
}

/** Adds a review of another server with its times. It does not count for the rules of a branch. */
export function insertImportedReview(
  tx: Transaction,
  review: Omit<ForgeReview, "id" | "teamId" | "isOfficial" | "commentId">,
): Promise<ForgeReview> {
  return reviews.insert(tx, { ...review, isOfficial: false });
}

/** Adds a request; undefined when the person or team is asked already. */
export function insertReviewRequest(
  tx: Transaction,
  request: Pick<NewReview, "issueId" | "reviewerId" | "teamId" | "isOfficial">,
): Promise<ForgeReview | undefined> {
  return reviews.upsert(tx, { ...request, state: "requested" }, "ON CONFLICT DO NOTHING");
}

/** Finds a review of a pull request by id. */
export function findReview(
  db: Queries,
  issueId: IssueId,
  reviewId: ReviewId,
): Promise<ForgeReview | undefined> {
  return reviews.find(db, { id: reviewId, issueId });
}

export function findReviewById(db: Queries, reviewId: ReviewId): Promise<ForgeReview | undefined> {
  return reviews.find(db, { id: reviewId });
}

/** Returns the review that a person has not submitted yet. */
export function findPendingReview(
  db: Queries,
  issueId: IssueId,
  reviewerId: UserId,
): Promise<ForgeReview | undefined> {
  return reviews.find(db, { issueId, reviewerId, state: "pending" });
}

/** Returns a page of the reviews and requests that a viewer sees, oldest first. `all` shows pending ones of others. */
export function listReviews(
  db: Queries,
  issueId: IssueId,
  viewer: UserId | "all" | undefined,
  window: Window,
): Promise<Page<ForgeReview>> {
  const where = sql`issue_id = ${issueId} AND ${isVisibleTo(viewer)}`;
  return reviews.page(db, where, { ...window, order: "id" });
}

/** Selects the reviews that a viewer sees: others than a pending review's author do not see it. */
export const isVisibleTo = (viewer: UserId | "all" | undefined): Condition =>
  viewer === "all" ? sql`1 = 1` : sql`(state <> 'pending' OR reviewer_id = ${viewer ?? -1})`;

/** Returns the open requests of a pull request, oldest first. */
export function listReviewRequests(db: Queries, issueId: IssueId): Promise<ForgeReview[]> {
  return reviews.list(db, { issueId, state: "requested" }, { order: "id" });
}

/** Returns the requests of pull requests, as `listReviewRequests`. */
export async function listReviewRequestsOf(
  db: Queries,
  issueIds: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, readonly ForgeReview[]>> {
  const found = await inChunksOfIds(issueIds, (issueId) =>
    reviews.list(db, { issueId, state: "requested" }, { order: "id" }),
  );
  return Map.groupBy(found, ({ issueId }) => issueId);
}

/** Returns how many reviews of pull requests were submitted. */
export async function countSubmittedReviews(
  db: Queries,
  issueIds: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, number>> {
  const rows = await inChunksOfIds(issueIds, (ids) => {
    const submitted = ["approved", "changes_requested", "comment"];
    const { sql: condition, values } = sql`issue_id IN (${ids}) AND state IN (${submitted})`;
    return db.all<{ issue_id: IssueId; total: number }>(
      `SELECT issue_id, COUNT(*) AS total FROM forge_reviews WHERE ${condition} GROUP BY issue_id`,
      ...values,
    );
  });
  return new Map(rows.map((row) => [row.issue_id, row.total]));
}

/** Returns the approvals and requests for changes of a pull request, of one person if given, oldest first. */
export function listVerdicts(
  db: Queries,
  issueId: IssueId,
  reviewerId?: UserId,
): Promise<ForgeReview[]> {
  return reviews.list(
    db,
    {
      issueId,
      state: ["approved", "changes_requested"],
      ...(reviewerId === undefined ? {} : { reviewerId }),
    },
    { order: "id" },
  );
}

/** Returns whether a person has reviewed a pull request, or begun to. */
export function hasReviewed(db: Queries, issueId: IssueId, reviewerId: UserId): Promise<boolean> {
  return reviews.exists(
    db,
    sql`issue_id = ${issueId} AND reviewer_id = ${reviewerId} AND state <> 'requested'`,
  );
}

/** Writes the given members and the time, that of the transaction if none is given. Returns undefined when the review does not exist. */
export function updateReview(
  tx: Transaction,
  reviewId: ReviewId,
  changes: ReviewChanges,
  updatedAt: number = tx.now,
): Promise<ForgeReview | undefined> {
  return reviews.change(tx, { id: reviewId }, { ...changes, updatedAt });
}

/** Deletes a review or a request, with its entry in the timeline and its comments on lines. */
export async function deleteReview(
  tx: Transaction,
  { id: reviewId, issueId, commentId }: ForgeReview,
): Promise<void> {
  await tx.run(
    `DELETE FROM forge_issue_comments
     WHERE id IN (SELECT comment_id FROM forge_review_lines WHERE review_id = ?)`,
    reviewId,
  );
  await reviews.delete(tx, { id: reviewId });
  if (commentId === undefined) return;
  const { changes } = await tx.run("DELETE FROM forge_issue_comments WHERE id = ?", commentId);
  await issues.update(tx, { id: issueId }, { commentCount: sql`comment_count - ${changes}` });
}
