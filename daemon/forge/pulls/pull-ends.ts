import type { Queries } from "../../../storage/engine/database.ts";
import { isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import { getTeamAccess } from "../../../storage/tables/forge/accounts/team-access.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { getCollaboratorAccess } from "../../../storage/tables/forge/repositories/collaborators.ts";
import {
  findForkOf,
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ActingUser, ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { notFound } from "../refusals.ts";
import { findAccess, isPublic, reaches } from "../repositories/access.ts";
import { findOwned } from "../repositories/find-repository.ts";

/** The head that a request names. */
export interface PullHead {
  readonly owned: OwnedRepository;
  readonly branch: string;
}

/**
 * Finds the head of a pull request by `branch` of the base, `user:branch` (the user's fork of the base, or its parent) or
 * `owner/repo:branch`. Refuses with `not_found` an unknown, unreadable or unrelated repository, with `invalid_argument` a user without a fork of the base.
 */
export async function findHead(
  db: Queries,
  base: OwnedRepository,
  caller: ForgeCaller | undefined,
  text: string,
): Promise<PullHead> {
  const colon = text.indexOf(":");
  if (colon === -1) return { owned: base, branch: text };
  const branch = text.slice(colon + 1);
  const [owner = "", repo, ...rest] = text.slice(0, colon).split("/");
  if (rest.length > 0) throw notFound();
  const owned = await findHeadRepository(db, base, owner, repo);
  if (owned.repository.id === base.repository.id) return { owned: base, branch };
  const access = await findAccess(db, owned, caller?.user);
  if (!reaches(access, "read") || (isPublicOnly(caller) && !isPublic(owned))) throw notFound();
  return { owned, branch };
}

async function findHeadRepository(
  db: Queries,
  base: OwnedRepository,
  ownerName: string,
  name: string | undefined,
): Promise<OwnedRepository> {
  if (name !== undefined) {
    const owned = await findOwned(db, { owner: ownerName, repo: name });
    if (owned === undefined || !isRelated(owned.repository, base.repository)) throw notFound();
    return owned;
  }
  const owner = await findUserByName(db, ownerName);
  if (owner === undefined) throw notFound();
  if (owner.id === base.owner.id) return base;
  const fork = await findForkOf(db, base.repository.id, owner.id);
  if (fork !== undefined) return { repository: fork, owner };
  const { forkOf } = base.repository;
  const parent = forkOf === undefined ? undefined : await findRepositoryById(db, forkOf);
  if (parent?.ownerId === owner.id) return { repository: parent, owner };
  throw new AppError(
    "invalid_argument",
    `user ${owner.name} does not have a fork of the base repository`,
  );
}

/** Returns whether two repositories are the same one, a fork and its parent, or forks of one parent. */
function isRelated(one: ForgeRepository, other: ForgeRepository): boolean {
  if (one.id === other.id || one.forkOf === other.id || other.forkOf === one.id) return true;
  return one.forkOf !== undefined && one.forkOf === other.forkOf;
}

/**
 * Refuses with `forbidden` a user who may not open a pull request: one who is no collaborator of the base, member of its
 * organization or its owner, and may not write to the head.
 */
export async function assertMayOpen(
  db: Queries,
  base: OwnedRepository,
  head: OwnedRepository,
  { user }: ForgeCaller,
): Promise<void> {
  if (reaches(await findAccess(db, head, user), "write")) return;
  if (await isContributor(db, base, user)) return;
  throw new AppError("forbidden", "user should be a collaborator or able to write to the head");
}

/** Returns whether a user works on a repository: its owner, a collaborator of any level, a member of its organization. */
export async function isContributor(
  db: Queries,
  owned: OwnedRepository,
  user: ActingUser,
): Promise<boolean> {
  const { repository, owner } = owned;
  if (reaches(await findAccess(db, owned, user, "any"), "write")) return true;
  if ((await getCollaboratorAccess(db, repository.id, user.id)) > 0) return true;
  if (owner.kind !== "organization") return false;
  if (await isMember(db, owner.id, user.id)) return true;
  const team = { orgId: owner.id, repositoryId: repository.id };
  return (await getTeamAccess(db, team, user.id, "any")) > 0;
}
