import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { OwnedRepository, RefChange } from "../repositories/events.ts";
import { findMentioned, tellPeople, TOLD_AT_ONCE } from "./telling.ts";

/** What git knows of a pushed change; undefined when the repository's files are gone. */
export type ReadPush = (
  repository: ForgeRepository,
  change: RefChange,
  commitsMax: number,
) => Promise<
  | {
      /** Newest first. */
      readonly commits: readonly { readonly id: string; readonly message: string }[];
      readonly head: { readonly id: string } | undefined;
    }
  | undefined
>;

interface PushJob {
  readonly repositoryId: number;
  readonly pusherId: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly changes: readonly {
    readonly ref: string;
    readonly before?: string;
    readonly after?: string;
  }[];
}

const KIND = "forge.notifications.push";
/** Branches of one push that people are told of. A push of a whole copy may move any number. */
const BRANCHES_MAX = 20;
/** Commits of a branch whose messages are looked at for mentions. */
const COMMITS_MAX = 50;
/** Characters of a message that are looked at. */
const MESSAGE_CHARACTERS_MAX = 16_384;

/**
 * Tells those who watch a repository of a push, in a thread of its last commit, and whom a commit message mentions, in a
 * thread of that commit. By a job: reading commits takes git and has no place in a transaction.
 */
export function createPushNews({
  db,
  enqueue,
  readPush,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly readPush: ReadPush;
}) {
  return {
    async enqueuePush(
      tx: Transaction,
      what: { readonly repository: ForgeRepository; readonly pusherId: number },
      changes: readonly RefChange[],
    ): Promise<void> {
      const told = changes
        .filter(({ ref, after }) => ref.startsWith("refs/heads/") && after !== undefined)
        .slice(0, BRANCHES_MAX);
      if (told.length === 0) return;
      const { repository, pusherId } = what;
      const payload = { repositoryId: repository.id, pusherId, at: tx.now, changes: told };
      await enqueue(tx, { kind: KIND, payload });
    },

    job: {
      kind: KIND,
      async run(payload) {
        const { repositoryId, pusherId, at, changes } = payload as PushJob;
        for (const { ref, before, after } of changes)
          await tell(repositoryId, { pusherId, at }, { ref, before, after });
      },
    } satisfies JobKind as JobKind,
  };

  async function tell(
    repositoryId: number,
    { pusherId, at }: { readonly pusherId: number; readonly at: number },
    change: RefChange,
  ): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    const pushed = repository && (await readPush(repository, change, COMMITS_MAX));
    if (repository === undefined || pushed?.head === undefined) return;
    const { head, commits } = pushed;
    const tellOf = (commitId: string, userIds: readonly number[]) =>
      tellInTurns(repositoryId, userIds, { kind: "commit", commitId, toldAt: at });
    const watchers = await listWatchers(db, repositoryId);
    await tellOf(
      head.id,
      watchers.filter((id) => id !== pusherId),
    );
    for (const { id, message } of commits) {
      const mentioned = await findMentioned(db, message.slice(0, MESSAGE_CHARACTERS_MAX));
      const userIds = mentioned.map((user) => user.id).filter((each) => each !== pusherId);
      if (userIds.length > 0) await tellOf(id, userIds);
    }
  }

  async function tellInTurns(
    repositoryId: number,
    userIds: readonly number[],
    news: { readonly kind: "commit"; readonly commitId: string; readonly toldAt: number },
  ): Promise<void> {
    for (let at = 0; at < userIds.length; at += TOLD_AT_ONCE)
      await db.transaction(async (tx) => {
        const what = await findOwned(tx, repositoryId);
        if (what !== undefined)
          await tellPeople(tx, userIds.slice(at, at + TOLD_AT_ONCE), { what, ...news });
      });
  }
}

/** A repository with its owner as of this moment; undefined when it is gone. */
export async function findOwned(
  tx: Transaction,
  repositoryId: number,
): Promise<OwnedRepository | undefined> {
  const repository = await findRepositoryById(tx, repositoryId);
  const owner = repository && (await findUserById(tx, repository.ownerId));
  return repository && owner && { repository, owner };
}
