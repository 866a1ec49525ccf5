import type { UserListQuery, UserSort } from "../../../storage/tables/forge/accounts/user-lists.ts";
import type { ForgeVisibility } from "../../../storage/tables/forge/accounts/user-facets.ts";
import type { BodyOf, QueryOf } from "../../contract/endpoint.ts";
import type { invitationEndpoints } from "../../contract/forge/accounts/invitations.ts";
import type { adminUserEndpoints } from "../../contract/forge/accounts/admin-users.ts";
import { isVisibility } from "../../contract/forge/common.ts";
import { toRequestTime } from "../urls.ts";
import type { Invitation, Invited } from "./invitations.service.ts";
import type { UserEdit } from "./edit-user.ts";
import type { NewUser } from "./users.service.ts";

/** Returns the list query of a search; empty words mean the default. */
export function toUserListQuery(
  query: QueryOf<typeof adminUserEndpoints.listUsers>,
): UserListQuery {
  return {
    kind: "individual",
    term: query.q,
    loginName: query.login_name,
    loginSource: query.source_id > 0 ? query.source_id : undefined,
    visibility: toVisibility(query.visibility),
    isActive: query.is_active,
    isAdmin: query.is_admin,
    isRestricted: query.is_restricted,
    twoFactorEnabled: query.is_2fa_enabled,
    prohibitLogin: query.is_prohibit_login,
    sort: query.sort === "" ? "name" : (query.sort as UserSort),
    descending: query.sort !== "" && query.order === "desc",
  };
}

/** Returns the account of a creation, with Gitea's defaults. */
export function toNewUser(body: BodyOf<typeof adminUserEndpoints.createUser>): NewUser {
  return {
    sourceId: body.source_id ?? 0,
    loginName: body.login_name ?? "",
    username: body.username,
    fullName: body.full_name ?? "",
    email: body.email,
    password: body.password ?? "",
    mustChangePassword: body.must_change_password ?? true,
    notify: body.send_notify ?? false,
    restricted: body.restricted ?? false,
    visibility: toVisibility(body.visibility) ?? "public",
    isAdmin: false,
    createdAt: toRequestTime(body.created_at),
  };
}

/**
 * Returns the changes of an edit. Absent and null members stay unchanged, an empty text clears.
 */
export function toUserEdit(body: BodyOf<typeof adminUserEndpoints.editUser>): UserEdit {
  return {
    sourceId: body.source_id ?? undefined,
    loginName: body.login_name,
    email: body.email ?? undefined,
    password: body.password ?? undefined,
    changes: {
      fullName: body.full_name ?? undefined,
      mustChangePassword: body.must_change_password ?? undefined,
      website: body.website ?? undefined,
      location: body.location ?? undefined,
      description: body.description ?? undefined,
      isActive: body.active ?? undefined,
      isAdmin: body.admin ?? undefined,
      allowGitHook: body.allow_git_hook ?? undefined,
      allowImportLocal: body.allow_import_local ?? undefined,
      maxRepoCreation:
        body.max_repo_creation == null ? undefined : Math.max(body.max_repo_creation, -1),
      prohibitLogin: body.prohibit_login ?? undefined,
      allowCreateOrganization: body.allow_create_organization ?? undefined,
      isRestricted: body.restricted ?? undefined,
      visibility: toVisibility(body.visibility),
    },
  };
}

function toVisibility(word: string | null | undefined): ForgeVisibility | undefined {
  return word != null && isVisibility(word) ? word : undefined;
}

/** Returns the person of an invitation. */
export function toInvited(body: BodyOf<typeof invitationEndpoints.invitePerson>): Invited {
  return {
    username: body.username,
    email: body.email,
    fullName: body.full_name ?? "",
    isAdmin: body.admin ?? false,
    notify: body.notify ?? false,
    vaultCode: body.vault_code,
  };
}

/** Converts an invitation with its link. */
export function toInvitationView({ user, isNew, code, link, expiresAt, isMailed }: Invitation) {
  return {
    username: user.name,
    email: user.email,
    created: isNew,
    code,
    link,
    expires_at: new Date(expiresAt).toISOString(),
    mailed: isMailed,
  };
}
