import type { Queries } from "../../../storage/engine/database.ts";
import { findLastCommentId } from "../../../storage/tables/forge/issues/comments.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeThread } from "../../../storage/tables/forge/notifications.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { type AccessLevel, findAccess, reaches } from "../repositories/access.ts";
import type { SeenRepository } from "../repositories/repository.view.ts";

/** A thread with what its recipient may see of its subject at this moment. */
export interface SeenThread {
  readonly thread: ForgeThread;
  /** Undefined when the repository, or the right to read it, is gone. */
  readonly seen: SeenRepository | undefined;
  /** Of threads about issues. */
  readonly issue: ForgeIssue | undefined;
  readonly lastCommentId: number | undefined;
}

/** Looks up what threads are about, authorizing the recipient again: nothing is kept from when a thread was made. */
export async function seeThreads(
  db: Queries,
  threads: readonly ForgeThread[],
  recipient: ForgeUser,
): Promise<SeenThread[]> {
  const repositories = new Map<number, SeenRepository | undefined>();
  const watchers = await countWatchers(db, [
    ...new Set(threads.map(({ repositoryId }) => repositoryId)),
  ]);
  const seen: SeenThread[] = [];
  for (const thread of threads) {
    const { repositoryId, issueId } = thread;
    if (!repositories.has(repositoryId))
      repositories.set(
        repositoryId,
        await seeRepository(db, repositoryId, recipient, watchers.get(repositoryId) ?? 0),
      );
    const repository = repositories.get(repositoryId);
    const isIssue = repository !== undefined && issueId !== undefined;
    seen.push({
      thread,
      seen: repository,
      issue: isIssue ? await findIssueById(db, issueId) : undefined,
      lastCommentId: isIssue ? await findLastCommentId(db, issueId) : undefined,
    });
  }
  return seen;
}

async function seeRepository(
  db: Queries,
  id: number,
  recipient: ForgeUser,
  watchers: number,
): Promise<SeenRepository | undefined> {
  const repository = await findRepositoryById(db, id);
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (repository === undefined || owner === undefined) return undefined;
  const access: AccessLevel = await findAccess(db, { repository, owner }, recipient);
  if (!reaches(access, "read")) return undefined;
  return { repository, owner, watchers, access, isSignedIn: true };
}
