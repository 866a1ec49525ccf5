import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { inChunksOfIds } from "../../chunks.ts";
import { flag, id, initial, integer, json, oneOf, optional, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { IssueId, RepositoryId, UserId } from "../ids.ts";

/**
 * What git says of a merge: `checking` until it is computed for the current head and base; `failed` when git could not say,
 * as without the files.
 */
const pullStates = ["checking", "mergeable", "conflict", "failed"] as const;

const pulls = defineTable("forge_pulls", {
  issueId: id<IssueId>(),
  /** The repository of the base. */
  repositoryId: id<RepositoryId>(),
  baseBranch: text(),
  /** Undefined once the repository of the head is deleted. */
  headRepositoryId: optional(id<RepositoryId>()),
  /** Empty for one that was pushed without a branch. */
  headBranch: text(),
  /** The topic of one that was pushed without a branch. */
  agitTopic: optional(text()),
  /** Whether the branch of the head does not exist any more. */
  isHeadGone: initial(false, flag()),
  /** The commit that `refs/pull/N/head` names. */
  headCommit: text(),
  /** The head of the base branch; after a merge and after the deletion of the branch its last one. */
  baseCommit: text(),
  /** Empty while it is not computed, and for histories that have nothing in common. */
  mergeBase: initial("", text()),
  allowsMaintainerEdit: flag(),
  state: initial("checking", oneOf(pullStates)),
  /** In git's order; the first few. */
  conflictedPaths: initial([], json(z.array(z.string()))),
  additions: initial(0, integer()),
  deletions: initial(0, integer()),
  changedFiles: initial(0, integer()),
  /** How many commits lead to the head and not to the base. */
  commits: initial(0, integer()),
  mergedAt: optional(integer()),
  /** Undefined once the account is deleted. */
  mergedBy: optional(id<UserId>()),
  /** The commit of the base that has the head: that of a merge, the last one of a rebase. */
  mergeCommit: optional(text()),
  mergeStyle: optional(text()),
  /** The commit of the base before the merge; undefined for a merge by hand. */
  mergedOnto: optional(text()),
});
/** What a pull request has beside its issue. Times are epoch milliseconds. */
export type ForgePull = RecordOf<typeof pulls>;

/** How much a pull request changes. */
export type PullCounts = Pick<ForgePull, "additions" | "deletions" | "changedFiles" | "commits">;

export type NewPull = Pick<
  ForgePull,
  | "issueId"
  | "repositoryId"
  | "baseBranch"
  | "headRepositoryId"
  | "headBranch"
  | "headCommit"
  | "baseCommit"
  | "allowsMaintainerEdit"
> &
  Partial<Pick<ForgePull, "agitTopic">>;

/** The members of a pull request that can change. */
export type PullChanges = Partial<Omit<ForgePull, "issueId" | "repositoryId">>;

export function insertPull(tx: Transaction, pull: NewPull): Promise<ForgePull> {
  return pulls.insert(tx, pull);
}

/** Adds a pull request of another server. */
export function insertImportedPull(
  tx: Transaction,
  pull: NewPull &
    Pick<
      ForgePull,
      | "isHeadGone"
      | "state"
      | "mergeBase"
      | "mergedAt"
      | "mergedBy"
      | "mergeCommit"
      | keyof PullCounts
    >,
): Promise<ForgePull> {
  return pulls.insert(tx, pull);
}

export function findPull(db: Queries, issueId: IssueId): Promise<ForgePull | undefined> {
  return pulls.find(db, { issueId });
}

/** Returns the pull requests of issues by the id of the issue. */
export async function listPullsOf(
  db: Queries,
  issueIds: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, ForgePull>> {
  const found = await inChunksOfIds(issueIds, (issueId) => pulls.list(db, { issueId }));
  return new Map(found.map((pull) => [pull.issueId, pull]));
}

/** Writes the given members. Returns undefined when the pull request does not exist. */
export function updatePull(
  tx: Queries,
  issueId: IssueId,
  changes: PullChanges,
): Promise<ForgePull | undefined> {
  return pulls.change(tx, { issueId }, changes);
}

const IS_OPEN = sql`issue_id IN (SELECT i.id FROM forge_issues i WHERE i.is_closed = 0)`;

/** The branches of a pull request. */
export type PullEnds = Pick<
  ForgePull,
  "repositoryId" | "baseBranch" | "headRepositoryId" | "headBranch"
>;

/** Returns the newest pull request between two branches; with `isOpen` only an open one. */
export function findPullBetween(
  db: Queries,
  { repositoryId, baseBranch, headRepositoryId, headBranch }: PullEnds,
  { isOpen }: { readonly isOpen: boolean },
): Promise<ForgePull | undefined> {
  const open = isOpen ? IS_OPEN : sql`1 = 1`;
  return pulls.find(
    db,
    sql`repository_id = ${repositoryId} AND base_branch = ${baseBranch} AND head_branch = ${headBranch}
      AND head_repository_id = ${headRepositoryId ?? -1} AND agit_topic IS NULL AND ${open}`,
    "issue_id DESC",
  );
}

/** Returns whether a pull request of a person was merged in a repository. */
export function hasMergedPull(
  db: Queries,
  repositoryId: RepositoryId,
  authorId: UserId,
): Promise<boolean> {
  return pulls.exists(
    db,
    sql`repository_id = ${repositoryId} AND merged_at IS NOT NULL
      AND issue_id IN (SELECT i.id FROM forge_issues i WHERE i.author_id = ${authorId})`,
  );
}

/** Returns the open pull request of a topic that a person has pushed without a branch. */
export function findOpenPullOfTopic(
  db: Queries,
  {
    repositoryId,
    baseBranch,
    agitTopic,
    authorId,
  }: Pick<ForgePull, "repositoryId" | "baseBranch"> & {
    readonly agitTopic: string;
    readonly authorId: UserId;
  },
): Promise<ForgePull | undefined> {
  return pulls.find(
    db,
    sql`repository_id = ${repositoryId} AND base_branch = ${baseBranch} AND agit_topic = ${agitTopic}
      AND ${IS_OPEN} AND issue_id IN (SELECT a.id FROM forge_issues a WHERE a.author_id = ${authorId})`,
    "issue_id DESC",
  );
}

/** Returns the pull request that a commit of the base merged. */
export function findPullOfCommit(
  db: Queries,
  repositoryId: RepositoryId,
  mergeCommit: string,
): Promise<ForgePull | undefined> {
  return pulls.find(db, { repositoryId, mergeCommit }, "issue_id DESC");
}

/** Returns the open pull requests whose head is a branch; with the branch undefined, any branch of the repository. */
export function listOpenPullsFrom(
  db: Queries,
  headRepositoryId: RepositoryId,
  headBranch?: string,
): Promise<ForgePull[]> {
  const branch = headBranch === undefined ? sql`1 = 1` : sql`head_branch = ${headBranch}`;
  const where = sql`head_repository_id = ${headRepositoryId} AND agit_topic IS NULL AND ${branch} AND ${IS_OPEN}`;
  return pulls.list(db, where, { order: "issue_id" });
}

/** Open pull requests from the branches of one fork: more than any has. */
const EDITABLE_MAX = 50;

/**
 * Returns the open pull requests from another repository whose authors let those edit the head who may write to the base, if
 * the authors have the right themselves; with the branch undefined, from any branch.
 */
export function listPullsWithEditableHeads(
  db: Queries,
  headRepositoryId: RepositoryId,
  headBranch?: string,
): Promise<ForgePull[]> {
  const branch = headBranch === undefined ? sql`1 = 1` : sql`head_branch = ${headBranch}`;
  return pulls.list(
    db,
    sql`head_repository_id = ${headRepositoryId} AND repository_id <> head_repository_id
      AND agit_topic IS NULL AND allows_maintainer_edit = 1 AND is_head_gone = 0 AND ${branch} AND ${IS_OPEN}`,
    { order: "issue_id", limit: EDITABLE_MAX },
  );
}

/** Returns the open pull requests into a branch. */
export function listOpenPullsInto(
  db: Queries,
  repositoryId: RepositoryId,
  baseBranch: string,
): Promise<ForgePull[]> {
  const where = sql`repository_id = ${repositoryId} AND base_branch = ${baseBranch} AND ${IS_OPEN}`;
  return pulls.list(db, where, { order: "issue_id" });
}

/** Records the new head of a base branch in its open pull requests, which are computed again. Returns their count. */
export function moveBase(
  tx: Transaction,
  repositoryId: RepositoryId,
  { branch, commit }: { readonly branch: string; readonly commit: string },
): Promise<number> {
  const where = sql`repository_id = ${repositoryId} AND base_branch = ${branch} AND ${IS_OPEN}`;
  return pulls.update(tx, where, { baseCommit: commit, state: "checking" });
}

/** Renames a branch of a repository in all of its pull requests that are not merged, on both sides. */
export async function renamePullBranch(
  tx: Transaction,
  repositoryId: RepositoryId,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const notMerged = sql`merged_at IS NULL`;
  await pulls.update(
    tx,
    sql`repository_id = ${repositoryId} AND base_branch = ${from} AND ${notMerged}`,
    { baseBranch: to },
  );
  await pulls.update(
    tx,
    sql`head_repository_id = ${repositoryId} AND head_branch = ${from} AND ${notMerged}`,
    { headBranch: to },
  );
}

/** Records that a branch is gone, for all pull requests from it: also closed and merged ones name it. */
export async function markHeadGone(
  tx: Transaction,
  headRepositoryId: RepositoryId,
  headBranch: string,
): Promise<void> {
  const where = { headRepositoryId, headBranch, agitTopic: undefined };
  await pulls.update(tx, where, { isHeadGone: true });
}

/** Records that a branch is there again, for pull requests that its deletion closed. */
export async function restoreHead(
  tx: Transaction,
  headRepositoryId: RepositoryId,
  headBranch: string,
): Promise<void> {
  await pulls.update(tx, { headRepositoryId, headBranch, isHeadGone: true }, { isHeadGone: false });
}

/** Returns the open pull requests of a repository that are to be computed, the oldest first. */
export function listCheckingPulls(
  db: Queries,
  repositoryId: RepositoryId,
  limit: number,
): Promise<ForgePull[]> {
  const where = sql`repository_id = ${repositoryId} AND state = 'checking' AND ${IS_OPEN}`;
  return pulls.list(db, where, { order: "issue_id", limit });
}

/**
 * Moves head and base of a pull request unless a push has moved them since. Returns undefined then: another computation
 * follows that push.
 */
export function movePull(
  db: Queries,
  { issueId, headCommit, baseCommit }: ForgePull,
  commits: Pick<ForgePull, "headCommit" | "baseCommit">,
): Promise<ForgePull | undefined> {
  return pulls.change(db, { issueId, headCommit, baseCommit }, commits);
}

/** What git computes of a head and a base. */
export type ComputedPull = Pick<
  ForgePull,
  "state" | "mergeBase" | "conflictedPaths" | "additions" | "deletions" | "changedFiles" | "commits"
>;

/** Writes a result unless head or base have moved since. Returns whether it was written. */
export async function saveComputedPull(
  db: Queries,
  { issueId, headCommit, baseCommit }: ForgePull,
  computed: ComputedPull,
): Promise<boolean> {
  const same = { issueId, headCommit, baseCommit, state: "checking" as const };
  return (await pulls.update(db, same, computed)) > 0;
}
