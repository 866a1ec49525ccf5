import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import { createPushJob, type PublishedPush } from "../git/push-jobs.ts";
import { isBranchOrTag } from "../git/push-notice.ts";
import type { OwnedRepository, RefChange } from "../repositories/events.ts";
import type { ForgeUrls } from "../urls.ts";
import type { HookPublisher } from "./publisher.ts";
import { toPushPayload, toRefPayload } from "./payloads.view.ts";
import { toPushedCommits } from "./pushed-commits.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

export interface PushHooksDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
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
export const HOOK_REFS_MAX = 500;

/** Publishes pushes to hooks. */
export function createPushHooks({ db, enqueue, publisher, urls, readPush }: PushHooksDeps) {
  const pushes = createPushJob({
    kind: "forge.hooks.push",
    enqueue,
    select: ({ ref }) => isBranchOrTag(ref),
    refsMax: HOOK_REFS_MAX,
    publish,
  });
  const read = async (
    repository: ForgeRepository,
    change: RefChange,
    viewer: ForgeUser | undefined,
  ) => {
    const found = await readPush(repository, change, COMMITS_MAX);
    return found && toPushedCommits(db, found, viewer);
  };
  const describeHead: DescribeHead = async (owned, ref, sender) => {
    const found = await read(owned.repository, { ref, before: undefined, after: ref }, sender);
    const head = found?.head;
    if (found === undefined || head === undefined) return undefined;
    const change = { ref, before: head.id, after: head.id };
    return toPushPayload(db, owned, change, { ...found, commits: [head], total: 1 }, sender, urls);
  };

  return {
    describeHead,

    job: pushes.job,

    /** Enqueues the deliveries of a push if a hook subscribes to them. */
    async enqueuePush(
      tx: Transaction,
      owned: { readonly repository: ForgeRepository; readonly pusherId: UserId },
      changes: readonly RefChange[],
    ): Promise<void> {
      if (await publisher.hasSubscribers(tx, owned.repository.id, ["push", "create", "delete"]))
        await pushes.enqueuePush(tx, owned, changes);
    },
  };

  async function publish(
    { repositoryId, pusherId }: PublishedPush,
    change: RefChange,
  ): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    if (repository === undefined) return;
    const isDeleted = change.after === undefined;
    const viewer = await findUserById(db, pusherId);
    const pushed = isDeleted ? undefined : await read(repository, change, viewer);
    if (!isDeleted && pushed === undefined) return;
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
