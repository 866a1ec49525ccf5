import {
  type ForgeAttachment,
  listAttachmentsOfComments,
  listAttachmentsOfIssue,
} from "../../../storage/tables/forge/issues/attachments.ts";
import type { Queries } from "../../../storage/engine/database.ts";
import { listIssueLabels } from "../../../storage/tables/forge/issues/issue-labels.ts";
import { type ForgeIssue, listAssignees } from "../../../storage/tables/forge/issues/issues.ts";
import {
  findMilestone,
  type ForgeMilestone,
} from "../../../storage/tables/forge/issues/milestones.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
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
  { repository, owner }: OwnedRepository,
  issue: ForgeIssue,
  viewer: ForgeUser | undefined,
): Promise<IssueDetails> {
  const assigneeIds = await listAssignees(db, issue.id);
  return {
    owned: { repository, owner },
    issue,
    people: await findPeople(db, [issue.authorId, ...assigneeIds]),
    assigneeIds,
    labels: await listIssueLabels(db, issue.id),
    milestone:
      issue.milestoneId === undefined
        ? undefined
        : await findMilestone(db, repository.id, { id: issue.milestoneId }),
    attachments: await listAttachmentsOfIssue(db, issue.id),
    pull: issue.isPull ? await findPull(db, issue.id) : undefined,
    viewer,
  };
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
