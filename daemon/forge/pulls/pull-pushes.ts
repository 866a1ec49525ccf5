import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import {
  findIssueById,
  type ForgeIssue,
  updateIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import {
  insertEvents,
  hasPushEvent,
  type NewEvent,
} from "../../../storage/tables/forge/issues/timeline.ts";
import {
  findPullBetween,
  type ForgePull,
  listOpenPullsFrom,
  listOpenPullsInto,
  markHeadGone,
  moveBase,
  renamePullBranch,
  restoreHead,
  updatePull,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Emit, OwnedRepository, RefChange, Subscribers } from "../events.ts";
import type { PublishedPush, PushCommits, PushSubscriber } from "../push-subscriber.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { finishStopwatch } from "../issues/tracked-times.service.ts";
import type { PullState } from "./pull-state.ts";

const HEADS = "refs/heads/";
/** Branches of one push whose new commits appear in the timelines of pull requests, and the commits of one of them. */
const BRANCHES_MAX = 50;
const COMMITS_MAX = 250;

export interface PullPushesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly emit: Emit;
  readonly state: Pick<PullState, "computeSoon">;
}

/** Follows the branches of pull requests: in the transaction of a push their commits, by its job their timelines. */
export function createPullPushes({ db, git, runInFolder, emit, state }: PullPushesDeps): {
  readonly subscribers: Subscribers;
  readonly pushSubscriber: PushSubscriber;
} {
  return {
    subscribers: {
      async push(tx, { repository, owner, pusher, changes }) {
        const place = { repository, owner };
        for (const { from, to } of findRenames(changes))
          await renamePullBranch(tx, repository.id, { from, to });
        for (const { ref, before, after } of changes) {
          if (!ref.startsWith(HEADS) || before === after) continue;
          const branch = ref.slice(HEADS.length);
          if (after === undefined) {
            await closeHead(tx, repository, branch, pusher);
            await markHeadGone(tx, repository.id, branch);
            await leaveBase(tx, place, branch, pusher);
          } else {
            if (before === undefined) await restoreHead(tx, repository.id, branch);
            await moveHead(tx, repository, branch, after);
            if ((await moveBase(tx, repository.id, { branch, commit: after })) > 0)
              await state.computeSoon(tx, repository);
          }
        }
      },
      "repository.deleted": (tx, { repository, actor }) => closeFrom(tx, repository, actor),
      "repository.purged": (tx, { repository, owner }) => closeFrom(tx, repository, owner),
    },

    pushSubscriber: {
      kind: "forge.pulls.push",
      commitsMax: COMMITS_MAX,
      async select(tx, { repository, changes }) {
        const selected: RefChange[] = [];
        for (const change of changes) {
          if (selected.length === BRANCHES_MAX) break;
          if (!change.ref.startsWith(HEADS) || change.after === undefined) continue;
          const branch = change.ref.slice(HEADS.length);
          if ((await listOpenPullsFrom(tx, repository.id, branch)).length > 0)
            selected.push(change);
        }
        return selected;
      },
      publish,
    },
  };

  /** Records a push to the head in the timelines of its pull requests, once. */
  async function publish(
    push: PublishedPush,
    { ref, before, after }: RefChange,
    pushed: PushCommits | undefined,
  ): Promise<void> {
    const head = await findRepositoryById(db, push.repositoryId);
    const pusher = await findUserById(db, push.pusherId);
    if (head === undefined || pusher === undefined || before === undefined || after === undefined)
      return;
    const isForcePush = !(await runInFolder(head, (directory) =>
      isAncestor(git, directory, before, after),
    ));
    const commitIds = (pushed?.commits ?? []).map(({ id }) => id).toReversed();
    const details = { oldRef: before, newRef: after, commitIds, isForcePush };
    await db.transaction(async (tx) => {
      for (const pull of await listOpenPullsFrom(tx, head.id, ref.slice(HEADS.length))) {
        const found = await findPlace(tx, pull);
        if (found === undefined) continue;
        if (await hasPushEvent(tx, pull.issueId, details)) continue;
        await insertEvents(tx, pull.issueId, pusher.id, [{ kind: "pull_push", details }]);
        const issue = (await updateIssue(tx, pull.issueId, {})) ?? found.issue;
        const change = { owned: found.place, issue, pull, actor: pusher };
        const { isByJob } = push;
        await emit(tx, "pull", { ...change, action: "synchronized", before, after, isByJob });
      }
    });
  }

  async function moveHead(
    tx: Transaction,
    repository: ForgeRepository,
    branch: string,
    headCommit: string,
  ): Promise<void> {
    for (const pull of await listOpenPullsFrom(tx, repository.id, branch)) {
      if (pull.headCommit === headCommit) continue;
      await updatePull(tx, pull.issueId, { headCommit, state: "checking" });
      const base =
        pull.repositoryId === repository.id
          ? repository
          : await findRepositoryById(tx, pull.repositoryId);
      if (base !== undefined) await state.computeSoon(tx, base);
    }
  }

  /** Closes the pull requests from a repository into others. */
  async function closeFrom(
    tx: Transaction,
    { id }: ForgeRepository,
    actor: ForgeUser,
  ): Promise<void> {
    for (const pull of await listOpenPullsFrom(tx, id))
      if (pull.repositoryId !== id) await close(tx, pull, actor, [{ kind: "close" }]);
  }

  /** Closes the pull requests whose head is a deleted branch. */
  async function closeHead(
    tx: Transaction,
    repository: ForgeRepository,
    branch: string,
    actor: ForgeUser,
  ): Promise<void> {
    const deleted: NewEvent = { kind: "delete_branch", details: { oldRef: branch } };
    for (const pull of await listOpenPullsFrom(tx, repository.id, branch))
      await close(tx, pull, actor, [deleted, { kind: "close" }]);
  }

  async function close(
    tx: Transaction,
    pull: ForgePull,
    actor: ForgeUser,
    events: readonly NewEvent[],
  ): Promise<void> {
    const found = await findPlace(tx, pull);
    if (found === undefined) return;
    await updatePull(tx, pull.issueId, { isHeadGone: true });
    const changes = { isClosed: true, closedAt: tx.now };
    const issue = (await updateIssue(tx, pull.issueId, changes)) ?? found.issue;
    await insertEvents(tx, pull.issueId, actor.id, events);
    await finishStopwatch(tx, actor.id, pull.issueId);
    await emit(tx, "issue", { owned: found.place, issue, actor, action: "closed" });
  }

  /** Moves the pull requests into a deleted branch to the default branch; closes those that cannot move. */
  async function leaveBase(
    tx: Transaction,
    place: OwnedRepository,
    branch: string,
    actor: ForgeUser,
  ): Promise<void> {
    const { defaultBranch } = place.repository;
    if (branch === defaultBranch) return;
    for (const pull of await listOpenPullsInto(tx, place.repository.id, branch)) {
      const isOwnHead =
        pull.headRepositoryId === pull.repositoryId && pull.headBranch === defaultBranch;
      const ends = { ...pull, baseBranch: defaultBranch };
      if (isOwnHead || (await findPullBetween(tx, ends, { isOpen: true })) !== undefined) {
        await close(tx, pull, actor, [{ kind: "close" }]);
        continue;
      }
      const moved = await updatePull(tx, pull.issueId, {
        baseBranch: defaultBranch,
        state: "checking",
      });
      const details = { oldRef: branch, newRef: defaultBranch };
      await insertEvents(tx, pull.issueId, actor.id, [{ kind: "change_target_branch", details }]);
      const issue = await updateIssue(tx, pull.issueId, {});
      if (moved === undefined || issue === undefined) continue;
      const change = { owned: place, issue, pull: moved, actor };
      const changes = { ref: { from: branch } };
      await emit(tx, "pull", { ...change, action: "retargeted", changes });
    }
  }
}

/** Returns the issue of a pull request with its repository. */
async function findPlace(
  tx: Transaction,
  pull: ForgePull,
): Promise<{ readonly issue: ForgeIssue; readonly place: OwnedRepository } | undefined> {
  const issue = await findIssueById(tx, pull.issueId);
  const repository = await findRepositoryById(tx, pull.repositoryId);
  const owner = repository && (await findUserById(tx, repository.ownerId));
  if (issue === undefined || repository === undefined || owner === undefined) return undefined;
  return { issue, place: { repository, owner } };
}

/** Returns the branches that one push renames: it deletes one and creates another one at the same commit. */
function findRenames(
  changes: readonly RefChange[],
): readonly { readonly from: string; readonly to: string }[] {
  const heads = changes.filter(({ ref }) => ref.startsWith(HEADS));
  const created = heads.filter(({ before }) => before === undefined);
  const deleted = heads.filter(({ after }) => after === undefined);
  const [one] = created;
  const [other] = deleted;
  if (created.length !== 1 || deleted.length !== 1 || one === undefined || other === undefined)
    return [];
  if (one.after !== other.before) return [];
  return [{ from: other.ref.slice(HEADS.length), to: one.ref.slice(HEADS.length) }];
}
