import type { Transaction } from "../../../storage/engine/database.ts";
import type { UserId, MilestoneId } from "../../../storage/tables/forge/ids.ts";
import {
  deleteIssueLabels,
  insertIssueLabels,
  listIssueLabels,
} from "../../../storage/tables/forge/issues/issue-labels.ts";
import {
  type ForgeIssue,
  listAssignees,
  replaceAssignees,
  setSubscription,
  updateIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import { insertEvents, type NewEvent } from "../../../storage/tables/forge/issues/timeline.ts";
import type { ForgeLabel } from "../../../storage/tables/forge/repositories/labels.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import type { Emit, IssueChange } from "../events.ts";
import type { IssueEdit } from "./issue-requests.ts";

/** Maximum number of labels of one issue. */
const LABELS_MAX = 100;

/** Changes of issues within a transaction. Each change records its events and publishes them. */
export type IssueChanges = ReturnType<typeof createIssueChanges>;

export function createIssueChanges({ emit }: { readonly emit: Emit }) {
  return { changeLabels, changeMilestone, assign };

  /**
   * Replaces the labels of an issue. Only added and removed labels are recorded as events. Of several labels with the
   * same exclusive scope, the last one is kept.
   */
  async function changeLabels(
    tx: Transaction,
    change: IssueChange,
    newLabels: readonly ForgeLabel[],
  ): Promise<void> {
    const { issue, actor } = change;
    const labels = withoutExcluded(newLabels);
    if (labels.length > LABELS_MAX)
      throw new AppError("unprocessable", `an issue has at most ${LABELS_MAX} labels`);
    const before = await listIssueLabels(tx, issue.id);
    const added = labels.filter(({ id }) => !before.some((label) => label.id === id));
    const removed = before.filter(({ id }) => !labels.some((label) => label.id === id));
    if (added.length === 0 && removed.length === 0) return;
    const idsOf = (list: readonly ForgeLabel[]) => list.map(({ id }) => id);
    await deleteIssueLabels(tx, issue.id, idsOf(removed));
    await insertIssueLabels(tx, issue.id, idsOf(added));
    await insertEvents(tx, issue.id, actor.id, [
      ...removed.map((label) => toLabelEvent(label, true)),
      ...added.map((label) => toLabelEvent(label, false)),
    ]);
    const current = (await updateIssue(tx, issue.id, {})) ?? issue;
    const action = labels.length === 0 ? "label_cleared" : "label_updated";
    await emit(tx, "issue", { action, ...change, issue: current, labels: { added, removed } });
  }

  /** Moves an issue to a milestone, or out of its milestone. Returns the updated issue. */
  async function changeMilestone(
    tx: Transaction,
    change: IssueChange,
    milestoneId: MilestoneId | undefined,
  ): Promise<ForgeIssue> {
    const { issue, actor } = change;
    if (issue.milestoneId === milestoneId) return issue;
    const current = await updateIssue(tx, issue.id, { milestoneId });
    if (current === undefined) throw notFound();
    const details = {
      ...(issue.milestoneId === undefined ? {} : { oldMilestoneId: issue.milestoneId }),
      ...(milestoneId === undefined ? {} : { milestoneId }),
    };
    await insertEvents(tx, issue.id, actor.id, [{ kind: "milestone", details }]);
    const action = milestoneId === undefined ? "demilestoned" : "milestoned";
    await emit(tx, "issue", { action, ...change, issue: current });
    return current;
  }

  /** Replaces the assignees, of whom each counts once; new ones are subscribed and notified. */
  async function assign(
    tx: Transaction,
    change: IssueChange,
    assignees: readonly UserId[],
  ): Promise<void> {
    const { issue, actor } = change;
    const before = await listAssignees(tx, issue.id);
    const after = [...new Set(assignees)];
    const added = after.filter((id) => !before.includes(id));
    const removed = before.filter((id) => !after.includes(id));
    if (added.length === 0 && removed.length === 0) return;
    await replaceAssignees(tx, issue.id, after);
    await insertEvents(tx, issue.id, actor.id, [
      ...removed.map((assigneeId) => toAssigneeEvent(assigneeId, true)),
      ...added.map((assigneeId) => toAssigneeEvent(assigneeId, false)),
    ]);
    for (const id of added) await setSubscription(tx, issue.id, id, true);
    if (added.length > 0) {
      await emit(tx, "issue", { ...change, action: "assigned", assigned: added });
    } else if (removed.length > 0) await emit(tx, "issue", { ...change, action: "unassigned" });
  }
}

/** Returns the events of an edit of title, reference, due date and state. */
export function toEditEvents(edit: IssueEdit, before: ForgeIssue, after: ForgeIssue): NewEvent[] {
  const events: NewEvent[] = [];
  if (after.title !== before.title) {
    const details = { oldTitle: before.title, newTitle: after.title };
    events.push({ kind: "change_title", details });
  }
  if (after.ref !== before.ref)
    events.push({ kind: "change_issue_ref", details: { oldRef: before.ref, newRef: after.ref } });
  if (edit.dueAt !== undefined && after.dueAt !== before.dueAt)
    events.push(toDeadlineEvent(before.dueAt, after.dueAt));
  if (after.isClosed !== before.isClosed)
    events.push({ kind: after.isClosed ? "close" : "reopen" });
  return events;
}

function toDeadlineEvent(oldDueAt: number | undefined, dueAt: number | undefined): NewEvent {
  const details = {
    ...(oldDueAt === undefined ? {} : { oldDueAt }),
    ...(dueAt === undefined ? {} : { dueAt }),
  };
  if (dueAt === undefined) return { kind: "removed_deadline", details };
  return { kind: oldDueAt === undefined ? "added_deadline" : "modified_deadline", details };
}

/** Returns the part of an exclusive label's name before the last slash; undefined for any other label. */
function toExclusiveScope({ name, isExclusive }: ForgeLabel): string | undefined {
  const slash = name.lastIndexOf("/");
  return isExclusive && slash > 0 && slash < name.length - 1 ? name.slice(0, slash) : undefined;
}

/** Drops repeated labels, and all but the last one of each exclusive scope. */
function withoutExcluded(labels: readonly ForgeLabel[]): ForgeLabel[] {
  const last = new Map<string, number>();
  for (const label of labels) {
    const scope = toExclusiveScope(label);
    if (scope !== undefined) last.set(scope, label.id);
  }
  const remaining = labels.filter((label) => {
    const scope = toExclusiveScope(label);
    return scope === undefined || last.get(scope) === label.id;
  });
  return [...new Map(remaining.map((label) => [label.id, label])).values()];
}

function toLabelEvent({ id, name, color, description }: ForgeLabel, removed: boolean): NewEvent {
  const label = { id, name, color, description };
  return { kind: "label", details: removed ? { label, removed } : { label } };
}

function toAssigneeEvent(assigneeId: UserId, removed: boolean): NewEvent {
  return { kind: "assignees", details: removed ? { assigneeId, removed } : { assigneeId } };
}
