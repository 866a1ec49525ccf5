import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import type {
  IssueId,
  MilestoneId,
  RepositoryId,
  UserId,
} from "../../../storage/tables/forge/ids.ts";
import { hasOpenBlocker } from "../../../storage/tables/forge/issues/dependencies.ts";
import {
  type ForgeIssue,
  insertMentions,
  type IssueChanges as ChangedMembers,
  updateIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import { findMilestone } from "../../../storage/tables/forge/issues/milestones.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import {
  findPull,
  findPullBetween,
  type PullEnds,
  updatePull,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { Emit, IssueChange, OwnedRepository } from "../events.ts";
import { findMentioned } from "../notifications/notify.ts";
import type { OpenedRepository } from "../opened.ts";
import { hasDependencies } from "../repositories/repository-settings.view.ts";
import { findAssignees } from "./assignable-users.ts";
import { canWrite } from "./issue-access.ts";
import { type IssueChanges, toEditEvents } from "./issue-changes.ts";
import type { IssueEdit } from "./issue-requests.ts";
import { finishStopwatch } from "./tracked-times.service.ts";

/** An issue that the actor may edit, as it is before the edit. */
export interface EditedIssue {
  readonly opened: OpenedRepository;
  readonly before: ForgeIssue;
  readonly actor: ForgeUser;
}

export type IssueEdits = ReturnType<typeof createIssueEdits>;

/** Edits of issues and pull requests within a transaction. */
export function createIssueEdits({
  emit,
  changes,
}: {
  readonly emit: Emit;
  readonly changes: IssueChanges;
}) {
  return { apply };

  /**
   * Applies an edit, with its events, and returns the issue after it. Assignees, due date and milestone of an actor without
   * write access are ignored, as in the reference. Refuses with `conflict` when the text has another version.
   */
  async function apply(
    tx: Transaction,
    { opened, before, actor }: EditedIssue,
    requestedEdit: IssueEdit,
  ): Promise<ForgeIssue> {
    if (before.isPull && requestedEdit.isClosed !== undefined)
      await assertPullMay(tx, before, requestedEdit.isClosed);
    const writersOnly = { assignees: undefined, dueAt: undefined, milestoneId: undefined };
    const edits = canWrite(opened) ? requestedEdit : { ...requestedEdit, ...writersOnly };
    const assignees = edits.assignees && (await findAssignees(tx, opened, edits.assignees));
    const mentioned = await findMentionedIds(tx, edits.body ?? "");
    let issue = await updateIssue(tx, before.id, toChanges(edits, before, tx.now), edits.ifVersion);
    if (issue === undefined) throw new AppError("conflict", "the issue is already changed");
    if (issue.isClosed && !before.isClosed) await assertClosable(tx, opened, issue.id);
    await insertMentions(tx, issue.id, mentioned);
    await insertEvents(tx, issue.id, actor.id, toEditEvents(edits, before, issue));
    if (issue.isClosed && !before.isClosed) await finishStopwatch(tx, actor.id, issue.id);
    const change = { owned: opened, issue, actor };
    await publishEdits(tx, change, before);
    if (assignees !== undefined) await changes.assign(tx, change, assignees);
    if (edits.milestoneId !== undefined) {
      const milestoneId = edits.milestoneId ?? undefined;
      await assertMilestone(tx, opened.repository.id, milestoneId);
      issue = await changes.changeMilestone(tx, change, milestoneId);
    }
    if (issue.isClosed !== before.isClosed) {
      await emit(tx, "issue", { ...change, action: issue.isClosed ? "closed" : "reopened" });
    }
    return issue;
  }

  /** Publishes a new title and a new body as two events, the first with the former body, as Gitea does. */
  async function publishEdits(
    tx: Transaction,
    change: IssueChange,
    before: ForgeIssue,
  ): Promise<void> {
    const { issue } = change;
    if (issue.title !== before.title)
      await emit(tx, "issue", {
        action: "edited",
        ...change,
        issue: { ...issue, body: before.body },
        changes: { title: { from: before.title } },
      });
    if (issue.body !== before.body)
      await emit(tx, "issue", {
        action: "edited",
        ...change,
        changes: { body: { from: before.body } },
      });
  }
}

/** Returns the ids of the users whom a text mentions. */
export async function findMentionedIds(db: Queries, text: string): Promise<UserId[]> {
  return (await findMentioned(db, text)).map(({ id }) => id);
}

/** Refuses with `not_found` a milestone that the repository does not have. */
export async function assertMilestone(
  tx: Transaction,
  repositoryId: RepositoryId,
  id: MilestoneId | undefined,
): Promise<void> {
  if (id === undefined || (await findMilestone(tx, repositoryId, { id })) !== undefined) return;
  throw new AppError("not_found", `milestone does not exist [id: ${id}, repo_id: ${repositoryId}]`);
}

/** Refuses with `precondition_failed` to close an issue with an open blocker. */
async function assertClosable(
  tx: Transaction,
  { repository }: OwnedRepository,
  issueId: IssueId,
): Promise<void> {
  if (hasDependencies(repository.settings) && (await hasOpenBlocker(tx, issueId)))
    throw new AppError(
      "precondition_failed",
      "cannot close this issue or pull request because it still has open dependencies",
    );
}

function toChanges(edits: IssueEdit, before: ForgeIssue, now: number): ChangedMembers {
  const { title, body, ref, isClosed, dueAt } = edits;
  return {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
    ...(ref === undefined ? {} : { ref }),
    ...(isClosed === undefined || isClosed === before.isClosed
      ? {}
      : { isClosed, closedAt: isClosed ? now : undefined }),
    ...(dueAt === undefined ? {} : { dueAt: dueAt ?? undefined }),
  };
}

/**
 * Refuses with `precondition_failed` to close or reopen a merged pull request, and to reopen one whose head is gone; with
 * `conflict` to reopen one while another one has its branches. A reopened one is computed again.
 */
async function assertPullMay(tx: Transaction, issue: ForgeIssue, isClosed: boolean): Promise<void> {
  const pull = await findPull(tx, issue.id);
  if (pull === undefined) return;
  if (pull.mergedAt !== undefined)
    throw new AppError(
      "precondition_failed",
      "cannot change state of this pull request, it was already merged",
    );
  if (isClosed || !issue.isClosed) return;
  if (pull.isHeadGone || pull.headRepositoryId === undefined)
    throw new AppError("precondition_failed", "cannot reopen: the branch of the head is missing");
  await assertNoOpenPull(tx, pull);
  await updatePull(tx, issue.id, { state: "checking" });
}

/** Refuses with `conflict` two branches that have an open pull request already. */
export async function assertNoOpenPull(db: Queries, ends: PullEnds): Promise<void> {
  const found = await findPullBetween(db, ends, { isOpen: true });
  if (found === undefined) return;
  const { issueId, headRepositoryId, repositoryId, headBranch, baseBranch } = found;
  throw new AppError(
    "conflict",
    `pull request already exists for these targets [id: ${issueId}, issue_id: ${issueId}, head_repo_id: ${headRepositoryId ?? 0}, base_repo_id: ${repositoryId}, head_branch: ${headBranch}, base_branch: ${baseBranch}]`,
  );
}
