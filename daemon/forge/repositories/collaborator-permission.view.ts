import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { WireCollaboratorPermission } from "../../contract/forge/repositories/collaborators.ts";
import { toUserView } from "../accounts/user.view.ts";
import type { ForgeUrls } from "../urls.ts";
import type { AccessLevel } from "../opened.ts";

/** A user's permissions on a repository. */
export function toPermissionView(
  { user, access }: { readonly user: ForgeUser; readonly access: AccessLevel },
  viewer: ForgeUser,
  urls: ForgeUrls,
): WireCollaboratorPermission {
  return { permission: access, role_name: access, user: toUserView(user, viewer, urls) };
}
