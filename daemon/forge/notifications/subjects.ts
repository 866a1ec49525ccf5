import type { Queries } from "../../../storage/engine/database.ts";
import { findLastCommentId } from "../../../storage/tables/forge/issues/comments.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeThread, ThreadKind } from "../../../storage/tables/forge/notifications.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findRepositoryById,
  type RepositorySettings,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { CommentId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { keepsCode, keepsIssues, keepsPulls } from "../repositories/repository-settings.view.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import { toSubjectUnit } from "./notify.ts";

/** A thread with its subject, if its recipient may read it now. */
export interface ThreadDetails {
  readonly thread: ForgeThread;
  /**
   * Undefined when the repository is deleted, the recipient may no longer read it, or it no longer has the part that the
   * thread is about.
   */
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
    const { kind } = thread;
    const key = `${kind} ${repositoryId}`;
    if (!repositories.has(key)) {
      const watching = watchers.get(repositoryId) ?? 0;
      const loaded = await loadRepositoryDetails(db, repositoryId, { recipient, kind, watching });
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

/** Whether a repository has the part that threads of a kind are about. */
const keepsOfKinds: Readonly<Record<ThreadKind, (settings: RepositorySettings) => boolean>> = {
  issue: keepsIssues,
  pull: keepsPulls,
  commit: keepsCode,
  repository: () => true,
};

async function loadRepositoryDetails(
  db: Queries,
  id: RepositoryId,
  {
    recipient,
    kind,
    watching: watchers,
  }: { readonly recipient: ForgeUser; readonly kind: ThreadKind; readonly watching: number },
): Promise<RepositoryDetails | undefined> {
  const repository = await findRepositoryById(db, id);
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (repository === undefined || owner === undefined) return undefined;
  if (!keepsOfKinds[kind](repository.settings)) return undefined;
  const unit = toSubjectUnit(kind);
  const owned = { repository, owner };
  if (!reaches(await findAccess(db, owned, recipient, unit), "read")) return undefined;
  const access = await findAccess(db, owned, recipient);
  return { repository, owner, watchers, access, isSignedIn: true };
}
