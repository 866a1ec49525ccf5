// daemon/forge/admin: what site administrators do with accounts, organizations, addresses, keys and badges.
// May import: ../accounts, daemon/contract, daemon/errors.ts, daemon/http/handle.ts (types), storage.
// Start in users.routes.ts; rules of an account itself live in ../accounts.
import type { UserListQuery, UserSort } from "../../../storage/tables/forge/user-lists.ts";
import type { BodyOf, QueryOf } from "../../contract/endpoint.ts";
import type { createUser, listUsers } from "../../contract/forge/admin-users.ts";
import { isVisibility } from "../../contract/forge/common.ts";
import type { WantedUser } from "../accounts/users.service.ts";

/** The list query of a search; words that the contract let through stand for themselves, empty ones for the default. */
export function toUserListQuery(query: QueryOf<typeof listUsers>): UserListQuery {
  return {
    kind: "individual",
    term: query.q,
    loginName: query.login_name,
    loginSource: query.source_id > 0 ? query.source_id : undefined,
    visibility: isVisibility(query.visibility) ? query.visibility : undefined,
    isActive: query.is_active,
    isAdmin: query.is_admin,
    isRestricted: query.is_restricted,
    twoFactorEnabled: query.is_2fa_enabled,
    prohibitLogin: query.is_prohibit_login,
    sort: query.sort === "" ? "name" : (query.sort as UserSort),
    descending: query.sort !== "" && query.order === "desc",
  };
}

/** The account that a creation asks for, with the defaults of the document (forge behaviour, 8.2). */
export function toWantedUser(body: BodyOf<typeof createUser>): WantedUser {
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
    visibility: isVisibility(body.visibility ?? "") ? (body.visibility as WantedUser["visibility"]) : "public",
    isAdmin: false,
    createdAt: body.created_at == null ? undefined : Date.parse(body.created_at),
  };
}
