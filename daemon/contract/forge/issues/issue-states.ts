import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, empty, forgeUser } from "../../endpoint.ts";
import {
  optionalText,
  optionalTime,
  pathInteger,
  queryFlag,
  queryInteger,
  queryText,
  queryWord,
  trimmedQueryText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { teamShape } from "../accounts/orgs.ts";
import { userShape } from "../accounts/users.ts";
import { commentBody, commentShape, issueOrder, issueShape } from "./issues.ts";
import { labelShape } from "./labels.ts";
import { milestoneShape } from "./milestones.ts";
import { trackedTimeShape } from "./tracked-times.ts";

const issueParams = repositoryParams.extend({ index: pathInteger });
const commentParams = repositoryParams.extend({ id: pathInteger });
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
  /** The issue or the comment that names this one, and what its merge does to it. */
  ref_issue: issueShape.nullable(),
  ref_comment: commentShape.nullable(),
  ref_action: z.enum(["none", "closes", "reopens"]),
  ref_commit_sha: z.string(),
  review_id: wireId,
  label: labelShape.nullable(),
  assignee: userShape.nullable(),
  assignee_team: teamShape.nullable(),
  removed_assignee: z.boolean(),
  resolve_doer: z.null(),
  dependent_issue: issueShape.nullable(),
});
export type WireTimelineEntry = z.output<typeof timelineShape>;

/** The former address of a comment, which names its issue, too; the number is ignored. */
const formerCommentParams = commentParams.extend({ index: pathInteger });

export const issueStateEndpoints = {
  ...resource(
    {
      name: "forge.issues",
      path: "/api/v1/repos/issues/search",
      shape: issueShape,
      gate: anyoneWithin("issue"),
    },
    ({ list }) => ({
      searchIssues: list("Issues of all repositories that you may read, newest first", {
        as: "search",
        filters: {
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
          sort: issueOrder,
        },
        refuses: [400, 404, 422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues",
      path: "/api/v1/repos/:owner/:repo/issues/:index",
      params: issueParams,
      gate: forgeUser("issue"),
      on: repository("issues_or_pulls", "admin"),
    },
    ({ remove }) => ({
      deleteIssue: remove("Delete an issue with its comments"),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.deadline",
      path: "/api/v1/repos/:owner/:repo/issues/:index/deadline",
      params: issueParams,
      shape: z.object({ due_date: wireTime.nullable() }),
      gate: forgeUser("issue"),
      on: repository("issues_or_pulls", "write"),
    },
    ({ create }) => ({
      setIssueDeadline: create(
        "Set the due date of an issue, or remove it with null",
        z.object({ due_date: optionalTime }),
        { as: "set", apiOnly: "croft issue edit --due sets the due date" },
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.issues",
      path: "/api/v1/repos/:owner/:repo/issues/:index/lock",
      params: issueParams,
      gate: forgeUser("issue"),
      on: repository("issues_or_pulls", "admin"),
    },
    ({ remove, operation }) => ({
      lockIssue: operation({
        as: "lock",
        method: "PUT",
        summary: "Lock an issue: only users with write access may comment",
        body: z.object({ lock_reason: optionalText({ max: 255 }) }),
        replies: { 204: empty },
      }),
      unlockIssue: remove("Unlock an issue", { as: "unlock" }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.pins",
      path: "/api/v1/repos/:owner/:repo/issues/pinned",
      params: repositoryParams,
      gate: anyoneWithin("issue"),
      on: repository("issues", "read"),
    },
    ({ operation }) => ({
      listPinnedIssues: operation({
        as: "list",
        method: "GET",
        summary: "The pinned issues of a repository, in their order",
        replies: { 200: z.array(issueShape) },
        apiOnly: "a repository has at most three; croft issue view shows whether one is pinned",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.pins",
      path: "/api/v1/repos/:owner/:repo/new_pin_allowed",
      params: repositoryParams,
      shape: z.object({ issues: z.boolean(), pull_requests: z.boolean() }),
      gate: anyoneWithin("issue"),
      on: repository("issues_or_pulls", "read"),
    },
    ({ get }) => ({
      getPinAllowance: get("Whether another issue may be pinned", {
        as: "allowed",
        apiOnly: "croft issue pin reports when no further issue may be pinned",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues",
      path: "/api/v1/repos/:owner/:repo/issues/:index/pin",
      params: issueParams,
      gate: forgeUser("issue"),
      on: repository("issues_or_pulls", "admin"),
    },
    ({ remove, operation }) => ({
      pinIssue: operation({
        as: "pin",
        method: "POST",
        summary: "Pin an issue, after those that are pinned already",
        replies: { 204: empty },
        refuses: [400],
      }),
      unpinIssue: remove("Unpin an issue", { as: "unpin" }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.pin",
      path: "/api/v1/repos/:owner/:repo/issues/:index/pin/:position",
      params: issueParams.extend({ position: pathInteger }),
      gate: forgeUser("issue"),
      on: repository("issues_or_pulls", "admin"),
    },
    ({ operation }) => ({
      movePinnedIssue: operation({
        as: "move",
        method: "PATCH",
        summary: "Move a pinned issue to a position, counted from 1",
        replies: { 204: empty },
        apiOnly: "croft issue unpin and pin move an issue to the end",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.timeline",
      path: "/api/v1/repos/:owner/:repo/issues/:index/timeline",
      params: issueParams,
      shape: timelineShape,
      gate: anyoneWithin("issue"),
      on: repository("issues_or_pulls", "read"),
    },
    ({ list }) => ({
      listIssueTimeline: list("Comments and events of an issue, oldest first", {
        filters: { ...times },
        refuses: [422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.comments",
      path: "/api/v1/repos/:owner/:repo/issues/comments",
      params: repositoryParams,
      shape: commentShape,
      gate: anyoneWithin("issue"),
      on: repository("issues_or_pulls", "read"),
    },
    ({ list }) => ({
      listRepositoryComments: list("Comments on all issues of a repository, oldest first", {
        filters: { ...times },
        refuses: [422],
        apiOnly:
          "croft issue view --comments shows the comments of an issue; tools that mirror need this",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.comments",
      path: "/api/v1/repos/:owner/:repo/issues",
      gate: forgeUser("issue"),
      on: repository("issues_or_pulls", "write", { checkedBy: "service" }),
    },
    ({ operation }) => ({
      deleteIssueComment: operation({
        as: "delete",
        method: "DELETE",
        at: "comments/:id",
        summary: "Delete a comment",
        params: commentParams,
        replies: { 204: empty },
        apiOnly:
          "a mistake in a comment is mended by another one; tools that mirror issues need it",
      }),
      editCommentOfIssue: operation({
        as: "edit_of_issue",
        method: "PATCH",
        at: ":index/comments/:id",
        summary: "Change the text of a comment, by its former address",
        params: formerCommentParams,
        body: commentBody,
        replies: { 200: commentShape },
        apiOnly: "older clients use this address",
      }),
      deleteCommentOfIssue: operation({
        as: "delete_of_issue",
        method: "DELETE",
        at: ":index/comments/:id",
        summary: "Delete a comment, by its former address",
        params: formerCommentParams,
        replies: { 204: empty },
        apiOnly: "older clients use this address",
      }),
    }),
  ),
};
