import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { listComments } from "../../../storage/tables/forge/issues/comments.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Emit, OwnedRepository } from "../events.ts";
import { changeStateByCommit, mayChangeState } from "../issues/close-by-reference.ts";
import { type CommitReference, findReferences } from "../issues/commit-message.ts";
import { findOwned } from "../repositories/find-repository.ts";
import { keepsIssues } from "../repositories/repository-settings.view.ts";

/** Comments of a pull request whose words act, the oldest ones, and the bytes of their texts. */
const COMMENTS_MAX = { count: 500, bytes: 1024 * 1024 } as const;
/** Issues that one merge closes or reopens. */
const CHANGED_MAX = 100;

/** An issue that words of a pull request close or reopen at its merge. */
interface ClosedIssue {
  readonly target: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly action: "close" | "reopen";
}

/**
 * Finds the issues that the title, the description and the comments of a pull request close or reopen. In its own repository
 * the merger's right decides about title and description, and the right of its author about a comment; in another one the
 * author of the text needs write access, or has opened the issue.
 */
export async function findClosedIssues(
  db: Queries,
  {
    place,
    issue,
    merger,
    publicUrl,
  }: {
    readonly place: OwnedRepository;
    readonly issue: ForgeIssue;
    readonly merger: ForgeUser;
    readonly publicUrl: string;
  },
): Promise<readonly ClosedIssue[]> {
  const { comments } = await listComments(db, { issueId: issue.id }, COMMENTS_MAX);
  const texts = [
    { text: `${issue.title}\n\n${issue.body}`, authorId: issue.authorId, isComment: false },
    ...comments.map(({ body, authorId }) => ({ text: body, authorId, isComment: true })),
  ];
  const found = new Map<IssueId, ClosedIssue>();
  for (const { text, authorId, isComment } of texts)
    for (const reference of findReferences(text, publicUrl)) {
      const named = await findNamed(db, place, reference);
      const { action } = reference;
      if (named === undefined || action === undefined || named.issue.id === issue.id) continue;
      const isOwn = named.target.repository.id === place.repository.id;
      const decider = isOwn && !isComment ? merger.id : authorId;
      if (found.size === CHANGED_MAX || !(await mayChangeState(db, named, decider))) continue;
      found.set(named.issue.id, { ...named, action });
    }
  return [...found.values()];
}

/** Closes and reopens what the words of a merged pull request say. */
export async function followClosingWords(
  tx: Transaction,
  emit: Emit,
  merge: Parameters<typeof findClosedIssues>[1] & { readonly commitId: string },
): Promise<void> {
  for (const { action, ...named } of await findClosedIssues(tx, merge))
    await changeStateByCommit(
      tx,
      emit,
      { ...named, actor: merge.merger, commitId: merge.commitId },
      action,
    );
}

async function findNamed(
  db: Queries,
  place: OwnedRepository,
  { owner, repo, number, isPullOnly, action }: CommitReference,
): Promise<Omit<ClosedIssue, "action"> | undefined> {
  if (action === undefined || isPullOnly) return undefined;
  const named =
    owner === undefined || repo === undefined ? place : await findOwned(db, { owner, repo });
  const repository = named && (await findRepositoryById(db, named.repository.id));
  if (named === undefined || repository === undefined) return undefined;
  if (!keepsIssues(repository.settings) || repository.archivedAt !== undefined) return undefined;
  const issue = await findIssue(db, repository.id, number);
  // The state of a pull request follows its branches.
  if (issue === undefined || issue.isPull) return undefined;
  return { target: { repository, owner: named.owner }, issue };
}
