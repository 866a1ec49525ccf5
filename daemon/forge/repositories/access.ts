import type { Queries } from "../../../storage/engine/database.ts";
import { isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import {
  getTeamAccess,
  type UnitOrAny,
} from "../../../storage/tables/forge/accounts/team-access.ts";
import { ADMIN_ACCESS } from "../../../storage/tables/forge/accounts/teams.ts";
import { getCollaboratorAccess } from "../../../storage/tables/forge/repositories/collaborators.ts";
import { isOfferedTo } from "../../../storage/tables/forge/repositories/transfers.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ActingUser, TaskGrant } from "../caller.ts";
import type { AccessLevel } from "../opened.ts";
import { assertTokenScope } from "../accounts/scopes.ts";
import { notFound } from "../refusals.ts";

const accessLevels: readonly AccessLevel[] = ["none", "read", "write", "admin", "owner"];

/** Returns whether `level` includes `needed`. */
export function reaches(level: AccessLevel, needed: AccessLevel): boolean {
  return accessLevels.indexOf(level) >= accessLevels.indexOf(needed);
}

/** Refuses with `forbidden` a caller whose permission does not include `needed`. */
export function assertReaches(
  { access }: { readonly access: AccessLevel },
  needed: AccessLevel,
): void {
  if (!reaches(access, needed))
    throw new AppError("forbidden", `user should have ${needed} access to the repository`);
}

/** The refusal of a caller who may read a part of a repository but not write to it. */
export const noWriter = (): AppError =>
  new AppError("forbidden", "user should have a permission to write to a repo");

/** The refusal of a caller who may read a repository but does not administer it. */
export const notTheOwner = (): AppError =>
  new AppError("forbidden", "user should be the owner of the repo");

export const noAdministrator = (): AppError =>
  new AppError(
    "forbidden",
    "user should be an owner or a collaborator with admin write of a repository",
  );

/**
 * Returns the permission of a user, or of an anonymous caller, on a repository: `owner` for its owner, for members of a
 * team that administers it, as in Gitea, and for site administrators; the highest level of a collaborator and of the
 * teams in an organization that have the repository, and
 * `read` when the repository is public and its owner visible to the viewer, or when it is offered to the viewer. To a
 * restricted user only public owners are visible. A job and a deploy key have the access of their grant.
 * @param unit the part of the repository, because a team may have a different permission on each; `any` is the highest
 * of them. Other permissions are the same for all parts.
 */
export async function findAccess(
  db: Queries,
  owned: { readonly repository: ForgeRepository; readonly owner: ForgeUser },
  viewer: ActingUser | undefined,
  unit: UnitOrAny = "repo.code",
): Promise<AccessLevel> {
  if (viewer?.task !== undefined) return toTaskAccess(viewer.task, owned);
  if (viewer?.deployKey !== undefined) {
    const { repositoryId, access } = viewer.deployKey;
    return repositoryId === owned.repository.id ? access : "none";
  }
  const level = await findStandingAccess(db, owned, viewer, unit);
  if (level !== "none" || viewer === undefined) return level;
  return (await isOfferedTo(db, owned.repository.id, viewer.id)) ? "read" : "none";
}

/** A job may write only to its own repository, and may read public ones. */
function toTaskAccess(
  { repositoryId, permissions }: TaskGrant,
  owned: { readonly repository: ForgeRepository; readonly owner: ForgeUser },
): AccessLevel {
  if (owned.repository.id !== repositoryId) return isPublic(owned) ? "read" : "none";
  return Object.values(permissions).includes("write") ? "write" : "read";
}

async function findStandingAccess(
  db: Queries,
  { repository, owner }: { readonly repository: ForgeRepository; readonly owner: ForgeUser },
  viewer: ForgeUser | undefined,
  unit: UnitOrAny,
): Promise<AccessLevel> {
  if (viewer !== undefined) {
    if (viewer.isAdmin || viewer.id === owner.id) return "owner";
    const ofTeams =
      owner.kind === "organization"
        ? await getTeamAccess(db, { orgId: owner.id, repositoryId: repository.id }, viewer.id, unit)
        : 0;
    if (ofTeams >= ADMIN_ACCESS) return "owner";
    const ofCollaborator = await getCollaboratorAccess(db, repository.id, viewer.id);
    const level = accessLevels[Math.max(ofCollaborator, ofTeams)];
    if (level !== undefined && level !== "none") return level;
  }
  if (repository.isPrivate) return "none";
  if (owner.visibility === "public") return "read";
  if (viewer === undefined || viewer.isRestricted) return "none";
  if (owner.visibility === "limited") return "read";
  return owner.kind === "organization" && (await isMember(db, owner.id, viewer.id))
    ? "read"
    : "none";
}

/** Returns whether a repository is public, and its owner as well. */
export function isPublic({
  repository,
  owner,
}: {
  readonly repository: ForgeRepository;
  readonly owner: ForgeUser;
}): boolean {
  return !repository.isPrivate && owner.visibility === "public";
}

/**
 * Throws `forbidden` when the scope of the caller's token does not allow the level of access to repositories, and
 * `not_found` when a public-only token is used for a private repository. A password (`scope` undefined) is
 * unrestricted.
 */
export function assertScope(
  scope: string | undefined,
  level: "read" | "write",
  owned: { readonly repository: ForgeRepository; readonly owner: ForgeUser },
): void {
  const parsed = assertTokenScope(scope, level, "repository");
  if (parsed?.publicOnly && !isPublic(owned)) throw notFound();
}
