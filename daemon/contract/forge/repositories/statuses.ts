import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { anyoneWithin, perAccount } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { optionalText, paging, queryWord, requiredText, wireId, wireTime } from "../common.ts";
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
const commitParams = repositoryParams.extend({ sha: z.string() });
const refParams = repositoryParams.extend({ ref: z.string() });
const listQuery = z.object({
  sort: queryWord(["oldest", "recentupdate", "leastupdate", "leastindex", "highestindex"]),
  state: queryWord(statusStates),
  ...paging,
});

export const statusEndpoints = {
  ...resource(
    {
      name: "forge.repos.statuses",
      path: "/api/v1/repos/:owner/:repo/statuses/:sha",
      params: commitParams,
      shape: commitStatusShape,
      gate: openTo("repository"),
      on: {
        read: repository("code", "read", { evenOff: true }),
        change: repository("code", "write", { evenOff: true }),
      },
      limit,
    },
    ({ list, create }) => ({
      createCommitStatus: create(
        "Set the status of a commit, as build servers do",
        z.object({
          state: requiredText({ rules: [["In", isState]] }),
          target_url: optionalText({ max: 2048, rules: [["Url", isWebUrl]] }),
          description: optionalText({ max: 1024 }),
          context: optionalText({ max: 255 }),
        }),
        { apiOnly: "build servers report the status of a commit" },
      ),
      listCommitStatuses: list("The statuses of a commit, newest first", {
        filters: {
          sort: queryWord(["oldest", "recentupdate", "leastupdate", "leastindex", "highestindex"]),
          state: queryWord(statusStates),
        },
        apiOnly: "for tools; people see the status at the build server",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.commits",
      path: "/api/v1/repos/:owner/:repo/commits/**:ref",
      params: refParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read", { evenOff: true }),
      limit,
    },
    ({ operation }) => ({
      listRefStatuses: operation({
        method: "GET",
        at: "statuses",
        summary: "The statuses of the commit at a branch or tag, newest first",
        query: listQuery,
        paging: "link_and_total",
        replies: { 200: z.array(commitStatusShape) },
        apiOnly: "for tools; people see the status at the build server",
      }),
      getCombinedStatus: operation({
        method: "GET",
        at: "status",
        summary: "The combined status of a commit: the latest status of each context",
        query: z.object(paging),
        paging: "link_and_total",
        replies: { 200: combinedStatusShape },
      }),
    }),
  ),
};
