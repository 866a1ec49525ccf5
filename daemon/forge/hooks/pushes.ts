import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { CommitFacts } from "../../../storage/git/commits.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { OwnedRepository, RefChange } from "../repositories/events.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Announcements } from "./announcements.ts";
import { type PushedCommits, toPushPayload, toRefPayload } from "./payloads.view.ts";

export interface PushSurroundings {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly announce: Announcements;
  readonly urls: ForgeUrls;
  /** The newest commits that a change brought, and how many; undefined when the repository's files are gone. */
  readonly readPush: (
    repository: ForgeRepository,
    change: RefChange,
    commitsMax: number,
  ) => Promise<Omit<PushedCommits, "usernames"> | undefined>;
}

/** What the job is told: a part of one push. */
interface PushJob {
  readonly repositoryId: number;
  readonly pusherId: number;
  readonly changes: readonly {
    readonly ref: string;
    readonly before?: string;
    readonly after?: string;
  }[];
}

/**
 * The payload of a push that brings a ref's newest commit and nothing else, for trying out a hook; undefined when there
 * is no such commit.
 */
export type DescribeHead = (
  what: OwnedRepository,
  ref: string,
  sender: ForgeUser,
) => Promise<object | undefined>;

const KIND = "forge.hooks.push";
/** Commits that a payload names; `total_commits` counts all. */
const COMMITS_MAX = 20;
/** Files that a payload names over all its commits, and characters of a message: payloads lie in rows. */
const FILES_MAX = 1_000;
const MESSAGE_CHARACTERS_MAX = 16_384;
/** Refs of one push that hooks are told of. A push of a whole copy may move any number. */
const REFS_MAX = 500;
/** A job's payload is bounded, and a ref may be 4 KiB long. */
const REFS_PER_JOB = 40;

/** Tells hooks of pushes: by a job, since reading commits takes git and has no place in a transaction. */
export function createPushAnnouncer({ db, enqueue, announce, urls, readPush }: PushSurroundings) {
  const describeHead: DescribeHead = async (what, ref, sender) => {
    const found = await read(what.repository, { ref, before: undefined, after: ref });
    const head = found?.head;
    if (found === undefined || head === undefined) return undefined;
    const change = { ref, before: head.id, after: head.id };
    return toPushPayload(db, what, change, { ...found, commits: [head], total: 1 }, sender, urls);
  };

  return {
    describeHead,

    /** Has hooks told of what a push moved, if anybody wants to know. */
    async enqueuePush(
      tx: Transaction,
      {
        repository,
        pusher,
        changes,
      }: OwnedRepository & { readonly pusher: ForgeUser; readonly changes: readonly RefChange[] },
    ): Promise<void> {
      if (!(await announce.isAwaited(tx, repository.id, ["push", "create", "delete"]))) return;
      const told = changes
        .filter(({ ref }) => /^refs\/(?:heads|tags)\//.test(ref))
        .slice(0, REFS_MAX);
      for (let at = 0; at < told.length; at += REFS_PER_JOB) {
        const payload = {
          repositoryId: repository.id,
          pusherId: pusher.id,
          changes: told.slice(at, at + REFS_PER_JOB),
        };
        await enqueue(tx, { kind: KIND, payload });
      }
    },

    job: {
      kind: KIND,
      async run(payload) {
        const { repositoryId, pusherId, changes } = payload as PushJob;
        for (const { ref, before, after } of changes)
          await tell(repositoryId, pusherId, { ref, before, after });
      },
    } satisfies JobKind as JobKind,
  };

  async function tell(repositoryId: number, pusherId: number, change: RefChange): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    // What is gone by now tells nothing.
    if (repository === undefined) return;
    const isDeleted = change.after === undefined;
    const pushed = isDeleted ? undefined : await read(repository, change);
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
        await announce.other(tx, { event: "push", repositoryId, ref, isWithoutCommits, payload });
      }
      if (change.before === undefined || isDeleted) {
        const payload = await toRefPayload(tx, what, change, pusher, urls);
        const event = isDeleted ? "delete" : "create";
        await announce.other(tx, { event, repositoryId, ref, payload });
      }
    });
  }

  async function read(
    repository: ForgeRepository,
    change: RefChange,
  ): Promise<PushedCommits | undefined> {
    const found = await readPush(repository, change, COMMITS_MAX);
    if (found === undefined) return undefined;
    const commits = withinBounds(found.commits);
    const head = found.head && withinBounds([found.head])[0];
    const usernames = await findUsernames(found.head ? [...commits, found.head] : commits);
    return { ...found, commits, head, usernames };
  }

  async function findUsernames(
    commits: readonly CommitFacts[],
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
      if (user !== undefined) names.set(email, user.name);
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
