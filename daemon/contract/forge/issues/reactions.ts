import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  paging,
  pathInteger,
  requiredText,
  signedInReplies,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { userShape } from "../accounts/users.ts";

/** The reactions that exist, by their names. */
export const reactionNames = [
  "+1",
  "-1",
  "laugh",
  "hooray",
  "confused",
  "heart",
  "rocket",
  "eyes",
] as const;

/** A reaction of a user; null for a deleted account. */
export const reactionShape = z.object({
  user: userShape.nullable(),
  content: z.string(),
  created_at: wireTime,
});
export type WireReaction = z.output<typeof reactionShape>;

const issueParams = repositoryParams.extend({ index: pathInteger });
const commentParams = repositoryParams.extend({ id: pathInteger });
const reactionBody = z.object({ content: requiredText({ max: 50 }) });
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError } as const;

export const listIssueReactions = endpoint({
  name: "forge.issues.reactions.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/reactions",
  summary: "Reactions to an issue, oldest first",
  gate: anyoneWithin("issue"),
  params: issueParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(reactionShape), ...lookupReplies },
  apiOnly: "the page of an issue shows its reactions; reactions are not shown on a terminal",
});

export const addIssueReaction = endpoint({
  name: "forge.issues.reactions.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/reactions",
  summary: "React to an issue: 201 for a new reaction, 200 for one that you have given already",
  gate: forgeUser("issue"),
  params: issueParams,
  body: reactionBody,
  replies: { 200: reactionShape, 201: reactionShape, ...changed },
});

export const removeIssueReaction = endpoint({
  name: "forge.issues.reactions.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/reactions",
  summary: "Take back your reaction to an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: reactionBody,
  replies: { 200: empty, ...changed },
});

export const listCommentReactions = endpoint({
  name: "forge.issues.comments.reactions.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/comments/:id/reactions",
  summary: "Reactions to a comment, oldest first",
  gate: anyoneWithin("issue"),
  params: commentParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(reactionShape), ...lookupReplies },
  apiOnly: "the page of an issue shows the reactions to its comments",
});

export const addCommentReaction = endpoint({
  name: "forge.issues.comments.reactions.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/comments/:id/reactions",
  summary: "React to a comment: 201 for a new reaction, 200 for one that you have given already",
  gate: forgeUser("issue"),
  params: commentParams,
  body: reactionBody,
  replies: { 200: reactionShape, 201: reactionShape, ...changed },
});

export const removeCommentReaction = endpoint({
  name: "forge.issues.comments.reactions.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/comments/:id/reactions",
  summary: "Take back your reaction to a comment",
  gate: forgeUser("issue"),
  params: commentParams,
  body: reactionBody,
  replies: { 200: empty, ...changed },
});

export const reactionEndpoints = {
  listIssueReactions,
  addIssueReaction,
  removeIssueReaction,
  listCommentReactions,
  addCommentReaction,
  removeCommentReaction,
};
