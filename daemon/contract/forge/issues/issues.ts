import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  integer,
  optionalFlag,
  optionalIds,
  optionalInteger,
  optionalText,
  optionalTime,
  optionalWords,
  paging,
  pathInteger,
  queryText,
  queryWord,
  requiredText,
  signedInReplies,
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
  pull_request: z.null(),
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
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError } as const;
/** 423: the repository is archived. */
const added = { ...changed, 423: apiError } as const;

export const listIssues = endpoint({
  name: "forge.issues.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues",
  summary: "Issues of a repository, newest first",
  gate: anyoneWithin("issue"),
  params: repositoryParams,
  query: z.object({
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
    ...paging,
  }),
  paging: "link_and_total",
  replies: { 200: z.array(issueShape), ...lookupReplies, 422: apiError },
});

export const createIssue = endpoint({
  name: "forge.issues.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues",
  summary: "Open an issue",
  gate: forgeUser("issue"),
  params: repositoryParams,
  body: z.object({
    title: requiredText({ max: TITLE_MAX }),
    ...members,
    closed: optionalFlag,
    labels: optionalIds(LIST_MAX),
  }),
  replies: { 201: issueShape, ...added },
});

export const getIssue = endpoint({
  name: "forge.issues.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index",
  summary: "An issue by its number",
  gate: anyoneWithin("issue"),
  params: issueParams,
  replies: { 200: issueShape, ...lookupReplies },
});

export const editIssue = endpoint({
  name: "forge.issues.edit",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/issues/:index",
  summary: "Change an issue, close or reopen it, assign people",
  gate: forgeUser("issue"),
  params: issueParams,
  body: z.object({
    title: optionalText({ max: TITLE_MAX }),
    ...members,
    state: optionalText({ rules: [["In", (word) => word === "open" || word === "closed"]] }),
    unset_due_date: optionalFlag,
    content_version: optionalInteger,
  }),
  replies: { 201: issueShape, ...changed, 409: apiError, 412: apiError },
});

export const listIssueComments = endpoint({
  name: "forge.issues.comments.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/comments",
  summary: "Comments on an issue, oldest first; as many as fit into one response",
  gate: anyoneWithin("issue"),
  params: issueParams,
  query: z.object({ since: trimmedQueryText, before: trimmedQueryText }),
  paging: "total",
  replies: { 200: z.array(commentShape), ...changed },
});

export const createIssueComment = endpoint({
  name: "forge.issues.comments.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/comments",
  summary: "Comment on an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: commentBody,
  replies: { 201: commentShape, ...added },
});

export const getIssueComment = endpoint({
  name: "forge.issues.comments.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/comments/:id",
  summary: "A comment, as notification threads name it",
  gate: anyoneWithin("issue"),
  params: commentParams,
  replies: { 200: commentShape, ...lookupReplies },
  apiOnly: "threads refer to it by address; croft issue view --comments shows all of an issue",
});

export const editIssueComment = endpoint({
  name: "forge.issues.comments.edit",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/issues/comments/:id",
  summary: "Change the text of a comment",
  gate: forgeUser("issue"),
  params: commentParams,
  body: commentBody,
  replies: { 200: commentShape, ...added },
  apiOnly: "a mistake in a comment is mended by another one; tools that mirror issues need it",
});

const subscriptionParams = issueParams.extend({ user: z.string() });
const subscriptionReplies = { 200: empty, 201: empty, ...lookupReplies } as const;

export const listIssueSubscriptions = endpoint({
  name: "forge.issues.subscriptions.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/subscriptions",
  summary: "The users who subscribed to an issue",
  gate: anyoneWithin("issue"),
  params: issueParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(userShape), ...lookupReplies },
  apiOnly: "who else listens is nothing that a person at a terminal acts on",
});

export const checkIssueSubscription = endpoint({
  name: "forge.issues.subscriptions.check",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/subscriptions/check",
  summary: "Whether you are subscribed to an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 200: watchShape, ...lookupReplies },
  apiOnly: "croft notification watch OWNER/NAME#NUMBER prints the subscription",
});

export const subscribeToIssue = endpoint({
  name: "forge.issues.subscriptions.add",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/issues/:index/subscriptions/:user",
  summary: "Subscribe a user to an issue: 201 when that changes anything, else 200",
  gate: forgeUser("issue"),
  params: subscriptionParams,
  replies: subscriptionReplies,
});

export const unsubscribeFromIssue = endpoint({
  name: "forge.issues.subscriptions.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/subscriptions/:user",
  summary: "Unsubscribe a user from an issue: 201 when that changes anything, else 200",
  gate: forgeUser("issue"),
  params: subscriptionParams,
  replies: subscriptionReplies,
});

export const getWatch = endpoint({
  name: "forge.repos.watch.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/subscription",
  summary: "Whether you watch a repository; 404 when you do not",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: { 200: watchShape, ...lookupReplies },
  apiOnly: "croft notification watch OWNER/NAME prints the subscription",
});

export const watchRepository = endpoint({
  name: "forge.repos.watch.add",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/subscription",
  summary: "Watch a repository: get notifications of its pushes and issues",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: { 200: watchShape, ...lookupReplies },
});

export const unwatchRepository = endpoint({
  name: "forge.repos.watch.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/subscription",
  summary: "Stop watching a repository",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: { 204: empty, ...lookupReplies },
});

export const issueEndpoints = {
  listIssues,
  createIssue,
  getIssue,
  editIssue,
  listIssueComments,
  createIssueComment,
  getIssueComment,
  editIssueComment,
  listIssueSubscriptions,
  checkIssueSubscription,
  subscribeToIssue,
  unsubscribeFromIssue,
  getWatch,
  watchRepository,
  unwatchRepository,
};
