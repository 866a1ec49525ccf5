import type { Database } from "../../../storage/engine/database.ts";
import { listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { RefChange } from "../events.ts";
import { findMentioned, notifyInBatches } from "./notify.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import type { PublishedPush, PushCommits, PushSubscriber } from "../push-subscriber.ts";

/** Maximum number of branches of one push that users are notified of. */
const BRANCHES_MAX = 20;
/** Maximum number of commits of a branch whose messages are searched for mentions. */
const COMMITS_MAX = 50;
/** Maximum characters of a message that are searched. */
const MESSAGE_CHARACTERS_MAX = 16_384;

/**
 * Notifies the watchers of a repository of a push, in a thread of its last commit, and the users that a commit message
 * mentions, in a thread of that commit.
 */
export function createPushNotifications(db: Database): PushSubscriber {
  return {
    kind: "forge.notifications.push",
    commitsMax: COMMITS_MAX,
    select: (_tx, { changes }) =>
      changes
        .filter(({ ref, after }) => ref.startsWith("refs/heads/") && after !== undefined)
        .slice(0, BRANCHES_MAX),
    publish,
  };

  async function publish(
    { repositoryId, pusherId, pushedAt }: PublishedPush,
    _change: RefChange,
    pushed: PushCommits | undefined,
  ): Promise<void> {
    if (pushed?.head === undefined) return;
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
