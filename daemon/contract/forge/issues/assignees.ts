import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, pathInteger, requiredWords, signedInReplies } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { userShape } from "../accounts/users.ts";
import { issueShape } from "./issues.ts";

/** Users that one request assigns or removes. */
const LIST_MAX = 50;

const issueParams = repositoryParams.extend({ index: pathInteger });
const names = z.object({
  assignees: requiredWords.refine((list) => list.length <= LIST_MAX, { error: "MaxSize" }),
});
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError, 423: apiError } as const;

export const listAssignableUsers = endpoint({
  name: "forge.repos.assignees.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/assignees",
  summary: "The users with write access, who may be assigned to issues",
  gate: anyoneWithin("repository"),
  params: repositoryParams,
  replies: { 200: z.array(userShape), ...lookupReplies },
  apiOnly: "croft repo collaborator list shows them; any reader may be assigned by name",
});

export const checkAssignableUser = endpoint({
  name: "forge.repos.assignees.check",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/assignees/:assignee",
  summary: "Whether a user may be assigned to issues; 404 when not",
  gate: anyoneWithin("repository"),
  params: repositoryParams.extend({ assignee: z.string() }),
  replies: { 204: empty, ...lookupReplies },
  apiOnly: "croft repo collaborator list shows them",
});

export const checkIssueAssignee = endpoint({
  name: "forge.issues.assignees.check",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/assignees/:assignee",
  summary: "Whether a user may be assigned to an issue; 404 when not",
  gate: anyoneWithin("issue"),
  params: issueParams.extend({ assignee: z.string() }),
  replies: { 204: empty, ...lookupReplies },
  apiOnly: "croft repo collaborator list shows them",
});

export const addIssueAssignees = endpoint({
  name: "forge.issues.assignees.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/assignees",
  summary: "Add assignees to an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: names,
  replies: { 201: issueShape, ...changed },
  apiOnly: "croft issue edit --assign assigns users",
});

export const removeIssueAssignees = endpoint({
  name: "forge.issues.assignees.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/assignees",
  summary: "Remove users from the assignees of an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: names,
  replies: { 200: issueShape, ...changed },
  apiOnly: "croft issue edit --assign assigns users",
});

export const listReviewers = endpoint({
  name: "forge.repos.reviewers.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/reviewers",
  summary: "The users with write access, who could review changes",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: { 200: z.array(userShape), ...lookupReplies },
  apiOnly: "there are no pull requests to review",
});

export const assigneeEndpoints = {
  listAssignableUsers,
  checkAssignableUser,
  checkIssueAssignee,
  addIssueAssignees,
  removeIssueAssignees,
  listReviewers,
};
