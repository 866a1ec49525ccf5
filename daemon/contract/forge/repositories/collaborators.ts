import { z } from "zod";
import { empty, endpoint, forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { apiError, optionalText, paging, signedInReplies } from "../common.ts";
import { teamPermissions } from "../accounts/orgs.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams } from "./repositories.ts";

const params = repositoryParams.extend({ collaborator: z.string() });
const lookupReplies = { ...signedInReplies, 404: apiError } as const;

export const listCollaborators = endpoint({
  name: "forge.repos.collaborators.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/collaborators",
  summary: "The collaborators of a repository, in the order in which they were added",
  gate: forgeUser("repository"),
  on: repository("any", "read"),
  params: repositoryParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(userShape), ...lookupReplies },
});

/** 404 for a user who is not a collaborator. */
export const getCollaborator = endpoint({
  name: "forge.repos.collaborators.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/collaborators/:collaborator",
  summary: "Whether a user is a collaborator",
  gate: forgeUser("repository"),
  on: repository("any", "read"),
  params,
  replies: { 204: empty, ...lookupReplies, 422: apiError },
  apiOnly: '"croft repo collaborator view" shows the permission as well',
});

export const putCollaborator = endpoint({
  name: "forge.repos.collaborators.put",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/collaborators/:collaborator",
  summary:
    "Add a collaborator, or change the permission of one: read, write (the default) or admin",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params,
  body: z.object({ permission: optionalText() }),
  replies: { 204: empty, ...lookupReplies, 422: apiError },
});

export const deleteCollaborator = endpoint({
  name: "forge.repos.collaborators.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/collaborators/:collaborator",
  summary: "Remove a collaborator; succeeds for a user who is not a collaborator",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params,
  replies: { 204: empty, ...lookupReplies, 422: apiError },
});

/** A user's permission on a repository, from whatever source. */
const collaboratorPermissionShape = z.object({
  permission: z.enum(teamPermissions),
  role_name: z.string(),
  user: userShape,
});
export type WireCollaboratorPermission = z.output<typeof collaboratorPermissionShape>;

export const getCollaboratorPermission = endpoint({
  name: "forge.repos.collaborators.permission",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/collaborators/:collaborator/permission",
  summary: "A user's permission on a repository; your own, or any user's for its administrators",
  gate: forgeUser("repository"),
  on: repository("any", "read"),
  params,
  replies: { 200: collaboratorPermissionShape, ...lookupReplies },
});

export const collaboratorEndpoints = {
  listCollaborators,
  getCollaborator,
  putCollaborator,
  deleteCollaborator,
  getCollaboratorPermission,
};
