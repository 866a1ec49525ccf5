import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { AppError } from "../../errors.ts";
import { type ActingUser, type ForgeCaller, isSelf } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../events.ts";
import { noAdministrator, type RepositoryPath } from "../repositories/repositories.service.ts";
import { assertNotArchived, openRepository } from "../repositories/open-repository.ts";
import { type OpenedRepository } from "../opened.ts";
import { keepsIssues } from "../repositories/repository-settings.view.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

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
