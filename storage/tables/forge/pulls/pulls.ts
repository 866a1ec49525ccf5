import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
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
});
/** What a pull request has beside its issue. Times are epoch milliseconds. */
export type ForgePull = RecordOf<typeof pulls>;

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

export function findPull(db: Queries, issueId: IssueId): Promise<ForgePull | undefined> {
  return pulls.find(db, { issueId });
}

/** Returns the pull requests of issues by the id of the issue. */
export async function listPullsOf(
  db: Queries,
  issueIds: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, ForgePull>> {
  if (issueIds.length === 0) return new Map();
  const found = await pulls.list(db, { issueId: issueIds });
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

/** Returns the pull request that a commit of the base merged. */
export function findPullOfCommit(
  db: Queries,
  repositoryId: RepositoryId,
  mergeCommit: string,
): Promise<ForgePull | undefined> {
  return pulls.find(db, { repositoryId, mergeCommit }, "issue_id DESC");
}
