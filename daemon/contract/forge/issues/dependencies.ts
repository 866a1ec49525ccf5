import { z } from "zod";
import { anyoneWithin, endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, optionalText, paging, pathInteger, signedInReplies } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { issueShape } from "./issues.ts";

const issueParams = repositoryParams.extend({ index: pathInteger });
/** Another issue; in the repository of the path when owner and repository are absent. */
const otherIssue = z.object({
  index: z.int({ error: "Required" }),
  owner: optionalText(),
  repo: optionalText(),
});
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = {
  201: issueShape,
  ...lookupReplies,
  409: apiError,
  422: apiError,
  423: apiError,
} as const;

export const listIssueDependencies = endpoint({
  name: "forge.issues.dependencies.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/dependencies",
  summary: "The issues that must be closed before an issue, without those that you may not read",
  gate: anyoneWithin("issue"),
  params: issueParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(issueShape), ...lookupReplies },
});

export const addIssueDependency = endpoint({
  name: "forge.issues.dependencies.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/dependencies",
  summary: "Make an issue depend on another one",
  gate: forgeUser("issue"),
  params: issueParams,
  body: otherIssue,
  replies: changed,
});

export const removeIssueDependency = endpoint({
  name: "forge.issues.dependencies.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/dependencies",
  summary: "Remove a dependency of an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: otherIssue,
  replies: changed,
});

export const listBlockedIssues = endpoint({
  name: "forge.issues.blocks.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/blocks",
  summary: "The issues that wait for an issue, without those that you may not read",
  gate: anyoneWithin("issue"),
  params: issueParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(issueShape), ...lookupReplies },
});

export const blockIssue = endpoint({
  name: "forge.issues.blocks.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/blocks",
  summary: "Make another issue depend on an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: otherIssue,
  replies: changed,
  apiOnly: "croft issue dependency add names the two issues the other way round",
});

export const unblockIssue = endpoint({
  name: "forge.issues.blocks.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/blocks",
  summary: "Remove the dependency of another issue on an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: otherIssue,
  replies: changed,
  apiOnly: "croft issue dependency remove names the two issues the other way round",
});

export const issueDependencyEndpoints = {
  listIssueDependencies,
  addIssueDependency,
  removeIssueDependency,
  listBlockedIssues,
  blockIssue,
  unblockIssue,
};
