import type { Database } from "../../../storage/engine/database.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import { isBranchOrTag } from "../git/push-notice.ts";
import type { OwnedRepository, RefChange } from "../events.ts";
import type { ForgeUrls } from "../urls.ts";
import type { HookPublisher } from "./publisher.ts";
import { toPushPayload, toRefPayload } from "./payloads.view.ts";
import { toPushedCommits } from "./pushed-commits.ts";
import type { PublishedPush, PushCommits, PushSubscriber } from "../push-subscriber.ts";

export interface PushHooksDeps {
  readonly db: Database;
  readonly publisher: HookPublisher;
  readonly urls: ForgeUrls;
  readonly readPush: ReadPush;
}

/**
 * Returns the payload of a test delivery: a push of only the newest commit of a ref; undefined when the ref has no
 * commit.
 */
export type DescribeHead = (
  owned: OwnedRepository,
  ref: string,
  sender: ForgeUser,
) => Promise<object | undefined>;

/** Maximum number of commits in a payload; `total_commits` counts all. */
const COMMITS_MAX = 20;
/** Maximum number of refs of one push that are published to hooks. */
const REFS_MAX = 500;

/** Publishes pushes to hooks. */
export function createPushHooks({ db, publisher, urls, readPush }: PushHooksDeps) {
  const describeHead: DescribeHead = async (owned, ref, sender) => {
    const created = { ref, before: undefined, after: ref };
    const read = await readPush(owned.repository, created, COMMITS_MAX);
    const found = read && (await toPushedCommits(db, read, sender));
    const head = found?.head;
    if (found === undefined || head === undefined) return undefined;
    const change = { ref, before: head.id, after: head.id };
    return toPushPayload(db, owned, change, { ...found, commits: [head], total: 1 }, sender, urls);
  };

  return {
    describeHead,

    pushSubscriber: {
      kind: "forge.hooks.push",
      effect: { text: "Webhooks are called for", refsMax: REFS_MAX },
      commitsMax: COMMITS_MAX,
      async select(tx, { repository, changes }) {
        const events = ["push", "create", "delete"] as const;
        if (!(await publisher.hasSubscribers(tx, repository.id, events))) return [];
        return changes.filter(({ ref }) => isBranchOrTag(ref)).slice(0, REFS_MAX);
      },
      publish,
    } satisfies PushSubscriber as PushSubscriber,
  };

  async function publish(
    { repositoryId, pusherId }: PublishedPush,
    change: RefChange,
    read: PushCommits | undefined,
  ): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    if (repository === undefined) return;
    const isDeleted = change.after === undefined;
    const viewer = await findUserById(db, pusherId);
    if (!isDeleted && read === undefined) return;
    const pushed = read && (await toPushedCommits(db, read, viewer));
    const { ref } = change;
    const passes = await publisher.matchFilters(db, repository, ref);
    await db.transaction(async (tx) => {
      const current = await findRepositoryById(tx, repositoryId);
      const owner = current && (await findUserById(tx, current.ownerId));
      const pusher = await findUserById(tx, pusherId);
      if (current === undefined || owner === undefined || pusher === undefined) return;
      const owned = { repository: current, owner };
      if (pushed !== undefined) {
        const payload = await toPushPayload(tx, owned, change, pushed, pusher, urls);
        const isWithoutCommits = pushed.commits.length === 0;
        await publisher.publish(tx, {
          event: "push",
          repositoryId,
          ref,
          passes,
          isWithoutCommits,
          payload,
        });
      }
      if (change.before === undefined || isDeleted) {
        const payload = await toRefPayload(tx, owned, change, pusher, urls);
        const event = isDeleted ? "delete" : "create";
        await publisher.publish(tx, { event, repositoryId, ref, passes, payload });
      }
    });
  }
}
