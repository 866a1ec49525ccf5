import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import { getOrganizationAccess } from "../../../storage/tables/forge/accounts/team-access.ts";
import { findRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { PackagesLevel } from "../../contract/permission.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ActingUser, ForgeCaller } from "../caller.ts";
import type { GrantedPackages } from "../opened.ts";
import { notFound } from "../refusals.ts";

/** The minimum access of a team that may publish. */
const WRITE_ACCESS = 2;

/**
 * Returns the permission of a user, or of an anonymous caller, on the packages of an owner: `write` for the owner and for
 * site administrators, the level of the teams in an organization, and `read` when the owner is visible to the viewer.
 */
async function findPackageAccess(
  db: Queries,
  owner: ForgeUser,
  viewer: ActingUser | undefined,
): Promise<PackagesLevel | "none"> {
  if (viewer?.task !== undefined) {
    const isOwn = viewer.task.ownerId === owner.id;
    return (
      (isOwn ? viewer.task.permissions["packages"] : undefined) ??
      (owner.visibility === "public" ? "read" : "none")
    );
  }
  if (viewer !== undefined) {
    if (viewer.isAdmin || viewer.id === owner.id) return "write";
    if (owner.kind === "organization") {
      const level = await getOrganizationAccess(db, owner.id, viewer.id, "repo.packages");
      if (level > 0) return level >= WRITE_ACCESS ? "write" : "read";
      if (await isMember(db, owner.id, viewer.id)) return "read";
    }
    if (viewer.isRestricted) return "none";
  }
  if (owner.visibility === "public") return "read";
  return owner.visibility === "limited" && viewer !== undefined ? "read" : "none";
}

/**
 * Grants an operation on the packages of the owner of a name. Refuses with `not_found` a caller who may not read them, and
 * with `forbidden` a reader who may not write, and by the scope of the token.
 */
export async function grantPackages(
  db: Queries,
  name: string,
  grant: GrantedPackages["grant"],
): Promise<GrantedPackages> {
  return toGranted(db, await findOwner(db, name), grant);
}

/** Opens packages again in the transaction of a change, so that the change is refused when a right changed since. */
export async function reopenPackages(
  tx: Transaction,
  { owner, grant }: GrantedPackages,
): Promise<GrantedPackages> {
  return toGranted(tx, await findUserById(tx, owner.id), grant);
}

async function toGranted(
  db: Queries,
  owner: ForgeUser | undefined,
  grant: GrantedPackages["grant"],
): Promise<GrantedPackages> {
  const { caller, permission } = grant;
  if (owner === undefined) throw notFound();
  const access = await findPackageAccess(db, owner, caller?.user);
  if (access === "none") throw notFound();
  if (isPublicOnly(caller) && owner.visibility !== "public")
    throw new AppError("forbidden", "token scope is limited to public packages");
  if (permission.level === "write" && access !== "write")
    throw new AppError("forbidden", "user should have permission to write packages of this owner");
  return { owner, access, grant };
}

/** Returns whether the caller may read the packages of an owner. */
export async function readsPackagesOf(
  db: Queries,
  owner: ForgeUser,
  caller: ForgeCaller | undefined,
): Promise<boolean> {
  if (isPublicOnly(caller) && owner.visibility !== "public") return false;
  return (await findPackageAccess(db, owner, caller?.user)) !== "none";
}

/** Finds the owner by the current or a former name, because package tools keep the old URL after a rename. */
async function findOwner(db: Queries, name: string): Promise<ForgeUser | undefined> {
  const owner = await findUserByName(db, name);
  if (owner !== undefined) return owner;
  const formerId = await findRedirect(db, name);
  return formerId === undefined ? undefined : findUserById(db, formerId);
}
