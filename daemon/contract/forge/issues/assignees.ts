import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, empty, forgeUser } from "../../endpoint.ts";
import { pathInteger, requiredWords } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { userShape } from "../accounts/users.ts";
import { issueShape } from "./issues.ts";

/** Users that one request assigns or removes. */
const LIST_MAX = 50;

const issueParams = repositoryParams.extend({ index: pathInteger });
const names = z.object({
  assignees: requiredWords.refine((list) => list.length <= LIST_MAX, { error: "MaxSize" }),
});

export const assigneeEndpoints = {
  ...resource(
    {
      name: "forge.repos.assignees",
      path: "/api/v1/repos/:owner/:repo/assignees",
      params: repositoryParams,
      id: { assignee: z.string() },
      gate: anyoneWithin("repository"),
      on: repository("any", "read"),
    },
    ({ operation }) => ({
      listAssignableUsers: operation({
        as: "list",
        method: "GET",
        summary: "The users with write access, who may be assigned to issues",
        replies: { 200: z.array(userShape) },
        apiOnly: "croft repo collaborator list shows them; any reader may be assigned by name",
      }),
      checkAssignableUser: operation({
        as: "check",
        method: "GET",
        item: true,
        summary: "Whether a user may be assigned to issues; 404 when not",
        replies: { 204: empty },
        apiOnly: "croft repo collaborator list shows them",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.assignees",
      path: "/api/v1/repos/:owner/:repo/issues/:index/assignees",
      params: issueParams,
      id: { assignee: z.string() },
      shape: issueShape,
      gate: openTo("issue"),
      on: {
        read: repository("issues_or_pulls", "read"),
        change: repository("issues_or_pulls", "write"),
      },
    },
    ({ create, operation }) => ({
      checkIssueAssignee: operation({
        as: "check",
        method: "GET",
        item: true,
        summary: "Whether a user may be assigned to an issue; 404 when not",
        replies: { 204: empty },
        apiOnly: "croft repo collaborator list shows them",
      }),
      addIssueAssignees: create("Add assignees to an issue", names, {
        as: "add",
        apiOnly: "croft issue edit --assign assigns users",
      }),
      removeIssueAssignees: operation({
        as: "remove",
        method: "DELETE",
        summary: "Remove users from the assignees of an issue",
        body: names,
        replies: { 200: issueShape },
        apiOnly: "croft issue edit --assign assigns users",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.reviewers",
      path: "/api/v1/repos/:owner/:repo/reviewers",
      params: repositoryParams,
      gate: forgeUser("repository"),
      on: repository("code", "write", { evenOff: true }),
    },
    ({ operation }) => ({
      listReviewers: operation({
        as: "list",
        method: "GET",
        summary: "The users with write access, who could review changes",
        replies: { 200: z.array(userShape) },
        apiOnly: "there are no pull requests to review",
      }),
    }),
  ),
};
