import {
  deleteCollaborator,
  getCollaborator,
  getCollaboratorPermission,
  listCollaborators,
  putCollaborator,
} from "../../contract/forge/repositories/collaborators.ts";
import type { Route } from "../../http/handle.ts";
import { toUserView } from "../accounts/user.view.ts";
import { handle } from "../handle.ts";
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
  return [
    handle(listCollaborators, async ({ caller, params, query }) => {
      const { users, total } = await collaborators.list(params, query, caller);
      return { status: 200, body: users.map((user) => toUserView(user, caller.user, urls)), total };
    }),
    handle(getCollaborator, async ({ caller, params }) => {
      await collaborators.assertIsOne(params, params.collaborator, caller);
      return { status: 204 };
    }),
    handle(putCollaborator, async ({ caller, params, body }) => {
      await collaborators.put(params, params.collaborator, body.permission ?? "", caller);
      return { status: 204 };
    }),
    handle(deleteCollaborator, async ({ caller, params }) => {
      await collaborators.remove(params, params.collaborator, caller);
      return { status: 204 };
    }),
    handle(getCollaboratorPermission, async ({ caller, params }) => {
      const found = await collaborators.getPermission(params, params.collaborator, caller);
      return { status: 200, body: toPermissionView(found, caller.user, urls) };
    }),
  ];
}
