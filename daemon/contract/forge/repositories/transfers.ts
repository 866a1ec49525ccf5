import { z } from "zod";
import { endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, optionalIds, requiredText, signedInReplies } from "../common.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";

const TEAMS_MAX = 50;
const lookupReplies = { ...signedInReplies, 404: apiError } as const;

/** 202: the repository belongs to the new owner. 201: the offer is pending. */
export const transferRepository = endpoint({
  name: "forge.repos.transfer.start",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/transfer",
  summary:
    "Transfer a repository to another owner, or offer it if you may not decide for that owner",
  gate: forgeUser("repository"),
  params: repositoryParams,
  body: z.object({
    new_owner: requiredText(),
    team_ids: optionalIds(TEAMS_MAX),
  }),
  replies: {
    201: repositoryShape,
    202: repositoryShape,
    ...lookupReplies,
    409: apiError,
    422: apiError,
  },
});

export const acceptTransfer = endpoint({
  name: "forge.repos.transfer.accept",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/transfer/accept",
  summary: "Accept a repository that is offered to you",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: { 202: repositoryShape, ...lookupReplies, 422: apiError },
});

export const rejectTransfer = endpoint({
  name: "forge.repos.transfer.reject",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/transfer/reject",
  summary: "Reject a repository that is offered to you, or withdraw your own offer",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: { 200: repositoryShape, ...lookupReplies },
});

export const transferEndpoints = { transferRepository, acceptTransfer, rejectTransfer };
