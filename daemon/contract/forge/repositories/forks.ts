import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { apiError, optionalText } from "../common.ts";
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
