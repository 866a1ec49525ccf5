import type { Queries } from "../../../storage/engine/database.ts";
import { findComment, type ForgeComment } from "../../../storage/tables/forge/issues/comments.ts";
import {
  findIssue,
  findIssueById,
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
import { type OpenedRepository } from "../opened.ts";
import type { IssueOrComment } from "./issue-requests.ts";
import { type RepositoryId, toCommentId, type UserId } from "../../../storage/tables/forge/ids.ts";

/** Returns the part of the repository that an issue or a comment belongs to; undefined where there is none. */
export async function findPart(
  db: Queries,
  repositoryId: RepositoryId,
  { index, id }: { readonly index?: number; readonly id?: number },
): Promise<"issues" | "pulls" | undefined> {
  const issue =
    index === undefined
      ? id === undefined
        ? undefined
        : await findIssueOfComment(db, toCommentId(id))
      : await findIssue(db, repositoryId, index);
  return issue && (issue.isPull ? "pulls" : "issues");
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

/** Finds a comment of a repository with its issue. Refuses with `not_found`. */
async function openComment(
  db: Queries,
  { repository }: OwnedRepository,
  id: number,
): Promise<{ readonly issue: ForgeIssue; readonly comment: ForgeComment }> {
  const comment = await findComment(db, repository.id, toCommentId(id));
  const issue = comment && (await findIssueById(db, comment.issueId));
  if (comment === undefined || issue === undefined) throw notFound();
  return { issue, comment };
}

/** Finds an issue, or a comment with its issue. Refuses with `not_found`. */
export async function openIssueOrComment(
  db: Queries,
  owned: OwnedRepository,
  at: IssueOrComment,
): Promise<{ readonly issue: ForgeIssue; readonly comment?: ForgeComment }> {
  return "index" in at
    ? { issue: await openIssue(db, owned, at.index) }
    : openComment(db, owned, at.id);
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

/** Refuses with `forbidden` to add to a locked issue, unless the caller may write to the issues of the repository. */
export function assertUnlocked(opened: OpenedRepository, issue: ForgeIssue): void {
  if (issue.lockedAt !== undefined && !canWrite(opened))
    throw new AppError(
      "forbidden",
      "The issue is locked: only users with write access may comment.",
    );
}
