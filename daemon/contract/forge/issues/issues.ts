import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import {
  integer,
  optionalFlag,
  optionalIds,
  optionalInteger,
  optionalText,
  optionalTime,
  optionalWords,
  pathInteger,
  queryText,
  queryWord,
  requiredText,
  trimmedQueryText,
  wireId,
  wireTime,
} from "../common.ts";
import { labelShape } from "./labels.ts";
import { milestoneShape } from "./milestones.ts";
import { attachmentShape } from "./attachments.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { userShape } from "../accounts/users.ts";

/** Characters of a title, as in the reference. */
const TITLE_MAX = 255;
/** Maximum length of a text in characters; it fits into the largest JSON body but has an error of its own. */
const TEXT_MAX = 262_144;
/** People and labels of one issue. */
const LIST_MAX = 50;

/** An issue. Users whose account was deleted are null. */
export const issueShape = z.object({
  id: wireId,
  url: z.string(),
  html_url: z.string(),
  number: wireId,
  user: userShape.nullable(),
  original_author: z.string(),
  original_author_id: wireId,
  title: z.string(),
  body: z.string(),
  ref: z.string(),
  assets: z.array(attachmentShape),
  labels: z.array(labelShape),
  milestone: milestoneShape.nullable(),
  projects: z.array(z.never()),
  assignee: userShape.nullable(),
  assignees: z.array(userShape).nullable(),
  state: z.enum(["open", "closed"]),
  is_locked: z.boolean(),
  comments: z.int(),
  content_version: z.int(),
  created_at: wireTime,
  updated_at: wireTime,
  closed_at: wireTime.nullable(),
  due_date: wireTime.nullable(),
  time_estimate: z.int(),
  /** Null for an issue. */
  pull_request: z
    .object({
      merged: z.boolean(),
      merged_at: wireTime.nullable(),
      draft: z.boolean(),
      html_url: z.string(),
    })
    .nullable(),
  repository: z.object({
    id: wireId,
    name: z.string(),
    owner: z.string(),
    full_name: z.string(),
  }),
  pin_order: z.int(),
});
export type WireIssue = z.output<typeof issueShape>;

/** A comment on an issue. */
export const commentShape = z.object({
  id: wireId,
  html_url: z.string(),
  pull_request_url: z.string(),
  issue_url: z.string(),
  user: userShape.nullable(),
  original_author: z.string(),
  original_author_id: wireId,
  body: z.string(),
  assets: z.array(attachmentShape),
  created_at: wireTime,
  updated_at: wireTime,
});
export type WireComment = z.output<typeof commentShape>;

/** A subscription to a repository or an issue. */
const watchShape = z.object({
  subscribed: z.boolean(),
  ignored: z.boolean(),
  reason: z.null(),
  created_at: wireTime,
  url: z.string(),
  repository_url: z.string(),
});
export type WireWatch = z.output<typeof watchShape>;

/** The order of a list; newest first when absent. */
export const issueOrder = queryWord([
  "oldest",
  "recentupdate",
  "leastupdate",
  "recentclose",
  "mostcomment",
  "leastcomment",
]);

const issueParams = repositoryParams.extend({ index: pathInteger });
const commentParams = repositoryParams.extend({ id: pathInteger });
export const commentBody = z.object({ body: requiredText({ max: TEXT_MAX }) });
const members = {
  body: optionalText({ max: TEXT_MAX }),
  ref: optionalText({ max: TITLE_MAX }),
  assignee: optionalText(),
  assignees: optionalWords.refine((names) => (names?.length ?? 0) <= LIST_MAX, {
    error: "MaxSize",
  }),
  due_date: optionalTime,
  milestone: integer.brand<"MilestoneId">().nullish(),
};

