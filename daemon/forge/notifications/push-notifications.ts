import type { Database } from "../../../storage/engine/database.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import { createPushJob, type PublishedPush } from "../git/push-jobs.ts";
import type { RefChange } from "../repositories/events.ts";
import { findMentioned, notifyInBatches } from "./notify.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** Maximum number of branches of one push that users are notified of. */
const BRANCHES_MAX = 20;
/** Maximum number of commits of a branch whose messages are searched for mentions. */
const COMMITS_MAX = 50;
/** Maximum characters of a message that are searched. */
const MESSAGE_CHARACTERS_MAX = 16_384;

export interface PushNotificationsDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly readPush: ReadPush;
}

/**
 * Notifies the watchers of a repository of a push, in a thread of its last commit, and the users that a commit message
 * mentions, in a thread of that commit.
 */
export function createPushNotifications({ db, enqueue, readPush }: PushNotificationsDeps) {
  return createPushJob({
    kind: "forge.notifications.push",
    enqueue,
    select: ({ ref, after }) => ref.startsWith("refs/heads/") && after !== undefined,
    refsMax: BRANCHES_MAX,
    publish,
  });

  async function publish(
    { repositoryId, pusherId, pushedAt }: PublishedPush,
    change: RefChange,
  ): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    const pushed = repository && (await readPush(repository, change, COMMITS_MAX));
    if (repository === undefined || pushed?.head === undefined) return;
    const { head, commits } = pushed;
    const notifyOf = (commitId: string, userIds: readonly UserId[]) =>
      notifyInBatches(
        db,
        repositoryId,
        userIds.filter((id) => id !== pusherId),
        { kind: "commit", commitId, notifiedAt: pushedAt },
      );
    await notifyOf(head.id, await listWatchers(db, repositoryId));
    for (const { id, message } of commits) {
      const mentioned = await findMentioned(db, message.slice(0, MESSAGE_CHARACTERS_MAX));
      await notifyOf(
        id,
        mentioned.map((user) => user.id),
      );
    }
  }
}
