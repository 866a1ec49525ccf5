import { z } from "zod";
import { empty } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { writeLimit } from "../code/shapes.ts";
import { teamShape } from "../accounts/orgs.ts";
import { userShape } from "../accounts/users.ts";
import {
  optionalFlag,
  optionalInteger,
  optionalQueryFlag,
  optionalText,
  optionalWords,
  pathInteger,
  requiredText,
  trimmedQueryText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { openTo, resource } from "../resource.ts";

/** Maximum length of a text in characters. */
const TEXT_MAX = 262_144;
/** Comments on lines of one request, and people whom one request asks. */
const LIST_MAX = 100;
const PATH_MAX = 4_096;

const reviewShape = z.object({
  id: wireId,
  user: userShape.nullable(),
  team: teamShape.nullable(),
  state: z.enum(["APPROVED", "PENDING", "COMMENT", "REQUEST_CHANGES", "REQUEST_REVIEW"]),
  body: z.string(),
  commit_id: z.string(),
  stale: z.boolean(),
  official: z.boolean(),
  dismissed: z.boolean(),
  /** Of an imported review: the reviewer at the source. */
  original_author: z.string(),
  comments_count: z.int(),
  submitted_at: wireTime,
  updated_at: wireTime,
  html_url: z.string(),
  pull_request_url: z.string(),
});
export type WireReview = z.output<typeof reviewShape>;

/**
 * A comment on a line: `position` counts lines of the new file, `original_position` those of the old one; the other is 0.
 * Both are about `commit_id`. `line` is where later pushes have moved it, 0 once they changed it: then it is `outdated`.
 */
const lineShape = z.object({
  id: wireId,
  body: z.string(),
  user: userShape.nullable(),
  /** As of a review. */
  original_author: z.string(),
  resolver: userShape.nullable(),
  pull_request_review_id: wireId,
  created_at: wireTime,
  updated_at: wireTime,
  path: z.string(),
  commit_id: z.string(),
  original_commit_id: z.string(),
  diff_hunk: z.string(),
  position: z.int(),
  original_position: z.int(),
  line: z.int(),
  outdated: z.boolean(),
  /** The lines of a block of code whose language is `suggestion`, which may replace the line. */
  suggestion: z.array(z.string()).nullable(),
  html_url: z.string(),
  pull_request_url: z.string(),
});
export type WireReviewLine = z.output<typeof lineShape>;

/** Ids with commas between them; empty for all reviews. */
const reviewIds = trimmedQueryText.refine((ids) => ids.split(",").length <= LIST_MAX, {
  error: "MaxSize",
});

const reviewBody = { event: optionalText(), body: optionalText({ max: TEXT_MAX }) };
const newLine = z.object({
  path: requiredText({ max: PATH_MAX }),
  body: requiredText({ max: TEXT_MAX }),
  new_position: optionalInteger,
  old_position: optionalInteger,
});
const names = z.object({
  reviewers: optionalWords.refine((list) => (list?.length ?? 0) <= LIST_MAX, { error: "MaxSize" }),
  team_reviewers: optionalWords.refine((list) => (list?.length ?? 0) <= LIST_MAX, {
    error: "MaxSize",
  }),
});

const pullParams = repositoryParams.extend({ index: pathInteger });
const gate = openTo("repository");
/** Who may change what depends on the review, so the service decides. */
const on = {
  read: repository("pulls", "read"),
  change: repository("pulls", "read", { checkedBy: "service" }),
} as const;

export const reviewEndpoints = {
  ...resource(
    {
      name: "forge.pulls.reviews",
      path: "/api/v1/repos/:owner/:repo/pulls/:index/reviews",
      params: pullParams,
      id: { id: pathInteger },
      shape: reviewShape,
      gate,
      on,
    },
    ({ list, get, remove, operation }) => ({
      listReviews: list("Reviews of a pull request and requests for them, oldest first"),
      createReview: operation({
        as: "create",
        method: "POST",
        summary:
          "Review a pull request, with comments on lines; a pending review is submitted later",
        body: z.object({
          ...reviewBody,
          commit_id: optionalText(),
          comments: z.array(newLine).max(LIST_MAX).nullish(),
        }),
        replies: { 200: reviewShape },
        limit: writeLimit,
        refuses: [503],
      }),
      getReview: get("A review of a pull request", { apiOnly: "croft pr view shows it" }),
      submitReview: operation({
        as: "submit",
        method: "POST",
        item: true,
        summary: "Submit a pending review",
        body: z.object(reviewBody),
        replies: { 200: reviewShape },
        apiOnly: "croft pr review submits at once",
      }),
      deleteReview: remove("Delete a review with its comments on lines", {
        apiOnly: "a submitted review is a record; scripts delete it",
      }),
      listReviewLines: operation({
        as: "comments",
        method: "GET",
        item: true,
        at: "comments",
        summary: "The comments on lines of a review, oldest first",
        replies: { 200: z.array(lineShape) },
        apiOnly: "croft pr view --comments shows those of all reviews",
      }),
      listPullReviewLines: operation({
        as: "lines",
        method: "GET",
        at: "comments",
        summary:
          "The comments on lines of all reviews, or of those with the ids in `reviews`, oldest first; as many as fit into one response",
        query: z.object({ outdated: optionalQueryFlag, reviews: reviewIds }),
        paging: "total",
        replies: { 200: z.array(lineShape) },
      }),
      dismissReview: operation({
        as: "dismiss",
        method: "POST",
        item: true,
        at: "dismissals",
        summary: "Dismiss an approval or a request for changes, which then no longer counts",
        body: z.object({ message: optionalText({ max: TEXT_MAX }), priors: optionalFlag }),
        replies: { 200: reviewShape },
        apiOnly: "administrators of a repository need it rarely",
      }),
      undismissReview: operation({
        as: "undismiss",
        method: "POST",
        item: true,
        at: "undismissals",
        summary: "Let a dismissed review count again",
        replies: { 200: reviewShape },
        apiOnly: "administrators of a repository need it rarely",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.pulls.requested_reviewers",
      path: "/api/v1/repos/:owner/:repo/pulls/:index/requested_reviewers",
      params: pullParams,
      shape: reviewShape,
      gate,
      on,
    },
    ({ operation }) => ({
      requestReviews: operation({
        as: "add",
        method: "POST",
        summary: "Ask people and teams for a review; those who are asked already are left out",
        body: names,
        replies: { 201: z.array(reviewShape) },
      }),
      cancelReviewRequests: operation({
        as: "remove",
        method: "DELETE",
        summary: "Take back requests for a review",
        body: names,
        replies: { 204: empty },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.pulls.suggestions",
      path: "/api/v1/repos/:owner/:repo/pulls/:index/suggestions",
      params: pullParams,
      gate,
      on,
    },
    ({ operation }) => ({
      applySuggestions: operation({
        as: "apply",
        method: "POST",
        summary: "Apply the suggestions of comments on lines in one commit on the head",
        body: z.object({
          comments: z.array(wireId).min(1).max(LIST_MAX),
          message: optionalText({ max: TEXT_MAX }),
        }),
        replies: { 201: z.object({ sha: z.string() }) },
        limit: writeLimit,
        refuses: [409, 503],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.pulls.review_lines",
      path: "/api/v1/repos/:owner/:repo/pulls",
      params: repositoryParams.extend({ id: pathInteger }),
      gate,
      on,
    },
    ({ operation }) => ({
      replyToReviewLine: operation({
        as: "reply",
        method: "POST",
        at: ":index/comments/:id/replies",
        params: pullParams.extend({ id: pathInteger }),
        summary: "Answer a comment on a line",
        body: z.object({ body: requiredText({ max: TEXT_MAX }) }),
        replies: { 201: lineShape },
        refuses: [400],
        apiOnly: "a conversation about lines needs the diff beside it",
      }),
      resolveReviewLine: operation({
        as: "resolve",
        method: "POST",
        at: "comments/:id/resolve",
        summary: "Mark the conversation about a line as resolved",
        replies: { 204: empty },
        refuses: [400],
        apiOnly: "a conversation about lines needs the diff beside it",
      }),
      unresolveReviewLine: operation({
        as: "unresolve",
        method: "POST",
        at: "comments/:id/unresolve",
        summary: "Open the conversation about a line again",
        replies: { 204: empty },
        refuses: [400],
        apiOnly: "a conversation about lines needs the diff beside it",
      }),
    }),
  ),
};
