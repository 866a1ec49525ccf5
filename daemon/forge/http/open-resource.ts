import type { Queries } from "../../../storage/engine/database.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { toInteger } from "../../contract/forge/common.ts";
import type {
  Permission,
  RepositoryPart,
  RepositoryPermission,
} from "../../contract/permission.ts";
import type { ForgeCaller } from "../caller.ts";
import { grantOrganization, grantTeam } from "../organizations/organization-access.ts";
import { grantPackages } from "../packages/access.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { Granted, GrantedAccount } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { findPart } from "../issues/issue-access.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { grantRepository } from "../repositories/open-repository.ts";
import {
  findOwned,
  type FoundRepository,
  repositoryMoved,
} from "../repositories/find-repository.ts";
import { needsOpenRepository } from "./repository-gate.ts";

/**
 * Opens the resource in the path of an endpoint for a caller with a permission. A former name redirects to the current
 * one if the caller may read the resource.
 */
export async function openResource(
  db: Queries,
  {
    caller,
    declared,
    permission,
    params,
    found,
  }: {
    readonly caller: ForgeCaller | undefined;
    readonly declared: Endpoint;
    readonly permission: Permission;
    readonly params: Readonly<Record<string, string>>;
    /** The repository in the path, if it was found already. */
    readonly found: FoundRepository | undefined;
  },
): Promise<Granted<Permission>> {
  if (permission.kind === "account") return grantAccount(caller);
  const decode = (name: string) => decodeURIComponent(params[name] ?? "");
  if (permission.kind === "organization")
    return grantOrganization(db, decode("org"), { caller, permission });
  if (permission.kind === "team")
    return grantTeam(db, toInteger(decode("team")) ?? 0, {
      caller: assertSignedIn(caller),
      permission,
    });
  if (permission.kind === "packages")
    return grantPackages(db, decode("owner"), { caller, permission });
  const owned = found ?? (await findOwned(db, { owner: decode("owner"), repo: decode("repo") }));
  if (owned === undefined) throw notFound();
  if (owned.isFormer) {
    if (!reaches(await findAccess(db, owned, caller?.user, "any"), "read")) throw notFound();
    throw repositoryMoved(owned);
  }
  const isChange = needsOpenRepository(declared);
  const part = await findPartOfPath(db, owned.repository.id, { declared, permission, params });
  return grantRepository(db, owned, { caller, permission: { ...permission, part }, isChange });
}

function grantAccount(viewer: ForgeCaller | undefined): GrantedAccount {
  const caller = assertSignedIn(viewer);
  if (isPublicOnly(caller))
    throw new AppError("forbidden", "token scope is limited to public users");
  return { account: caller.user };
}

function assertSignedIn(caller: ForgeCaller | undefined): ForgeCaller {
  if (caller === undefined) throw new AppError("unauthenticated", "token is required");
  return caller;
}

/** Returns the part that a permission is on: of issues and pull requests that of the one in the path. */
async function findPartOfPath(
  db: Queries,
  repositoryId: RepositoryId,
  {
    declared,
    permission: { part },
    params,
  }: {
    readonly declared: Endpoint;
    readonly permission: RepositoryPermission;
    readonly params: Readonly<Record<string, string>>;
  },
): Promise<RepositoryPart> {
  if (part !== "issues_or_pulls") return part;
  const { index, id } = params;
  const isComment = declared.path.includes("/issues/comments/:id");
  const found = await findPart(db, repositoryId, {
    ...(index === undefined ? {} : { index: toInteger(index) ?? 0 }),
    ...(isComment && id !== undefined ? { id: toInteger(id) ?? 0 } : {}),
  });
  return found ?? part;
}
