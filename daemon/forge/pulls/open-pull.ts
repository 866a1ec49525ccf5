import type { Queries } from "../../../storage/engine/database.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import type { ActingUser } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { notFound } from "../refusals.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { mayEditHead } from "../repositories/maintainer-edit.ts";
import { assertNotArchived } from "../repositories/open-repository.ts";

/** A pull request with its issue. */
export interface OpenedPull {
  readonly issue: ForgeIssue;
  readonly pull: ForgePull;
}

/** Finds a pull request of a repository by number. Refuses with `not_found`, also an issue. */
export async function openPull(
  db: Queries,
  { repository }: OwnedRepository,
  number: number,
): Promise<OpenedPull> {
  const issue = await findIssue(db, repository.id, number);
  const pull = issue?.isPull === true ? await findPull(db, issue.id) : undefined;
  if (issue === undefined || pull === undefined) throw notFound();
  return { issue, pull };
}

/** Refuses with `unprocessable` a merged and a closed pull request. */
export function assertOpen({ issue, pull }: OpenedPull): void {
  if (pull.mergedAt !== undefined)
    throw new AppError("unprocessable", "pull request is already merged");
  if (issue.isClosed) throw new AppError("unprocessable", "pull request is closed");
}

/**
 * Finds the repository of the head, if the user may push to its branch: also those who may write to the base, where the
 * author allows it. Refuses with `forbidden`, also a pull request without a branch, and with `archived`.
 */
export async function openHead(
  db: Queries,
  { headRepositoryId: id, headBranch, isHeadGone }: ForgePull,
  user: ActingUser,
): Promise<OwnedRepository> {
  const repository = id === undefined ? undefined : await findRepositoryById(db, id);
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (repository === undefined || owner === undefined || headBranch === "" || isHeadGone)
    throw noPush();
  const head = { repository, owner };
  const mayPush =
    reaches(await findAccess(db, head, user), "write") ||
    (await mayEditHead(db, user, repository, headBranch));
  if (!mayPush) throw noPush();
  assertNotArchived(head);
  return head;
}

const noPush = () => new AppError("forbidden", "user should be able to push to the head");
