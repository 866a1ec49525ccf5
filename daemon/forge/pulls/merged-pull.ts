import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { findIssueById, updateIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import {
  deleteAutoMerge,
  findPullMerge,
  type MergeStyle,
} from "../../../storage/tables/forge/pulls/merges.ts";
import { findPull, updatePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import type { Emit, OwnedRepository, Subscribers } from "../events.ts";
import { finishStopwatch } from "../issues/tracked-times.service.ts";
import type { ForgeUrls } from "../urls.ts";
import { followClosingWords } from "./closing-words.ts";

/** A merge that git has made. */
export interface CompletedMerge {
  readonly place: OwnedRepository;
  readonly issueId: IssueId;
  readonly merger: ForgeUser;
  readonly style: MergeStyle;
  /** The commit of the base that has the head. */
  readonly commit: string;
  /** The commit of the base before the merge; undefined for a merge by hand. */
  readonly onto: string | undefined;
}

/** Marks a pull request as merged in a transaction, with all that follows from it. Has no effect on a merged one. */
export type MarkMerged = (tx: Transaction, merge: CompletedMerge) => Promise<void>;

export function createMarkMerged({
  emit,
  urls,
}: {
  readonly emit: Emit;
  readonly urls: ForgeUrls;
}): MarkMerged {
  return async (tx, { place, issueId, merger, style, commit, onto }) => {
    const pull = await findPull(tx, issueId);
    const before = await findIssueById(tx, issueId);
    if (pull === undefined || before === undefined || pull.mergedAt !== undefined) return;
    await updatePull(tx, issueId, {
      mergedAt: tx.now,
      mergedBy: merger.id,
      mergeCommit: commit,
      mergeStyle: style,
      mergedOnto: onto,
    });
    const closedAt = before.closedAt ?? tx.now;
    const issue = (await updateIssue(tx, issueId, { isClosed: true, closedAt })) ?? before;
    await deleteAutoMerge(tx, issueId);
    await insertEvents(tx, issueId, merger.id, [
      { kind: "merge_pull", details: { commitId: commit } },
    ]);
    await finishStopwatch(tx, merger.id, issueId);
    await emit(tx, "issue", { owned: place, issue, actor: merger, action: "closed" });
    const publicUrl = urls.publicUrl();
    await followClosingWords(tx, emit, { place, issue, merger, publicUrl, commitId: commit });
  };
}

/**
 * Marks the pull request of a push that is a merge, in the transaction that records the push: a crash before it leaves the
 * entry in the journal, whose recovery records both or neither.
 */
export const createMergeSubscribers = (markMerged: MarkMerged): Subscribers => ({
  async push(tx, { pushId, pusher, repository, owner }) {
    const merge = await findPullMerge(tx, pushId);
    if (merge === undefined) return;
    const { issueId, style, mergeCommit: commit, mergedOnto: onto } = merge;
    const place = { repository, owner };
    await markMerged(tx, { place, issueId, merger: pusher, style, commit, onto });
  },
});
