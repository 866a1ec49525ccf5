import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { CommentId } from "../../../storage/tables/forge/ids.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import {
  insertReference,
  type ReferenceAction,
} from "../../../storage/tables/forge/issues/timeline.ts";
import { listReviewLines } from "../../../storage/tables/forge/pulls/review-lines.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { OwnedRepository, Subscribers } from "../events.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { findOwned } from "../repositories/find-repository.ts";
import { keepsIssues, keepsPulls } from "../repositories/repository-settings.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { mayChangeState } from "./close-by-reference.ts";
import { type CommitReference, findReferences } from "./commit-message.ts";
import { toUnit } from "./issue-access.ts";

/** A text of an issue or a pull request. */
interface Source {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  /** Undefined for title and description. */
  readonly commentId?: CommentId | undefined;
  readonly author: ForgeUser;
  readonly text: string;
}

/** Records issues, pull requests and comments in the timelines of those that they name, if their authors may read these. */
export function createReferenceSubscribers({ urls }: { readonly urls: ForgeUrls }): Subscribers {
  return {
    async issue(tx, { action, owned, issue, actor: author }) {
      if (action !== "opened" && action !== "edited") return;
      await follow(tx, { owned, issue, author, text: `${issue.title}\n\n${issue.body}` });
    },
    async comment(tx, { action, owned, issue, comment, actor: author }) {
      if (action === "deleted") return;
      await follow(tx, { owned, issue, commentId: comment.id, author, text: comment.body });
    },
    async review(tx, { owned, issue, review, reply, actor: author }) {
      const lines = reply === undefined ? await listReviewLines(tx, review.id) : [reply];
      const texts = [
        ...(reply === undefined ? [{ commentId: review.commentId, text: review.body }] : []),
        ...lines.map(({ commentId, body }) => ({ commentId, text: body })),
      ];
      for (const { commentId, text } of texts)
        await follow(tx, { owned, issue, commentId, author, text });
    },
  };

  async function follow(tx: Transaction, source: Source): Promise<void> {
    for (const reference of findReferences(source.text, urls.publicUrl()))
      await record(tx, source, reference);
  }
}

async function record(tx: Transaction, source: Source, reference: CommitReference): Promise<void> {
  const { owned, author, commentId } = source;
  const { owner, repo, number, isPullOnly } = reference;
  const named =
    owner === undefined || repo === undefined ? owned : await findOwned(tx, { owner, repo });
  const repository = named && (await findRepositoryById(tx, named.repository.id));
  const issue = repository && (await findIssue(tx, repository.id, number));
  if (named === undefined || repository === undefined || issue === undefined) return;
  if (issue.id === source.issue.id || (isPullOnly && !issue.isPull)) return;
  const keeps = issue.isPull ? keepsPulls : keepsIssues;
  if (!keeps(repository.settings) || repository.archivedAt !== undefined) return;
  const target = { repository, owner: named.owner };
  if (!reaches(await findAccess(tx, target, author, toUnit(issue)), "read")) return;
  await insertReference(tx, {
    issueId: issue.id,
    authorId: author.id,
    kind: commentId !== undefined ? "comment_ref" : source.issue.isPull ? "pull_ref" : "issue_ref",
    refIssueId: source.issue.id,
    refCommentId: commentId,
    action: await toAction(tx, source, { target, issue, action: reference.action }),
  });
}

/**
 * Returns what a merge of the pull request will do to the issue that it names. In the repository of the pull request, the
 * right of the merger decides about title and description.
 */
async function toAction(
  tx: Transaction,
  { owned, issue: from, author, commentId }: Source,
  {
    action,
    ...named
  }: {
    readonly target: OwnedRepository;
    readonly issue: ForgeIssue;
    readonly action: CommitReference["action"];
  },
): Promise<ReferenceAction> {
  if (action === undefined || !from.isPull || named.issue.isPull) return "none";
  const isDecidedAtMerge =
    commentId === undefined && named.target.repository.id === owned.repository.id;
  if (!isDecidedAtMerge && !(await mayChangeState(tx, named, author.id))) return "none";
  return action === "close" ? "closes" : "reopens";
}