export const issueEndpoints = {
  ...resource(
    {
      name: "forge.issues",
      path: "/api/v1/repos/:owner/:repo/issues",
      params: repositoryParams,
      id: { index: pathInteger },
      shape: issueShape,
      gate: openTo("issue"),
    },
    ({ list, create, get, operation }) => ({
      listIssues: list("Issues of a repository, newest first", {
        filters: {
          state: queryWord(["open", "closed", "all"]),
          labels: queryText,
          q: trimmedQueryText,
          type: queryWord(["issues", "pulls"]),
          since: trimmedQueryText,
          before: trimmedQueryText,
          created_by: queryText,
          milestones: queryText,
          assigned_by: queryText,
          mentioned_by: queryText,
          sort: issueOrder,
        },
        on: repository("issues_or_pulls", "read"),
        refuses: [422],
      }),
      createIssue: create(
        "Open an issue",
        z.object({
          title: requiredText({ max: TITLE_MAX }),
          ...members,
          closed: optionalFlag,
          labels: optionalIds(LIST_MAX),
        }),
        { on: repository("issues", "read") },
      ),
      getIssue: get("An issue by its number", { on: repository("issues_or_pulls", "read") }),
      editIssue: operation({
        as: "edit",
        method: "PATCH",
        item: true,
        summary: "Change an issue, close or reopen it, assign people",
        body: z.object({
          title: optionalText({ max: TITLE_MAX }),
          ...members,
          state: optionalText({ rules: [["In", (word) => word === "open" || word === "closed"]] }),
          unset_due_date: optionalFlag,
          content_version: optionalInteger,
        }),
        replies: { 201: issueShape },
        on: repository("issues_or_pulls", "write", { checkedBy: "service" }),
        refuses: [409, 412],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.comments",
      path: "/api/v1/repos/:owner/:repo/issues",
      gate: openTo("issue"),
      on: repository("issues_or_pulls", "read"),
    },
    ({ operation }) => ({
      listIssueComments: operation({
        as: "list",
        method: "GET",
        at: ":index/comments",
        summary: "Comments on an issue, oldest first; as many as fit into one response",
        params: issueParams,
        query: z.object({ since: trimmedQueryText, before: trimmedQueryText }),
        paging: "total",
        replies: { 200: z.array(commentShape) },
        refuses: [422],
      }),
      createIssueComment: operation({
        as: "create",
        method: "POST",
        at: ":index/comments",
        summary: "Comment on an issue",
        params: issueParams,
        body: commentBody,
        replies: { 201: commentShape },
      }),
      getIssueComment: operation({
        as: "get",
        method: "GET",
        at: "comments/:id",
        summary:
          "A comment, as notification threads name it; 204 for another entry of a timeline, such as an event or a comment on a line",
        params: commentParams,
        replies: { 200: commentShape, 204: empty },
        apiOnly:
          "threads refer to it by address; croft issue view --comments shows all of an issue",
      }),
      editIssueComment: operation({
        as: "edit",
        method: "PATCH",
        at: "comments/:id",
        summary: "Change the text of a comment",
        params: commentParams,
        body: commentBody,
        replies: { 200: commentShape },
        on: repository("issues_or_pulls", "write", { checkedBy: "service" }),
        refuses: [412],
        apiOnly:
          "a mistake in a comment is mended by another one; tools that mirror issues need it",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.subscriptions",
      path: "/api/v1/repos/:owner/:repo/issues/:index/subscriptions",
      params: issueParams,
      id: { user: z.string() },
      shape: userShape,
      gate: openTo("issue"),
      on: repository("issues_or_pulls", "read"),
      acceptsArchived: true,
    },
    ({ list, operation }) => ({
      listIssueSubscriptions: list("The users who subscribed to an issue", {
        apiOnly: "who else listens is nothing that a person at a terminal acts on",
      }),
      checkIssueSubscription: operation({
        method: "GET",
        at: "check",
        summary: "Whether you are subscribed to an issue",
        replies: { 200: watchShape },
        gate: forgeUser("issue"),
        apiOnly: "croft notification watch OWNER/NAME#NUMBER prints the subscription",
      }),
      subscribeToIssue: operation({
        as: "add",
        method: "PUT",
        item: true,
        summary: "Subscribe a user to an issue: 201 when that changes anything, else 200",
        replies: { 200: empty, 201: empty },
      }),
      unsubscribeFromIssue: operation({
        as: "remove",
        method: "DELETE",
        item: true,
        summary: "Unsubscribe a user from an issue: 201 when that changes anything, else 200",
        replies: { 200: empty, 201: empty },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.watch",
      path: "/api/v1/repos/:owner/:repo/subscription",
      params: repositoryParams,
      shape: watchShape,
      gate: forgeUser("repository"),
      on: repository("any", "read"),
      acceptsArchived: true,
    },
    ({ get, remove, operation }) => ({
      getWatch: get("Whether you watch a repository; 404 when you do not", {
        apiOnly: "croft notification watch OWNER/NAME prints the subscription",
      }),
      watchRepository: operation({
        as: "add",
        method: "PUT",
        summary: "Watch a repository: get notifications of its pushes and issues",
        replies: { 200: watchShape },
      }),
      unwatchRepository: remove("Stop watching a repository", { as: "remove" }),
    }),
  ),
};
