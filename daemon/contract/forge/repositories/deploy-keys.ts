import { z } from "zod";
import { empty, endpoint, forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import {
  apiError,
  optionalFlag,
  paging,
  pathInteger,
  queryInteger,
  queryText,
  requiredText,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";

/** A key that opens one repository. */
const deployKeyShape = z.object({
  id: wireId,
  /** The same for one key in several repositories. */
  key_id: wireId,
  key: z.string(),
  url: z.string(),
  title: z.string(),
  fingerprint: z.string(),
  created_at: wireTime,
  read_only: z.boolean(),
  /** With the permissions of the key; left out of the answer to a creation. */
  repository: repositoryShape.optional(),
});
export type WireDeployKey = z.output<typeof deployKeyShape>;

const keyParams = repositoryParams.extend({ id: pathInteger });
const replies = { ...signedInReplies, 404: apiError } as const;

export const listDeployKeys = endpoint({
  name: "forge.repos.keys.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/keys",
  summary: "The deploy keys of a repository, the oldest first",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params: repositoryParams,
  query: z.object({ key_id: queryInteger, fingerprint: queryText, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(deployKeyShape), ...replies, 422: apiError },
});

export const getDeployKey = endpoint({
  name: "forge.repos.keys.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/keys/:id",
  summary: "A deploy key of a repository",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params: keyParams,
  replies: { 200: deployKeyShape, ...replies },
});

export const addDeployKey = endpoint({
  name: "forge.repos.keys.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/keys",
  summary: "Add a deploy key to a repository",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params: repositoryParams,
  body: z.object({ title: requiredText(), key: requiredText(), read_only: optionalFlag }),
  replies: { 201: deployKeyShape, ...replies, 422: apiError },
});

export const deleteDeployKey = endpoint({
  name: "forge.repos.keys.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/keys/:id",
  summary: "Delete a deploy key; succeeds for an unknown one",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params: keyParams,
  replies: { 204: empty, ...replies },
});

export const deployKeyEndpoints = { listDeployKeys, getDeployKey, addDeployKey, deleteDeployKey };
