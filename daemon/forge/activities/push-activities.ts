import type { Database } from "../../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../../storage/git/commits.ts";
import {
  type NewActivity,
  setPushContent,
} from "../../../storage/tables/forge/activities/activities.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { isBranchOrTag } from "../git/push-notice.ts";
import type { OwnedRepository, RefChange, Subscribers } from "../events.ts";
import type { RecordActivities } from "./recorder.ts";
import type { PublishedPush, PushCommits, PushSubscriber } from "../push-subscriber.ts";

/** Maximum number of refs of one push that become activities: a push of a mirror may move any number. */
const REFS_MAX = 50;
/** Maximum number of commits of one activity, Gitea's default. */
const COMMITS_MAX = 5;
/** Maximum characters of a message, because activities are stored in rows. */
const MESSAGE_CHARACTERS_MAX = 4_096;

export interface PushActivitiesDeps {
  readonly db: Database;
  readonly record: RecordActivities;
}

/**
 * Records pushes. The activities are written in the transaction that deletes the push from the journal, so each push is
 * recorded exactly once. A job adds the commits, because git must not run within a transaction.
 */
export function createPushActivities({ db, record }: PushActivitiesDeps) {
  return {
    async push(tx, { repository, owner, pusher, changes }) {
      const recorded = toRecorded(changes).map(toActivity);
      await record(tx, { repository, owner, actor: pusher }, recorded);
    },

    pushSubscriber: {
      kind: "forge.activities.push",
      effect: { text: "Activities show", refsMax: REFS_MAX },
      commitsMax: COMMITS_MAX,
      select: (_tx, { changes }) => toRecorded(changes).filter(({ after }) => after !== undefined),
      publish,
    },
  } satisfies Pick<Subscribers, "push"> & { readonly pushSubscriber: PushSubscriber };

  async function publish(
    { repositoryId, pusherId, pushedAt }: PublishedPush,
    change: RefChange,
    pushed: PushCommits | undefined,
  ): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined || pushed === undefined) return;
    const { ref, after: objectId = "" } = change;
    const push = { repositoryId, actorId: pusherId, ref, objectId, createdAt: pushedAt };
    await setPushContent(db, push, toPushContent({ repository, owner }, change, pushed));
  }
}

const toRecorded = (changes: readonly RefChange[]) =>
  changes.filter(({ ref }) => isBranchOrTag(ref)).slice(0, REFS_MAX);

function toActivity({ ref, after }: RefChange): Omit<NewActivity, "actorId" | "repositoryId"> {
  const isTag = ref.startsWith("refs/tags/");
  if (after === undefined) return { kind: isTag ? "delete_tag" : "delete_branch", ref };
  return { kind: isTag ? "push_tag" : "commit_repo", ref, objectId: after };
}

/** Returns the commits of a push in Gitea's form. */
function toPushContent(
  { repository, owner }: OwnedRepository,
  change: RefChange,
  { commits, total, head }: PushCommits,
): string {
  const range = toRange(repository, change, commits);
  const home = `${encodeURIComponent(owner.name)}/${encodeURIComponent(repository.name)}`;
  return JSON.stringify({
    Commits: commits.map(toCommit),
    HeadCommit: head === undefined ? null : toCommit(head),
    CompareURL: range === undefined ? "" : `${home}/compare/${range}`,
    Len: total,
  });
}

/** A new branch is compared with the default branch. The default branch itself and tags have no base. */
function toRange(
  { defaultBranch }: ForgeRepository,
  { ref, before, after }: RefChange,
  commits: readonly CommitWithFiles[],
): string | undefined {
  if (!ref.startsWith("refs/heads/")) return undefined;
  if (before !== undefined) return `${before}...${after}`;
  if (ref === `refs/heads/${defaultBranch}` || commits.length === 0) return undefined;
  return `${defaultBranch.split("/").map(encodeURIComponent).join("/")}...${after}`;
}

function toCommit({ id, message, author, committer }: CommitWithFiles) {
  return {
    Sha1: id,
    Message: message.slice(0, MESSAGE_CHARACTERS_MAX),
    AuthorEmail: author.email,
    AuthorName: author.name,
    CommitterEmail: committer.email,
    CommitterName: committer.name,
    Timestamp: author.at,
  };
}
