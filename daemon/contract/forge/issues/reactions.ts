import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { empty } from "../../endpoint.ts";
import { pathInteger, requiredText, wireTime } from "../common.ts";
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
const reactionShape = z.object({
  user: userShape.nullable(),
  content: z.string(),
  created_at: wireTime,
});
export type WireReaction = z.output<typeof reactionShape>;

const issueParams = repositoryParams.extend({ index: pathInteger });
const commentParams = repositoryParams.extend({ id: pathInteger });
const reactionBody = z.object({ content: requiredText({ max: 50 }) });

export const reactionEndpoints = {
  ...resource(
    {
      name: "forge.issues.reactions",
      path: "/api/v1/repos/:owner/:repo/issues/:index/reactions",
      params: issueParams,
      shape: reactionShape,
      gate: openTo("issue"),
      on: repository("issues_or_pulls", "read"),
    },
    ({ list, operation }) => ({
      listIssueReactions: list("Reactions to an issue, oldest first", {
        apiOnly: "the page of an issue shows its reactions; reactions are not shown on a terminal",
      }),
      addIssueReaction: operation({
        as: "add",
        method: "POST",
        summary:
          "React to an issue: 201 for a new reaction, 200 for one that you have given already",
        body: reactionBody,
        replies: { 200: reactionShape, 201: reactionShape },
      }),
      removeIssueReaction: operation({
        as: "remove",
        method: "DELETE",
        summary: "Take back your reaction to an issue",
        body: reactionBody,
        replies: { 200: empty },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.comments.reactions",
      path: "/api/v1/repos/:owner/:repo/issues/comments/:id/reactions",
      params: commentParams,
      shape: reactionShape,
      gate: openTo("issue"),
      on: repository("issues_or_pulls", "read"),
    },
    ({ list, operation }) => ({
      listCommentReactions: list("Reactions to a comment, oldest first", {
        apiOnly: "the page of an issue shows the reactions to its comments",
      }),
      addCommentReaction: operation({
        as: "add",
        method: "POST",
        summary:
          "React to a comment: 201 for a new reaction, 200 for one that you have given already",
        body: reactionBody,
        replies: { 200: reactionShape, 201: reactionShape },
      }),
      removeCommentReaction: operation({
        as: "remove",
        method: "DELETE",
        summary: "Take back your reaction to a comment",
        body: reactionBody,
        replies: { 200: empty },
      }),
    }),
  ),
};
