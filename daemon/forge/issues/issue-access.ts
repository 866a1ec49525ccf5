import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  findIssue,
  findIssueOfComment,
  type ForgeIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import { AppError } from "../../errors.ts";
import { type ActingUser, type ForgeCaller, isSelf } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { findAccess, isPublic, reaches } from "../repositories/access.ts";
import { keepsIssues, keepsPulls } from "../repositories/repository-settings.view.ts";
import type { OwnedRepository } from "../events.ts";
import {
  getOwned,
  noAdministrator,
  type RepositoryPath,
} from "../repositories/repositories.service.ts";
import { assertNotArchived, grantRepository } from "../repositories/open-repository.ts";
import { type OpenedRepository } from "../opened.ts";
import { repository as repositoryPermission } from "../../contract/permission.ts";
import { type RepositoryId, toCommentId, type UserId } from "../../../storage/tables/forge/ids.ts";

/** The repository of a request and, where the request is about one, the number of an issue or the id of a comment. */
export type IssuesPath = RepositoryPath & { readonly index?: number; readonly id?: number };

/**
 * Finds a repository if the caller may read its issues; with the path of a pull request, its pull requests. Refuses with
 * `not_found`, also where they are disabled; redirects a former name to the current one.
 */
export async function openIssues(
  db: Queries,
  path: IssuesPath,
  caller: ForgeCaller | undefined,
  rest: string,
): Promise<OpenedRepository> {
  const owned = await getOwned(
    db,
    path,
    caller?.user,
    (current) => `/api/v1/repos/${current.owner}/${current.repo}${rest}`,
  );
  const part = (await findPart(db, owned.repository.id, path)) ?? "issues";
  const permission = repositoryPermission(part, "read");
  return grantRepository(db, owned, { caller, permission, isChange: false });
}

/** Returns the part of the repository that an issue or a comment belongs to; undefined where there is none. */
export async function findPart(
  db: Queries,
  repositoryId: RepositoryId,
  { index, id }: Pick<IssuesPath, "index" | "id">,
): Promise<"issues" | "pulls" | undefined> {
  const issue =
    index === undefined
      ? id === undefined
        ? undefined
        : await findIssueOfComment(db, toCommentId(id))
      : await findIssue(db, repositoryId, index);
  return issue && (issue.isPull ? "pulls" : "issues");
}

/**
 * Finds a repository as `openIssues` does, for a change that the same transaction makes, so that the change is refused
 * when a right or the repository's state changed before it. Refuses with `archived` an archived repository.
 */
export async function openIssuesToChange(
  tx: Transaction,
  path: IssuesPath,
  caller: ForgeCaller,
  rest: string,
): Promise<OpenedRepository> {
  const opened = await openIssues(tx, path, caller, rest);
  assertNotArchived(opened);
  return opened;
}

/** Finds an issue or a pull request of a repository by number. Refuses with `not_found`. */
export async function openIssue(
  db: Queries,
  { repository }: OwnedRepository,
  number: number,
): Promise<ForgeIssue> {
  const issue = await findIssue(db, repository.id, number);
  if (issue === undefined) throw notFound();
  return issue;
}

/** Returns whether a caller may read the issues of a repository, or its pull requests, and it has them. */
export async function readsKind(
  db: Queries,
  owned: OwnedRepository,
  caller: ForgeCaller | undefined,
  { isPull }: Pick<ForgeIssue, "isPull">,
): Promise<boolean> {
  const { settings } = owned.repository;
  if (!(isPull ? keepsPulls(settings) : keepsIssues(settings))) return false;
  if (isPublicOnly(caller) && !isPublic(owned)) return false;
  return reaches(await findAccess(db, owned, caller?.user, toUnit({ isPull })), "read");
}

/** Returns the part of a repository that has its issues, or its pull requests. */
export const toUnit = ({ isPull }: Pick<ForgeIssue, "isPull">) =>
  isPull ? "repo.pulls" : "repo.issues";

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
