import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalText,
  optionalTime,
  paging,
  pathInteger,
  queryFlag,
  queryInteger,
  queryText,
  queryWord,
  signedInReplies,
  trimmedQueryText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { userShape } from "../accounts/users.ts";
import { commentBody, commentShape, issueShape } from "./issues.ts";
import { labelShape } from "./labels.ts";
import { milestoneShape } from "./milestones.ts";
import { trackedTimeShape } from "./tracked-times.ts";

const issueParams = repositoryParams.extend({ index: pathInteger });
const commentParams = repositoryParams.extend({ id: pathInteger });
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError } as const;
const times = { since: trimmedQueryText, before: trimmedQueryText };

/** An entry of a timeline: a comment, or an event that `type` names. Members of other types are empty. */
const timelineShape = z.object({
  id: wireId,
  type: z.string(),
  html_url: z.string(),
  pull_request_url: z.string(),
  issue_url: z.string(),
  user: userShape.nullable(),
  body: z.string(),
  created_at: wireTime,
  updated_at: wireTime,
  old_project_id: wireId,
  project_id: wireId,
  old_milestone: milestoneShape.nullable(),
  milestone: milestoneShape.nullable(),
  tracked_time: trackedTimeShape.nullable(),
  old_title: z.string(),
  new_title: z.string(),
  old_ref: z.string(),
  new_ref: z.string(),
  ref_issue: z.null(),
  ref_comment: z.null(),
  ref_action: z.string(),
  ref_commit_sha: z.string(),
  review_id: wireId,
  label: labelShape.nullable(),
  assignee: userShape.nullable(),
  assignee_team: z.null(),
  removed_assignee: z.boolean(),
  resolve_doer: z.null(),
  dependent_issue: issueShape.nullable(),
});
export type WireTimelineEntry = z.output<typeof timelineShape>;

export const searchIssues = endpoint({
  name: "forge.issues.search",
  method: "GET",
  path: "/api/v1/repos/issues/search",
  summary: "Issues of all repositories that you may read, newest first",
  gate: anyoneWithin("issue"),
  query: z.object({
    state: queryWord(["open", "closed", "all"]),
    labels: queryText,
    milestones: queryText,
    q: trimmedQueryText,
    priority_repo_id: queryInteger,
    type: queryWord(["issues", "pulls"]),
    ...times,
    assigned: queryFlag,
    created: queryFlag,
    mentioned: queryFlag,
    review_requested: queryFlag,
    reviewed: queryFlag,
    owner: queryText,
    team: queryText,
    ...paging,
  }),
  paging: "link_and_total",
  replies: { 200: z.array(issueShape), ...changed, 400: apiError },
});

export const deleteIssue = endpoint({
  name: "forge.issues.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index",
  summary: "Delete an issue with its comments",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 204: empty, ...lookupReplies },
});

export const setIssueDeadline = endpoint({
  name: "forge.issues.deadline.set",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/deadline",
  summary: "Set the due date of an issue, or remove it with null",
  gate: forgeUser("issue"),
  params: issueParams,
  body: z.object({ due_date: optionalTime }),
  replies: { 201: z.object({ due_date: wireTime.nullable() }), ...changed },
  apiOnly: "croft issue edit --due sets the due date",
});

export const lockIssue = endpoint({
  name: "forge.issues.lock",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/issues/:index/lock",
  summary: "Lock an issue: only users with write access may comment",
  gate: forgeUser("issue"),
  params: issueParams,
  body: z.object({ lock_reason: optionalText({ max: 255 }) }),
  replies: { 204: empty, ...changed },
});

export const unlockIssue = endpoint({
  name: "forge.issues.unlock",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/lock",
  summary: "Unlock an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 204: empty, ...lookupReplies },
});

export const listPinnedIssues = endpoint({
  name: "forge.issues.pins.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/pinned",
  summary: "The pinned issues of a repository, in their order",
  gate: anyoneWithin("issue"),
  params: repositoryParams,
  replies: { 200: z.array(issueShape), ...lookupReplies },
  apiOnly: "a repository has at most three; croft issue view shows whether one is pinned",
});

export const getPinAllowance = endpoint({
  name: "forge.issues.pins.allowed",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/new_pin_allowed",
  summary: "Whether another issue may be pinned",
  gate: anyoneWithin("issue"),
  params: repositoryParams,
  replies: { 200: z.object({ issues: z.boolean(), pull_requests: z.boolean() }), ...lookupReplies },
  apiOnly: "croft issue pin reports when no further issue may be pinned",
});

export const pinIssue = endpoint({
  name: "forge.issues.pin",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/pin",
  summary: "Pin an issue, after those that are pinned already",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 204: empty, ...lookupReplies, 400: apiError },
});

export const unpinIssue = endpoint({
  name: "forge.issues.unpin",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/pin",
  summary: "Unpin an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 204: empty, ...lookupReplies },
});

export const movePinnedIssue = endpoint({
  name: "forge.issues.pin.move",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/issues/:index/pin/:position",
  summary: "Move a pinned issue to a position, counted from 1",
  gate: forgeUser("issue"),
  params: issueParams.extend({ position: pathInteger }),
  replies: { 204: empty, ...lookupReplies },
  apiOnly: "croft issue unpin and pin move an issue to the end",
});

export const listIssueTimeline = endpoint({
  name: "forge.issues.timeline.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/timeline",
  summary: "Comments and events of an issue, oldest first",
  gate: anyoneWithin("issue"),
  params: issueParams,
  query: z.object({ ...times, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(timelineShape), ...changed },
});

export const listRepositoryComments = endpoint({
  name: "forge.repos.comments.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/comments",
  summary: "Comments on all issues of a repository, oldest first",
  gate: anyoneWithin("issue"),
  params: repositoryParams,
  query: z.object({ ...times, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(commentShape), ...changed },
  apiOnly:
    "croft issue view --comments shows the comments of an issue; tools that mirror need this",
});

export const deleteIssueComment = endpoint({
  name: "forge.issues.comments.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/comments/:id",
  summary: "Delete a comment",
  gate: forgeUser("issue"),
  params: commentParams,
  replies: { 204: empty, ...lookupReplies, 423: apiError },
  apiOnly: "a mistake in a comment is mended by another one; tools that mirror issues need it",
});

/** The former address of a comment, which names its issue, too; the number is ignored. */
const formerCommentParams = commentParams.extend({ index: pathInteger });

export const editCommentOfIssue = endpoint({
  name: "forge.issues.comments.edit_of_issue",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/issues/:index/comments/:id",
  summary: "Change the text of a comment, by its former address",
  gate: forgeUser("issue"),
  params: formerCommentParams,
  body: commentBody,
  replies: { 200: commentShape, ...changed, 423: apiError },
  apiOnly: "older clients use this address",
});

export const deleteCommentOfIssue = endpoint({
  name: "forge.issues.comments.delete_of_issue",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/comments/:id",
  summary: "Delete a comment, by its former address",
  gate: forgeUser("issue"),
  params: formerCommentParams,
  replies: { 204: empty, ...lookupReplies, 423: apiError },
  apiOnly: "older clients use this address",
});

export const issueStateEndpoints = {
  searchIssues,
  deleteIssue,
  setIssueDeadline,
  lockIssue,
  unlockIssue,
  listPinnedIssues,
  getPinAllowance,
  pinIssue,
  unpinIssue,
  movePinnedIssue,
  listIssueTimeline,
  listRepositoryComments,
  deleteIssueComment,
  editCommentOfIssue,
  deleteCommentOfIssue,
};
