import { collaboratorEndpoints } from "../../contract/forge/repositories/collaborators.ts";
import type { Route } from "../../http/handle.ts";
import { toUserView } from "../accounts/user.view.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toPermissionView } from "./collaborator-permission.view.ts";
import type { Collaborators } from "./collaborators.service.ts";

/** Routes of the collaborators of repositories. */
export function collaboratorRoutes({
  collaborators,
  urls,
}: {
  readonly collaborators: Collaborators;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(collaboratorEndpoints, {
    listCollaborators: async ({ opened, caller, query }) => {
      const { users, total } = await collaborators.list(opened, query, caller);
      return page(
        users.map((user) => toUserView(user, caller.user, urls)),
        total,
      );
    },
    getCollaborator: ({ opened, caller, params }) =>
      collaborators.assertIsOne(opened, params.collaborator, caller),
    putCollaborator: ({ opened, caller, params, body }) =>
      collaborators.put(opened, params.collaborator, body.permission ?? "", caller),
    deleteCollaborator: ({ opened, caller, params }) =>
      collaborators.remove(opened, params.collaborator, caller),
    getCollaboratorPermission: async ({ opened, caller, params }) =>
      toPermissionView(
        await collaborators.getPermission(opened, params.collaborator, caller),
        caller.user,
        urls,
      ),
  });
}
