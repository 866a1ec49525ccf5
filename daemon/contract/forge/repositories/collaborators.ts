import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { optionalText } from "../common.ts";
import { teamPermissions } from "../accounts/orgs.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams } from "./repositories.ts";

/** A user's permission on a repository, from whatever source. */
const collaboratorPermissionShape = z.object({
  permission: z.enum(teamPermissions),
  role_name: z.string(),
  user: userShape,
});
export type WireCollaboratorPermission = z.output<typeof collaboratorPermissionShape>;

export const collaboratorEndpoints = resource(
  {
    name: "forge.repos.collaborators",
    path: "/api/v1/repos/:owner/:repo/collaborators",
    params: repositoryParams,
    id: { collaborator: z.string() },
    shape: userShape,
    gate: forgeUser("repository"),
    on: { read: repository("any", "read"), change: repository("any", "admin") },
    acceptsArchived: true,
  },
  ({ list, remove, operation }) => ({
    listCollaborators: list(
      "The collaborators of a repository, in the order in which they were added",
    ),
    /** 404 for a user who is not a collaborator. */
    getCollaborator: operation({
      as: "get",
      method: "GET",
      item: true,
      summary: "Whether a user is a collaborator",
      replies: { 204: empty },
      refuses: [422],
      apiOnly: '"croft repo collaborator view" shows the permission as well',
    }),
    putCollaborator: operation({
      as: "put",
      method: "PUT",
      item: true,
      summary:
        "Add a collaborator, or change the permission of one: read, write (the default) or admin",
      body: z.object({ permission: optionalText() }),
      replies: { 204: empty },
    }),
    deleteCollaborator: remove(
      "Remove a collaborator; succeeds for a user who is not a collaborator",
      { refuses: [422] },
    ),
    getCollaboratorPermission: operation({
      method: "GET",
      item: true,
      at: "permission",
      summary:
        "A user's permission on a repository; your own, or any user's for its administrators",
      replies: { 200: collaboratorPermissionShape },
    }),
  }),
);
