import { z } from "zod";
import { anyoneWithin, endpoint, forgeUser, perAccount } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import {
  apiError,
  optionalText,
  paging,
  queryWord,
  requiredText,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";
import { isWebUrl } from "../rules.ts";
import { userShape } from "../accounts/users.ts";

export const statusStates = [
  "pending",
  "success",
  "error",
  "failure",
  "warning",
  "skipped",
] as const;

/** The status of a commit, as a build server reports it. Its creator is null once the account is deleted. */
const commitStatusShape = z.object({
  id: wireId,
  status: z.enum(statusStates),
  target_url: z.string(),
  description: z.string(),
  url: z.string(),
  context: z.string(),
  creator: userShape.nullable(),
  created_at: wireTime,
  updated_at: wireTime,
});
export type WireCommitStatus = z.output<typeof commitStatusShape>;

/** The combination of the latest status of each context. */
export const combinedStatusShape = z.object({
  state: z.enum(["pending", "success", "failure"]),
  sha: z.string(),
  total_count: z.int(),
  statuses: z.array(commitStatusShape),
  repository: repositoryShape,
  commit_url: z.string(),
  url: z.string(),
});

/** Each request runs git, to look up the commit. */
const limit = perAccount(600, 60);
const isState = (word: string) => (statusStates as readonly string[]).includes(word);
const lookupReplies = { ...signedInReplies, 404: apiError, 429: apiError } as const;
const commitParams = repositoryParams.extend({ sha: z.string() });
const refParams = repositoryParams.extend({ ref: z.string() });
const listQuery = z.object({
  sort: queryWord(["oldest", "recentupdate", "leastupdate", "leastindex", "highestindex"]),
  state: queryWord(statusStates),
  ...paging,
});

export const createCommitStatus = endpoint({
  name: "forge.repos.statuses.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/statuses/:sha",
  summary: "Set the status of a commit, as build servers do",
  gate: forgeUser("repository"),
  on: repository("code", "write"),
  limit,
  params: commitParams,
  body: z.object({
    state: requiredText({ rules: [["In", isState]] }),
    target_url: optionalText({ max: 2048, rules: [["Url", isWebUrl]] }),
    description: optionalText({ max: 1024 }),
    context: optionalText({ max: 255 }),
  }),
  replies: { 201: commitStatusShape, ...lookupReplies, 422: apiError },
  apiOnly: "build servers report the status of a commit",
});

export const listCommitStatuses = endpoint({
  name: "forge.repos.statuses.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/statuses/:sha",
  summary: "The statuses of a commit, newest first",
  gate: anyoneWithin("repository"),
  on: repository("code", "read"),
  limit,
  params: commitParams,
  query: listQuery,
  paging: "link_and_total",
  replies: { 200: z.array(commitStatusShape), ...lookupReplies },
  apiOnly: "for tools; people see the status at the build server",
});

export const listRefStatuses = endpoint({
  name: "forge.repos.commits.statuses",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/commits/**:ref/statuses",
  summary: "The statuses of the commit at a branch or tag, newest first",
  gate: anyoneWithin("repository"),
  on: repository("code", "read"),
  limit,
  params: refParams,
  query: listQuery,
  paging: "link_and_total",
  replies: { 200: z.array(commitStatusShape), ...lookupReplies },
  apiOnly: "for tools; people see the status at the build server",
});

export const getCombinedStatus = endpoint({
  name: "forge.repos.commits.status",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/commits/**:ref/status",
  summary: "The combined status of a commit: the latest status of each context",
  gate: anyoneWithin("repository"),
  on: repository("code", "read"),
  limit,
  params: refParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: combinedStatusShape, ...lookupReplies },
});

export const statusEndpoints = {
  createCommitStatus,
  listCommitStatuses,
  listRefStatuses,
  getCombinedStatus,
};
