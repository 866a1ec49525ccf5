import type { Queries } from "../../../storage/engine/database.ts";
import { isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import { getOrganizationAccess } from "../../../storage/tables/forge/accounts/team-access.ts";
import { findRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ActingUser, ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";

/** Permission on the packages of an owner; `write` includes `read`. */
export type PackageAccess = "none" | "read" | "write";

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
): Promise<PackageAccess> {
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

/** Returns the owner if the caller may read the packages. Refuses with `not_found`, and with `forbidden` by scope. */
export async function getReadableOwner(
  db: Queries,
  name: string,
  caller: ForgeCaller | undefined,
): Promise<ForgeUser> {
  return (await getOwner(db, name, caller)).owner;
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

/** Returns the owner if the caller may change the packages. Refuses as `getReadableOwner`, and a reader with `forbidden`. */
export async function getWritableOwner(
  db: Queries,
  name: string,
  caller: ForgeCaller,
): Promise<ForgeUser> {
  const { owner, access } = await getOwner(db, name, caller);
  if (access !== "write")
    throw new AppError("forbidden", "user should have permission to write packages of this owner");
  return owner;
}

async function getOwner(db: Queries, name: string, caller: ForgeCaller | undefined) {
  const owner = await findOwner(db, name);
  if (owner === undefined) throw notFound();
  const access = await findPackageAccess(db, owner, caller?.user);
  if (access === "none") throw notFound();
  if (isPublicOnly(caller) && owner.visibility !== "public")
    throw new AppError("forbidden", "token scope is limited to public packages");
  return { owner, access };
}

/** Finds the owner by the current or a former name, because package tools keep the old URL after a rename. */
async function findOwner(db: Queries, name: string): Promise<ForgeUser | undefined> {
  const owner = await findUserByName(db, name);
  if (owner !== undefined) return owner;
  const formerId = await findRedirect(db, name);
  return formerId === undefined ? undefined : findUserById(db, formerId);
}
