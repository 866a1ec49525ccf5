import type { Database } from "../../storage/engine/database.ts";
import { findRedirect } from "../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../storage/tables/forge/accounts/users.ts";
import type { Endpoint, Gate, ScopeCategory } from "../contract/endpoint.ts";
import { AppError } from "../errors.ts";
import type { ServerRequest } from "../http/handle.ts";
import { allows, parseScope, type TokenScope } from "./accounts/scopes.ts";
import type { ForgeCaller } from "./caller.ts";
import { formerUserGone, keptQuery, movedTo, notFound, userNotFound } from "./refusals.ts";

/**
 * Lets a caller through an endpoint's gate, or refuses, in the order of the document (forge behaviour, 1.1): token
 * scope, sign-in, site administrator, the user that the path names, and what the token routes ask besides.
 */
export function createAuthorization(db: Database) {
  return (
    caller: ForgeCaller | undefined,
    declared: Endpoint,
    request: ServerRequest,
    rawParams: Readonly<Record<string, string>>,
  ): Promise<void> | undefined => {
    const { gate } = declared;
    const scope = assertScope(caller, gate, declared);
    if (caller === undefined && (gate.who === "forge_user" || gate.who === "forge_site_admin"))
      throw new AppError("unauthenticated", "token is required");
    if (gate.who === "forge_site_admin" && !caller?.user.isAdmin)
      throw new AppError("forbidden", "user should be the site admin");
    const name = rawParams["username"];
    if (name === undefined || !declared.path.includes("/:username")) return undefined;
    return assertPathUser(name);

    async function assertPathUser(written: string): Promise<void> {
      const user = await findPathUser(db, decodeURIComponent(written), declared, caller, request);
      if (gate.who === "forge_basic") assertBasicSelfOrAdmin(caller, user, scope);
    }
  };
}

function assertScope(
  caller: ForgeCaller | undefined,
  gate: Gate,
  declared: Endpoint,
): TokenScope | undefined {
  if (caller?.scope === undefined || !("scope" in gate) || gate.scope === undefined)
    return undefined;
  const parsed = parseScope(caller.scope.split(","));
  if (parsed.kind === "invalid")
    throw new AppError(
      "forbidden",
      `checking scope failed: invalid access token scope: ${parsed.word}`,
    );
  const category: ScopeCategory = gate.scope;
  const level = declared.method === "GET" ? "read" : "write";
  if (!allows(parsed.scope, level, category))
    throw new AppError(
      "forbidden",
      `token does not have at least one of required scope(s), required=[${level}:${category}], token scope=${caller.scope}`,
    );
  if (parsed.scope.publicOnly && category === "notification")
    throw new AppError("forbidden", "this endpoint is not available for public-only tokens");
  return parsed.scope;
}

/** The user of the path, under today's name only: a former name is answered with the address of today's. */
async function findPathUser(
  db: Database,
  name: string,
  { path }: Endpoint,
  caller: ForgeCaller | undefined,
  request: ServerRequest,
): Promise<ForgeUser> {
  const user = await findUserByName(db, name);
  if (user !== undefined) return user;
  const formerId = await findRedirect(db, name);
  if (formerId === undefined) throw userNotFound(name);
  const current = await findUserById(db, formerId);
  if (current === undefined || (caller === undefined && current.visibility !== "public"))
    throw formerUserGone();
  throw movedTo(toMovedPath(request.target, path, current.name) + keptQuery(request.target));
}

/**
 * The path of a target with today's name in the old one's place: found by its position, since the old name may be encoded
 * there, or be a word of the route besides.
 */
function toMovedPath(target: string, route: string, name: string): string {
  const [path = ""] = target.split("?");
  const position = route.split("/").indexOf(":username");
  return path
    .split("/")
    .map((segment, index) => (index === position ? name : segment))
    .join("/");
}

function assertBasicSelfOrAdmin(
  caller: ForgeCaller | undefined,
  user: ForgeUser,
  scope: TokenScope | undefined,
): void {
  if (scope?.publicOnly && user.visibility !== "public")
    throw new AppError("forbidden", "token scope is limited to public users");
  const isSelfOrAdmin = caller !== undefined && (caller.user.isAdmin || caller.user.id === user.id);
  const isHidden =
    user.visibility === "private" || (user.visibility === "limited" && caller === undefined);
  if (isHidden && !isSelfOrAdmin) throw notFound();
  if (!isSelfOrAdmin)
    throw new AppError("forbidden", "doer should be the site admin or be same as the contextUser");
  if (caller.method === "token") throw new AppError("unauthenticated", "auth required");
}
