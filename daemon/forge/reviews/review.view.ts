import type { BodyOf, QueryOf } from "../../contract/endpoint.ts";
import type {
  reviewEndpoints,
  WireReview,
  WireReviewLine,
} from "../../contract/forge/pulls/reviews.ts";
import { toReviewId } from "../../../storage/tables/forge/ids.ts";
import type { PullLinesFilter } from "../../../storage/tables/forge/pulls/review-lines.ts";
import type { ReviewState } from "../../../storage/tables/forge/pulls/reviews.ts";
import { toInteger } from "../../contract/forge/common.ts";
import { toTeamView } from "../accounts/organization.view.ts";
import { toEmbeddedUserView, toGhostView } from "../accounts/user.view.ts";
import { toIssueUrl } from "../issues/issue.view.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import { findSuggestion } from "./suggestions.ts";
import type { ReviewLineDetails } from "./review-lines.service.ts";
import type { Reviewers } from "./review-requests.service.ts";
import type { NewReviewRequest, ReviewDetails, Verdict } from "./reviews.service.ts";

const words: Readonly<Record<ReviewState, WireReview["state"]>> = {
  pending: "PENDING",
  approved: "APPROVED",
  changes_requested: "REQUEST_CHANGES",
  comment: "COMMENT",
  requested: "REQUEST_REVIEW",
};

export function toReviewView(details: ReviewDetails, urls: ForgeUrls): WireReview {
  const { owned, issue, review, reviewer, team, lineCount } = details;
  const url = toIssueUrl(owned, issue, urls);
  const user =
    reviewer === undefined ? toGhostView(urls) : toEmbeddedUserView(reviewer, false, urls);
  return {
    id: review.id,
    user: review.teamId === undefined ? user : null,
    team: team === undefined ? null : toTeamView(team, owned.owner, urls),
    state: words[review.state],
    body: review.body,
    commit_id: review.commitId,
    stale: review.isStale,
    official: review.isOfficial,
    dismissed: review.isDismissed,
    original_author: review.originalAuthor,
    comments_count: lineCount,
    submitted_at: toWireTime(review.submittedAt),
    updated_at: toWireTime(review.updatedAt),
    html_url: `${url}#issuecomment-${review.commentId ?? 0}`,
    pull_request_url: url,
  };
}

export function toReviewLineView(
  { owned, issue, line, author, resolver }: ReviewLineDetails,
  urls: ForgeUrls,
): WireReviewLine {
  const url = toIssueUrl(owned, issue, urls);
  return {
    id: line.commentId,
    body: line.body,
    user: author === undefined ? toGhostView(urls) : toEmbeddedUserView(author, false, urls),
    original_author: line.originalAuthor,
    resolver: resolver === undefined ? null : toEmbeddedUserView(resolver, false, urls),
    pull_request_review_id: line.reviewId,
    created_at: toWireTime(line.createdAt),
    updated_at: toWireTime(line.updatedAt),
    path: line.path,
    commit_id: line.commitId,
    original_commit_id: line.commitId,
    diff_hunk: line.hunk,
    position: line.side === "new" ? line.line : 0,
    original_position: line.side === "old" ? line.line : 0,
    line: line.isOutdated ? 0 : (line.currentLine ?? line.line),
    outdated: line.isOutdated,
    suggestion: findSuggestion(line.body)?.slice() ?? null,
    html_url: `${url}#issuecomment-${line.commentId}`,
    pull_request_url: url,
  };
}

export function toNewReview(body: BodyOf<typeof reviewEndpoints.createReview>): NewReviewRequest {
  return {
    ...toVerdict(body),
    commitId: body.commit_id ?? "",
    lines: (body.comments ?? []).map((line) => ({
      path: line.path,
      body: line.body,
      newPosition: line.new_position ?? 0,
      oldPosition: line.old_position ?? 0,
    })),
  };
}

export const toFilter = ({
  outdated,
  reviews,
}: QueryOf<typeof reviewEndpoints.listPullReviewLines>): Pick<
  PullLinesFilter,
  "isOutdated" | "reviewIds"
> => ({
  isOutdated: outdated,
  // A word is the id of nothing.
  reviewIds:
    reviews === "" ? undefined : reviews.split(",").map((id) => toReviewId(toInteger(id) ?? 0)),
});

export const toVerdict = (body: BodyOf<typeof reviewEndpoints.submitReview>): Verdict => ({
  event: (body.event ?? "").toUpperCase(),
  body: body.body ?? "",
});

export const toReviewers = (body: BodyOf<typeof reviewEndpoints.requestReviews>): Reviewers => ({
  people: body.reviewers ?? [],
  teams: body.team_reviewers ?? [],
});
