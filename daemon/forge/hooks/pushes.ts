import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { CommitFacts } from "../../../storage/git/commits.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import { createPushJob, type PublishedPush } from "../git/push-jobs.ts";
import type { OwnedRepository, RefChange } from "../repositories/events.ts";
import type { ForgeUrls } from "../urls.ts";
import type { HookPublisher } from "./publisher.ts";
import { type PushedCommits, toPushPayload, toRefPayload } from "./payloads.view.ts";

export interface PushHooksDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly publisher: HookPublisher;
  readonly urls: ForgeUrls;
  readonly readPush: ReadPush;
}

/**
 * Returns the payload of a push that brings only the newest commit of a ref, for a test delivery; undefined when the
 * ref names no commit.
 */
export type DescribeHead = (
  what: OwnedRepository,
  ref: string,
  sender: ForgeUser,
) => Promise<object | undefined>;

/** Commits that a payload names; `total_commits` counts all. */
const COMMITS_MAX = 20;
/** Files that a payload names over all its commits, and characters of a message, because payloads are stored in rows. */
const FILES_MAX = 1_000;
const MESSAGE_CHARACTERS_MAX = 16_384;
/** Refs of one push that are published to hooks. */
const REFS_MAX = 500;

/** Publishes pushes to hooks. */
export function createPushHooks({ db, enqueue, publisher, urls, readPush }: PushHooksDeps) {
  const pushes = createPushJob({
    kind: "forge.hooks.push",
    enqueue,
    select: ({ ref }) => /^refs\/(?:heads|tags)\//.test(ref),
    refsMax: REFS_MAX,
    publish,
  });
  const describeHead: DescribeHead = async (what, ref, sender) => {
    const found = await read(what.repository, { ref, before: undefined, after: ref }, sender);
    const head = found?.head;
    if (found === undefined || head === undefined) return undefined;
    const change = { ref, before: head.id, after: head.id };
    return toPushPayload(db, what, change, { ...found, commits: [head], total: 1 }, sender, urls);
  };

  return {
    describeHead,

    job: pushes.job,

    /** Enqueues the deliveries of a push if a hook subscribes to them. */
    async enqueuePush(
      tx: Transaction,
      what: { readonly repository: ForgeRepository; readonly pusherId: number },
      changes: readonly RefChange[],
    ): Promise<void> {
      if (await publisher.hasSubscribers(tx, what.repository.id, ["push", "create", "delete"]))
        await pushes.enqueuePush(tx, what, changes);
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
    await db.transaction(async (tx) => {
      const today = await findRepositoryById(tx, repositoryId);
      const owner = today && (await findUserById(tx, today.ownerId));
      const pusher = await findUserById(tx, pusherId);
      if (today === undefined || owner === undefined || pusher === undefined) return;
      const what = { repository: today, owner };
      const { ref } = change;
      if (pushed !== undefined) {
        const payload = await toPushPayload(tx, what, change, pushed, pusher, urls);
        const isWithoutCommits = pushed.commits.length === 0;
        await publisher.publish(tx, {
          event: "push",
          repositoryId,
          ref,
          isWithoutCommits,
          payload,
        });
      }
      if (change.before === undefined || isDeleted) {
        const payload = await toRefPayload(tx, what, change, pusher, urls);
        const event = isDeleted ? "delete" : "create";
        await publisher.publish(tx, { event, repositoryId, ref, payload });
      }
    });
  }

  async function read(
    repository: ForgeRepository,
    change: RefChange,
    viewer: ForgeUser | undefined,
  ): Promise<PushedCommits | undefined> {
    const found = await readPush(repository, change, COMMITS_MAX);
    if (found === undefined) return undefined;
    const commits = withinBounds(found.commits);
    const head = found.head && withinBounds([found.head])[0];
    const usernames = await findUsernames(found.head ? [...commits, found.head] : commits, viewer);
    return { ...found, commits, head, usernames };
  }

  /** Anyone can make a commit with any address: the payload must not reveal that a hidden account has it. */
  async function findUsernames(
    commits: readonly CommitFacts[],
    viewer: ForgeUser | undefined,
  ): Promise<ReadonlyMap<string, string>> {
    const emails = new Set(
      commits.flatMap(({ author, committer }) =>
        [author, committer].map(({ email }) => email.toLowerCase()),
      ),
    );
    const names = new Map<string, string>();
    for (const email of emails) {
      const known = await findEmail(db, email);
      const user = known?.isVerified ? await findUserById(db, known.userId) : undefined;
      if (user !== undefined && isVisibleTo(user, viewer)) names.set(email, user.name);
    }
    return names;
  }
}

function withinBounds(commits: readonly CommitFacts[]): CommitFacts[] {
  let room = FILES_MAX;
  const take = (paths: readonly string[]) => {
    const taken = paths.slice(0, room);
    room -= taken.length;
    return taken;
  };
  return commits.map((commit) => ({
    ...commit,
    message: commit.message.slice(0, MESSAGE_CHARACTERS_MAX),
    added: take(commit.added),
    removed: take(commit.removed),
    modified: take(commit.modified),
  }));
}
