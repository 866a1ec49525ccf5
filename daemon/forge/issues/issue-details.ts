import {
  type ForgeAttachment,
  listAttachmentsOfComments,
  listAttachmentsOfIssues,
} from "../../../storage/tables/forge/issues/attachments.ts";
import type { Queries } from "../../../storage/engine/database.ts";
import { listLabelsOfIssues } from "../../../storage/tables/forge/issues/issue-labels.ts";
import {
  type ForgeIssue,
  listAssigneesOfIssues,
} from "../../../storage/tables/forge/issues/issues.ts";
import {
  type ForgeMilestone,
  listMilestonesByIds,
} from "../../../storage/tables/forge/issues/milestones.ts";
import { type ForgePull, listPullsOf } from "../../../storage/tables/forge/pulls/pulls.ts";
import type { ForgeLabel } from "../../../storage/tables/forge/repositories/labels.ts";
import { type ForgeUser, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeComment } from "../../../storage/tables/forge/issues/comments.ts";
import type { CommentDetails, OwnedRepository } from "../events.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** An issue with the records that its view shows. */
export interface IssueDetails {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly people: ReadonlyMap<UserId, ForgeUser>;
  readonly assigneeIds: readonly UserId[];
  readonly labels: readonly ForgeLabel[];
  readonly milestone: ForgeMilestone | undefined;
  readonly attachments: readonly ForgeAttachment[];
  /** Set for a pull request. */
  readonly pull: ForgePull | undefined;
  /** Undefined for an anonymous caller. */
  readonly viewer: ForgeUser | undefined;
}

/** Loads the records that the view of an issue shows. */
export async function loadIssueDetails(
  db: Queries,
  owned: OwnedRepository,
  issue: ForgeIssue,
  viewer: ForgeUser | undefined,
): Promise<IssueDetails> {
  const [details] = await loadAllIssueDetails(db, [{ owned, issue }], viewer);
  if (details === undefined) throw new Error("the details of an issue are missing");
  return details;
}

/** Loads the records of a list of issues, with as many statements as for one. */
export async function loadAllIssueDetails(
  db: Queries,
  all: readonly Pick<IssueDetails, "owned" | "issue">[],
  viewer: ForgeUser | undefined,
): Promise<IssueDetails[]> {
  const issues = all.map(({ issue }) => issue);
  const ids = issues.map(({ id }) => id);
  const assignees = await listAssigneesOfIssues(db, ids);
  const authorIds = issues.map(({ authorId }) => authorId);
  const people = await findPeople(db, [...authorIds, ...[...assignees.values()].flat()]);
  const labels = await listLabelsOfIssues(db, ids);
  const milestones = await listMilestonesByIds(
    db,
    issues.flatMap(({ milestoneId }) => milestoneId ?? []),
  );
  const attachments = await listAttachmentsOfIssues(db, ids);
  const pulls = await listPullsOf(
    db,
    issues.filter(({ isPull }) => isPull).map(({ id }) => id),
  );
  return all.map(({ owned: { repository, owner }, issue }) => ({
    owned: { repository, owner },
    issue,
    people,
    assigneeIds: assignees.get(issue.id) ?? [],
    labels: labels.get(issue.id) ?? [],
    milestone: issue.milestoneId === undefined ? undefined : milestones.get(issue.milestoneId),
    attachments: attachments.get(issue.id) ?? [],
    pull: pulls.get(issue.id),
    viewer,
  }));
}

/** Loads the records that the view of a comment shows besides the comment and its issue. */
export async function loadCommentParts(
  db: Queries,
  { id, authorId }: ForgeComment,
): Promise<Pick<CommentDetails, "author" | "attachments">> {
  const [author] = authorId === undefined ? [] : await listUsersByIds(db, [authorId]);
  return { author, attachments: (await listAttachmentsOfComments(db, [id])).get(id) ?? [] };
}

/** Returns users by id, without deleted ones. */
export async function findPeople(
  db: Queries,
  ids: readonly (UserId | undefined)[],
): Promise<ReadonlyMap<UserId, ForgeUser>> {
  const users = await listUsersByIds(
    db,
    ids.filter((id) => id !== undefined),
  );
  return new Map(users.map((user) => [user.id, user]));
}
