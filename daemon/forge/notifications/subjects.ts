import type { Queries } from "../../../storage/engine/database.ts";
import { findLastCommentId } from "../../../storage/tables/forge/issues/comments.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeThread } from "../../../storage/tables/forge/notifications.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { UnitOrAny } from "../../../storage/tables/forge/accounts/team-access.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { CommentId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import { toSubjectUnit } from "./notify.ts";

/** A thread with its subject, if its recipient may read it now. */
export interface ThreadDetails {
  readonly thread: ForgeThread;
  /** Undefined when the repository is deleted or the recipient may no longer read it. */
  readonly repository: RepositoryDetails | undefined;
  /** Undefined for threads that are not about an issue. */
  readonly issue: ForgeIssue | undefined;
  /** Undefined for threads that are not about a pull request. */
  readonly pull: ForgePull | undefined;
  readonly lastCommentId: CommentId | undefined;
}

/** Loads the subjects of threads and authorizes the recipient again, because permissions may have changed since. */
export async function loadThreadDetails(
  db: Queries,
  threads: readonly ForgeThread[],
  recipient: ForgeUser,
): Promise<ThreadDetails[]> {
  const repositories = new Map<string, RepositoryDetails | undefined>();
  const watchers = await countWatchers(db, [
    ...new Set(threads.map(({ repositoryId }) => repositoryId)),
  ]);
  const details: ThreadDetails[] = [];
  for (const thread of threads) {
    const { repositoryId, issueId } = thread;
    const unit = toSubjectUnit(thread.kind);
    const key = `${unit} ${repositoryId}`;
    if (!repositories.has(key)) {
      const watching = watchers.get(repositoryId) ?? 0;
      const loaded = await loadRepositoryDetails(db, repositoryId, { recipient, unit, watching });
      repositories.set(key, loaded);
    }
    const repository = repositories.get(key);
    const isIssue = repository !== undefined && issueId !== undefined;
    details.push({
      thread,
      repository,
      issue: isIssue ? await findIssueById(db, issueId) : undefined,
      pull: isIssue && thread.kind === "pull" ? await findPull(db, issueId) : undefined,
      lastCommentId: isIssue ? await findLastCommentId(db, issueId) : undefined,
    });
  }
  return details;
}

async function loadRepositoryDetails(
  db: Queries,
  id: RepositoryId,
  {
    recipient,
    unit,
    watching: watchers,
  }: { readonly recipient: ForgeUser; readonly unit: UnitOrAny; readonly watching: number },
): Promise<RepositoryDetails | undefined> {
  const repository = await findRepositoryById(db, id);
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (repository === undefined || owner === undefined) return undefined;
  const owned = { repository, owner };
  if (!reaches(await findAccess(db, owned, recipient, unit), "read")) return undefined;
  const access = await findAccess(db, owned, recipient);
  return { repository, owner, watchers, access, isSignedIn: true };
}
