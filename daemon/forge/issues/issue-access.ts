import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { UnitOrAny } from "../../../storage/tables/forge/accounts/team-access.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { type ActingUser, type ForgeCaller, isSelf } from "../caller.ts";
import { isArchived, notFound } from "../refusals.ts";
import { type AccessLevel, findAccess, isPublic, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import {
  getOwned,
  noAdministrator,
  type RepositoryPath,
} from "../repositories/repositories.service.ts";
import { keepsIssues } from "../repositories/repository-settings.view.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** The repository of a path, with the permission of the caller. */
export interface OpenedRepository extends OwnedRepository {
  readonly access: AccessLevel;
}

/**
 * Finds a repository if the caller may read a unit of it. Refuses with `not_found`; redirects a former name to the
 * current one. The access of the result is the access to that unit.
 */
export async function openRepository(
  db: Queries,
  path: RepositoryPath,
  caller: ForgeCaller | undefined,
  rest: string,
  unit: UnitOrAny = "repo.code",
): Promise<OpenedRepository> {
  const owned = await getOwned(
    db,
    path,
    caller?.user,
    (current) => `/api/v1/repos/${current.owner}/${current.repo}${rest}`,
  );
  const access = await findAccess(db, owned, caller?.user, unit);
  if (!reaches(access, "read") || (isPublicOnly(caller) && !isPublic(owned))) throw notFound();
  return { ...owned, access };
}

/** Finds a repository as `openRepository` does, and refuses with `not_found` when its issues are disabled. */
export async function openIssues(
  db: Queries,
  path: RepositoryPath,
  caller: ForgeCaller | undefined,
  rest: string,
): Promise<OpenedRepository> {
  const opened = await openRepository(db, path, caller, rest, "repo.issues");
  if (!keepsIssues(opened.repository.settings)) throw notFound();
  return opened;
}

/**
 * Finds a repository as `openIssues` does, for a change that the same transaction makes, so that the change is refused
 * when a right or the repository's state changed before it. Refuses with `archived` an archived repository.
 */
export async function openIssuesToChange(
  tx: Transaction,
  path: RepositoryPath,
  caller: ForgeCaller,
  rest: string,
): Promise<OpenedRepository> {
  const opened = await openIssues(tx, path, caller, rest);
  assertNotArchived(opened);
  return opened;
}

/** Refuses a change of an archived repository with `archived`. */
export function assertNotArchived({ repository, owner }: OwnedRepository): void {
  if (repository.archivedAt !== undefined) throw isArchived(`${owner.name}/${repository.name}`);
}

/** Finds an issue of a repository by number. Refuses with `not_found`. */
export async function openIssue(
  db: Queries,
  { repository }: OwnedRepository,
  number: number,
): Promise<ForgeIssue> {
  const issue = await findIssue(db, repository.id, number);
  if (issue === undefined) throw notFound();
  return issue;
}

/** Returns whether the caller may edit texts of other users and assign people. */
export function canWrite({ access }: OpenedRepository): boolean {
  return reaches(access, "write");
}

/** Refuses with `forbidden` a user who is neither the author nor has write access. */
export function assertMayChange(
  opened: OpenedRepository,
  authorId: UserId | undefined,
  user: ActingUser,
): void {
  if (!isSelf(user, authorId) && !canWrite(opened))
    throw new AppError("forbidden", "user should be the author or have write access");
}

/** Refuses with `forbidden` a user who may read the issues of a repository but not write to them. */
export function assertMayWrite(opened: OpenedRepository): void {
  if (!canWrite(opened))
    throw new AppError("forbidden", "user should have a permission to write to a repo");
}

/** Refuses with `forbidden` to add to a locked issue, unless the caller may write to the issues of the repository. */
export function assertUnlocked(opened: OpenedRepository, issue: ForgeIssue): void {
  if (issue.lockedAt !== undefined && !canWrite(opened))
    throw new AppError(
      "forbidden",
      "The issue is locked: only users with write access may comment.",
    );
}

/** Refuses with `forbidden` a user who does not administer the repository. */
export function assertAdministers({ access }: OpenedRepository): void {
  if (!reaches(access, "admin")) throw noAdministrator();
}
