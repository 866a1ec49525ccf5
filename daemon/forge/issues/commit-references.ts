import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../../storage/git/commits.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { hasCommitEvent, insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import { findAccess, isPublic, reaches } from "../repositories/access.ts";
import type { OwnedRepository, RefChange } from "../events.ts";
import { findOwned } from "../repositories/find-repository.ts";
import { keepsIssues, keepsPulls } from "../repositories/repository-settings.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { toUnit } from "./issue-access.ts";
import { changeStateByCommit } from "./close-by-reference.ts";
import { type CommitReference, findReferences } from "./commit-message.ts";
import type { Emit } from "../events.ts";
import type { PublishedPush, PushCommits, PushSubscriber } from "../push-subscriber.ts";

/** Maximum number of branches of one push, and of new commits of a branch, whose messages are read. */
const BRANCHES_MAX = 100;
const COMMITS_MAX = 500;

export interface CommitReferencesDeps {
  readonly db: Database;
  readonly emit: Emit;
  readonly urls: ForgeUrls;
}

/**
 * Records pushed commits in the timelines of the issues that their messages name, and closes or reopens those that a
 * message says so of, when the commit reaches the default branch (of an issue with a branch of its own: that branch).
 * Users who may push may close issues of the repository; those of others need write access there.
 */
export function createCommitReferences({ db, emit, urls }: CommitReferencesDeps): PushSubscriber {
  return {
    kind: "forge.issues.push",
    commitsMax: COMMITS_MAX,
    select(_tx, { pusher, changes }) {
      if (!mayReference(pusher)) return [];
      return changes
        .filter(({ ref, after }) => ref.startsWith(HEADS) && after !== undefined)
        .slice(0, BRANCHES_MAX);
    },
    publish,
  };

  async function publish(
    push: PublishedPush,
    change: RefChange,
    pushed: PushCommits | undefined,
  ): Promise<void> {
    const repository = await findRepositoryById(db, push.repositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    const pusher = await findUserById(db, push.pusherId);
    if (repository === undefined || owner === undefined || pusher === undefined) return;
    const source = { repository, owner };
    for (const commit of pushed?.commits.toReversed() ?? [])
      for (const reference of findReferences(commit.message, urls.publicUrl()))
        await follow(reference, { source, pusher, commit, branch: change.ref.slice(HEADS.length) });
  }

  async function follow(
    { owner, repo, number, isPullOnly, action }: CommitReference,
    push: PushedCommit,
  ): Promise<void> {
    const { source, pusher } = push;
    const named =
      owner === undefined || repo === undefined ? source : await findOwned(db, { owner, repo });
    if (named === undefined) return;
    const isOwn = named.repository.id === source.repository.id;
    await db.transaction(async (tx) => {
      const repository = await findRepositoryById(tx, named.repository.id);
      const issue = repository && (await findIssue(tx, repository.id, number));
      if (repository === undefined || issue === undefined) return;
      if (isPullOnly && !issue.isPull) return;
      const target = { repository, owner: named.owner };
      const keeps = issue.isPull ? keepsPulls : keepsIssues;
      if (!keeps(repository.settings) || repository.archivedAt !== undefined) return;
      const access = await findAccess(tx, target, pusher, toUnit(issue));
      const mayPush = isOwn && reaches(await findAccess(tx, source, pusher), "write");
      if (!reaches(access, "read") && !mayPush) return;
      await addReference(tx, issue, push, isOwn);
      const branch = issue.ref === "" ? source.repository.defaultBranch : withoutHeads(issue.ref);
      // A pull request is closed by its branches.
      if (action === undefined || push.branch !== branch || issue.isPull) return;
      if (mayPush || reaches(access, "write"))
        await changeStateByCommit(
          tx,
          emit,
          { target, issue, actor: pusher, commitId: push.commit.id },
          action,
        );
    });
  }
}

interface PushedCommit {
  readonly source: OwnedRepository;
  readonly pusher: ForgeUser;
  readonly commit: CommitWithFiles;
  /** The branch that the commit was pushed to. */
  readonly branch: string;
}

const HEADS = "refs/heads/";
const withoutHeads = (ref: string) => ref.replace(/^refs\/heads\//, "");

/** A job needs the permission that its token would need; the holder of a deploy key may push and no more. */
function mayReference(pusher: ActingUser): boolean {
  if (pusher.task !== undefined) return pusher.task.permissions["issues"] === "write";
  return pusher.deployKey === undefined;
}

/** Records a commit in the timeline of an issue, once. The title of a private repository's commit stays there. */
async function addReference(
  tx: Transaction,
  issue: ForgeIssue,
  { source, pusher, commit }: PushedCommit,
  isOwn: boolean,
): Promise<void> {
  if (await hasCommitEvent(tx, issue.id, "commit_ref", commit.id)) return;
  const [title = ""] = commit.message.trim().split("\n", 1);
  const text =
    isOwn || isPublic(source) ? title.slice(0, TITLE_CHARACTERS_MAX) : commit.id.slice(0, 10);
  const path = `/${source.owner.name}/${source.repository.name}/commit/${commit.id}`;
  const details = { commitId: commit.id, commitLink: `<a href="${path}">${escapeHtml(text)}</a>` };
  await insertEvents(tx, issue.id, pusher.id, [{ kind: "commit_ref", details }]);
}

const TITLE_CHARACTERS_MAX = 255;

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&#34;")
    .replaceAll("'", "&#39;");
}
