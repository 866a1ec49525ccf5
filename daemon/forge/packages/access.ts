import type { Queries } from "../../../storage/engine/database.ts";
import { getTeamAccess, isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import { findRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";

/** How far somebody may go with an owner's packages; writing contains reading. */
export type PackageAccess = "none" | "read" | "write";

/** The access of a team that may publish. */
const WRITE_ACCESS = 2;

/**
 * What a person, or a stranger, may do with an owner's packages: everything as the owner or as a site administrator,
 * what the teams give in an organization, and reading when the owner is not hidden from the viewer.
 */
async function findPackageAccess(
  db: Queries,
  owner: ForgeUser,
  viewer: ForgeUser | undefined,
): Promise<PackageAccess> {
  if (viewer !== undefined) {
    if (viewer.isAdmin || viewer.id === owner.id) return "write";
    if (owner.kind === "organization") {
      const level = await getTeamAccess(db, owner.id, viewer.id);
      if (level > 0) return level >= WRITE_ACCESS ? "write" : "read";
      if (await isMember(db, owner.id, viewer.id)) return "read";
    }
    if (viewer.isRestricted) return "none";
  }
  if (owner.visibility === "public") return "read";
  return owner.visibility === "limited" && viewer !== undefined ? "read" : "none";
}

/** The owner, if the caller may read the packages. Refuses with `not_found`, and `forbidden` for a token's sake. */
export async function getReadableOwner(
  db: Queries,
  name: string,
  caller: ForgeCaller | undefined,
): Promise<ForgeUser> {
  return (await getOwner(db, name, caller)).owner;
}

/** The owner, if the caller may change the packages. Refuses as `getReadableOwner`, and with `forbidden` who may only read. */
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

/** By today's name or a former one: what is configured in many places goes on working after a rename. */
async function findOwner(db: Queries, name: string): Promise<ForgeUser | undefined> {
  const owner = await findUserByName(db, name);
  if (owner !== undefined) return owner;
  const formerId = await findRedirect(db, name);
  return formerId === undefined ? undefined : findUserById(db, formerId);
}
