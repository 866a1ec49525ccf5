import type { Queries } from "../../../storage/engine/database.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { findIssueById } from "../../../storage/tables/forge/issues/issues.ts";
import {
  type ForgePull,
  listPullsWithEditableHeads,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import { findAccess, reaches } from "./access.ts";
import { keepsPulls } from "./repository-settings.view.ts";

/**
 * Returns whether a person may push to a branch of a fork without a right to the fork: it is the head of an open pull
 * request whose author lets those who may write to the base edit it. Jobs and deploy keys may not.
 *
 * An author gives only a right that they have: anyone can open a pull request from a branch of others, into a base of their own.
 * @param branch undefined for any branch
 */
export async function mayEditHead(
  db: Queries,
  user: ActingUser | undefined,
  fork: Pick<ForgeRepository, "id">,
  branch?: string,
): Promise<boolean> {
  if (user === undefined || user.task !== undefined || user.deployKey !== undefined) return false;
  const pulls = await listPullsWithEditableHeads(db, fork.id, branch);
  for (const id of new Set(pulls.map(({ repositoryId }) => repositoryId))) {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) continue;
    if (repository.archivedAt !== undefined || !keepsPulls(repository.settings)) continue;
    if (!reaches(await findAccess(db, { repository, owner }, user), "write")) continue;
    for (const pull of pulls)
      if (pull.repositoryId === id && (await mayAuthorEditHead(db, pull, fork.id))) return true;
  }
  return false;
}

/** Returns whether the author of a pull request may write to the repository of its head, now. */
async function mayAuthorEditHead(
  db: Queries,
  { issueId }: Pick<ForgePull, "issueId">,
  forkId: ForgeRepository["id"],
): Promise<boolean> {
  const issue = await findIssueById(db, issueId);
  const author = issue?.authorId === undefined ? undefined : await findUserById(db, issue.authorId);
  const repository = await findRepositoryById(db, forkId);
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (author === undefined || repository === undefined || owner === undefined) return false;
  return reaches(await findAccess(db, { repository, owner }, author), "write");
}
