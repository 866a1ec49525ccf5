// daemon/forge/http: the HTTP edge of the forge: gates, body formats and error bodies. Start in ../api.ts, which joins them.
import type { Database } from "../../../storage/engine/database.ts";
import { findRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { Endpoint, Gate } from "../../contract/endpoint.ts";
import { AppError } from "../../errors.ts";
import type { Permission } from "../../contract/permission.ts";
import type { ServerRequest } from "../../http/handle.ts";
import { assertTokenScope, type TokenScope } from "../accounts/scopes.ts";
import { isKnownTo, isVisibleTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { openResource } from "./open-resource.ts";
import { toMovedPath } from "./render-error.ts";
import { assertRepositoryOpen } from "./repository-gate.ts";
import { assertTaskMay } from "./task-authorization.ts";
import { formerUserGone, movedTo, userNotFound } from "../refusals.ts";

/**
 * Authorizes callers at an endpoint's gate, in Gitea's order: token scope, the
 * repository in the path, sign-in, site administrator, the user in the path, the rules of the token routes, and the
 * declared permission. Returns the resource that the permission is on.
 */
export function createAuthorization(db: Database) {
  return (
    caller: ForgeCaller | undefined,
    declared: Endpoint,
    request: ServerRequest,
    rawParams: Readonly<Record<string, string>>,
  ): Promise<unknown> | undefined => {
    const { gate, on } = declared;
    const scope = assertScope(caller, gate, declared);
    const opening = assertRepositoryOpen(db, caller, declared, rawParams);
    if (on !== undefined) return open(on);
    return opening === undefined ? assertCaller() : opening.then(assertCaller);

    async function open(permission: Permission) {
      const found = await opening;
      await assertCaller();
      return openResource(db, { caller, declared, permission, params: rawParams, found });
    }

    function assertCaller(): Promise<void> | undefined {
      if (
        caller === undefined &&
        (gate.admits === "forge_user" || gate.admits === "forge_site_admin")
      )
        throw new AppError("unauthenticated", "token is required");
      if (gate.admits === "forge_site_admin" && !caller?.user.isAdmin)
        throw new AppError("forbidden", "user should be the site admin");
      const task = caller?.user.task;
      if (task !== undefined) return assertTaskMay(db, task, declared, rawParams);
      const name = rawParams["username"];
      if (name === undefined || !declared.path.includes("/:username")) return undefined;
      return assertPathUser(name);
    }

    async function assertPathUser(written: string): Promise<void> {
      const isPublicOnly = scope?.publicOnly === true && gate.admits !== "anyone";
      const user = await findPathUser(db, decodeURIComponent(written), {
        path: declared.path,
        target: request.target,
        viewer: isPublicOnly ? undefined : caller?.user,
      });
      if (isPublicOnly && user.visibility !== "public")
        throw new AppError("forbidden", "token scope is limited to public users");
      if (gate.admits === "forge_basic") assertBasicSelfOrAdmin(caller, user);
    }
  };
}

function assertScope(
  caller: ForgeCaller | undefined,
  gate: Gate,
  declared: Endpoint,
): TokenScope | undefined {
  if (!("scope" in gate) || gate.scope === undefined) return undefined;
  const level = declared.method === "GET" ? "read" : "write";
  const scope = assertTokenScope(caller?.scope, level, gate.scope);
  const refusesPublicOnly =
    gate.scope === "notification" || ("refusesPublicOnly" in gate && gate.refusesPublicOnly);
  if (scope?.publicOnly && refusesPublicOnly)
    throw new AppError("forbidden", "this endpoint is not available for public-only tokens");
  return scope;
}

/** Returns the user of the path. Redirects a former name to the address with the current one. */
async function findPathUser(
  db: Database,
  name: string,
  {
    path,
    target,
    viewer,
  }: {
    readonly path: string;
    readonly target: string;
    readonly viewer: ForgeUser | undefined;
  },
): Promise<ForgeUser> {
  const user = await findUserByName(db, name);
  if (user !== undefined) return user;
  const formerId = await findRedirect(db, name);
  if (formerId === undefined) throw userNotFound(name);
  const current = await findUserById(db, formerId);
  if (current === undefined || !(await isKnownTo(db, current, viewer))) throw formerUserGone();
  const names = { username: current.name };
  const account = `/api/v1/users/${encodeURIComponent(current.name)}`;
  // A page calls the route on behalf of its own address.
  const isOfRoute = target.startsWith(path.slice(0, path.indexOf(":")));
  throw movedTo(isOfRoute ? (toMovedPath(target, path, names) ?? account) : account, names);
}

function assertBasicSelfOrAdmin(caller: ForgeCaller | undefined, user: ForgeUser): void {
  const isSelfOrAdmin = caller !== undefined && (caller.user.isAdmin || caller.user.id === user.id);
  // The same refusal as for an unknown name.
  if (!isVisibleTo(user, caller?.user)) throw userNotFound(user.name);
  if (!isSelfOrAdmin)
    throw new AppError("forbidden", "doer should be the site admin or be same as the contextUser");
  if (caller.method === "token") throw new AppError("unauthenticated", "auth required");
}
