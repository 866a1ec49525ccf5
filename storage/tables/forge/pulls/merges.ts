import type { Queries, Transaction } from "../../../engine/database.ts";
import { flag, id, now, oneOf, optional, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";
import type { IssueId, PushId, RepositoryId, UserId } from "../ids.ts";

/** How a pull request gets into its base. */
const mergeStyles = [
  "merge",
  "rebase",
  "rebase-merge",
  "squash",
  "fast-forward-only",
  "manually-merged",
] as const;
export type MergeStyle = (typeof mergeStyles)[number];

const merges = defineTable("forge_pull_merges", {
  /** The journal's entry of the push that moves the base; the row goes with it. */
  pushId: id<PushId>(),
  issueId: id<IssueId>(),
  style: oneOf(mergeStyles),
  mergeCommit: text(),
  /** The commit of the base before it. */
  mergedOnto: optional(text()),
});
/** A merge that git has not made yet, or that is not recorded yet. */
export type PullMerge = RecordOf<typeof merges>;

export async function insertPullMerge(tx: Transaction, merge: PullMerge): Promise<void> {
  await merges.insert(tx, merge);
}

/** Returns the merge that a push makes. */
export function findPullMerge(db: Queries, pushId: PushId): Promise<PullMerge | undefined> {
  return merges.find(db, { pushId });
}

/** Returns the merges of a pull request that are not recorded, the oldest first. */
export function listPullMerges(db: Queries, issueId: IssueId): Promise<PullMerge[]> {
  return merges.list(db, { issueId }, { order: "push_id" });
}

const autoMerges = defineTable("forge_auto_merges", {
  issueId: id<IssueId>(),
  /** The person who merges. */
  userId: id<UserId>(),
  style: oneOf(mergeStyles),
  title: text(),
  message: text(),
  /** Undefined for what the repository does by default. */
  deletesBranch: optional(flag()),
  createdAt: now(),
});
/** A merge that happens as soon as nothing is missing. */
export type AutoMerge = RecordOf<typeof autoMerges>;

/** Throws `conflict` when the pull request has one. */
export async function insertAutoMerge(
  tx: Transaction,
  merge: Omit<AutoMerge, "createdAt">,
): Promise<void> {
  await autoMerges.insert(tx, merge);
}

export function findAutoMerge(db: Queries, issueId: IssueId): Promise<AutoMerge | undefined> {
  return autoMerges.find(db, { issueId });
}

/** Deletes a scheduled merge and returns whether there was one. */
export async function deleteAutoMerge(db: Queries, issueId: IssueId): Promise<boolean> {
  return (await autoMerges.delete(db, { issueId })) > 0;
}

/** Returns the scheduled merges of pull requests into a repository that have this head. */
export function listAutoMergesOfHead(
  db: Queries,
  {
    repositoryId,
    headCommit,
  }: { readonly repositoryId: RepositoryId; readonly headCommit: string },
): Promise<AutoMerge[]> {
  return autoMerges.list(
    db,
    sql`issue_id IN (SELECT p.issue_id FROM forge_pulls p
        WHERE p.repository_id = ${repositoryId} AND p.head_commit = ${headCommit})`,
  );
}

/** Returns the scheduled merges of pull requests into a repository. */
export function listAutoMergesInto(db: Queries, repositoryId: RepositoryId): Promise<AutoMerge[]> {
  return autoMerges.list(
    db,
    sql`issue_id IN (SELECT p.issue_id FROM forge_pulls p WHERE p.repository_id = ${repositoryId})`,
  );
}

/** Returns the scheduled merges of pull requests that depend on an issue. */
export function listAutoMergesBlockedBy(db: Queries, issueId: IssueId): Promise<AutoMerge[]> {
  return autoMerges.list(
    db,
    sql`issue_id IN (SELECT d.issue_id FROM forge_issue_dependencies d WHERE d.blocker_id = ${issueId})`,
  );
}
