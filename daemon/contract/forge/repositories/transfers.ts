import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { forgeUser } from "../../endpoint.ts";
import { optionalIds, requiredText } from "../common.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";

const TEAMS_MAX = 50;

export const transferEndpoints = resource(
  {
    name: "forge.repos.transfer",
    path: "/api/v1/repos/:owner/:repo/transfer",
    params: repositoryParams,
    gate: forgeUser("repository"),
    on: repository("any", "read"),
    acceptsArchived: true,
  },
  ({ operation }) => ({
    /** 202: the repository belongs to the new owner. 201: the offer is pending. */
    transferRepository: operation({
      as: "start",
      method: "POST",
      summary:
        "Transfer a repository to another owner, or offer it if you may not decide for that owner",
      body: z.object({
        new_owner: requiredText(),
        team_ids: optionalIds(TEAMS_MAX),
      }),
      replies: { 201: repositoryShape, 202: repositoryShape },
      on: repository("any", "owner"),
      refuses: [409],
    }),
    acceptTransfer: operation({
      method: "POST",
      at: "accept",
      summary: "Accept a repository that is offered to you",
      replies: { 202: repositoryShape },
      refuses: [422],
    }),
    rejectTransfer: operation({
      method: "POST",
      at: "reject",
      summary: "Reject a repository that is offered to you, or withdraw your own offer",
      replies: { 200: repositoryShape },
    }),
  }),
);
