import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { apiError, optionalFlag, optionalText } from "../common.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";
import { isAlphaDashDot } from "./rules.ts";

/** The forks of a repository. */
export const forkEndpoints = resource(
  {
    name: "forge.repos.forks",
    path: "/api/v1/repos/:owner/:repo/forks",
    params: repositoryParams,
    shape: repositoryShape,
    gate: openTo("repository"),
    on: repository("code", "read"),
    acceptsArchived: true,
  },
  ({ list, operation }) => ({
    listForks: list("Forks of a repository that the caller may read"),
    createFork: operation({
      as: "create",
      method: "POST",
      summary: "Fork a repository: copy its branches and tags into a repository of your own",
      body: z.object({
        /** The owner of the fork; the caller when absent. */
        organization: optionalText(),
        name: optionalText({ max: 100, rules: [["AlphaDashDot", isAlphaDashDot]] }),
      }),
      replies: { 202: repositoryShape, 503: apiError },
      refuses: [409],
    }),
  }),
);

/** The update of a fork. */
export const forkSyncEndpoints = resource(
  {
    name: "forge.repos",
    path: "/api/v1/repos/:owner/:repo",
    params: repositoryParams,
    gate: forgeUser("repository"),
    on: repository("code", "write"),
  },
  ({ operation }) => ({
    syncFork: operation({
      as: "merge_upstream",
      at: "merge-upstream",
      method: "POST",
      summary: "Update a branch of a fork from the parent's branch of that name",
      body: z.object({
        /** The default branch of the fork when absent. */
        branch: optionalText(),
        ff_only: optionalFlag,
      }),
      replies: { 200: z.object({ merge_type: z.string() }), 503: apiError },
      refuses: [400, 409],
    }),
  }),
);
