import type { ForgeComment } from "../../../storage/tables/forge/issues/comments.ts";
import type { Queries } from "../../../storage/engine/database.ts";
import {
  type ForgeIssue,
  listAssignees,
  listIssueLabels,
} from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeLabel } from "../../../storage/tables/forge/repositories/labels.ts";
import { type ForgeUser, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import type { OwnedRepository } from "../repositories/events.ts";

/** An issue with what its view shows. */
export interface SeenIssue {
  readonly what: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly people: ReadonlyMap<number, ForgeUser>;
  readonly assigneeIds: readonly number[];
  readonly labels: readonly ForgeLabel[];
  /** Who looks at it; undefined for a stranger. */
  readonly viewer: ForgeUser | undefined;
}

/** Looks up what the view of an issue shows. */
export async function seeIssue(
  db: Queries,
  { repository, owner }: OwnedRepository,
  issue: ForgeIssue,
  viewer: ForgeUser | undefined,
): Promise<SeenIssue> {
  const assigneeIds = await listAssignees(db, issue.id);
  return {
    what: { repository, owner },
    issue,
    people: await findPeople(db, [issue.authorId, ...assigneeIds]),
    assigneeIds,
    labels: await listIssueLabels(db, issue.id),
    viewer,
  };
}

/** These people by their ids; those who are gone are left out. */
export async function findPeople(
  db: Queries,
  ids: readonly (number | undefined)[],
): Promise<ReadonlyMap<number, ForgeUser>> {
  const users = await listUsersByIds(
    db,
    ids.filter((id) => id !== undefined),
  );
  return new Map(users.map((user) => [user.id, user]));
}

/** A comment with what its view needs; the author is undefined once the account is deleted. */
export interface SeenComment {
  readonly what: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly comment: ForgeComment;
  readonly author: ForgeUser | undefined;
}
