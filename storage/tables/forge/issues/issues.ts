import type { Queries, Transaction } from "../../../engine/database.ts";
import { listVisibleUsers } from "../accounts/follows.ts";
import { emptyMailboxesOf } from "../accounts/mailboxes.ts";
import { type Window, defineTable, type RecordOf } from "../../table.ts";
import type { UserPage } from "../accounts/user-lists.ts";
import type { UserId, CommentId, IssueId, RepositoryId, MilestoneId } from "../ids.ts";
import type { Reader } from "../repositories/readable.ts";
import { groupValues, inChunksOfIds } from "../../chunks.ts";
import {
  flag,
  generated,
  id,
  initial,
  integer,
  now,
  nowUnlessGiven,
  optional,
  text,
} from "../../columns.ts";
import { sql } from "../../condition.ts";
import { indexIssue } from "./search-index.ts";

export const issues = defineTable("forge_issues", {
  id: generated(id<IssueId>()),
  repositoryId: id<RepositoryId>(),
  /** From 1 in each repository. */
  number: integer(),
  isPull: initial(false, flag()),
  /** Undefined once the account is deleted. */
  authorId: optional(id<UserId>()),
  title: text(),
  body: text(),
  ref: text(),
  isClosed: flag(),
  commentCount: integer(),
  /** Increases with every change of the body. */
  contentVersion: integer(),
  dueAt: optional(integer()),
  milestoneId: optional(id<MilestoneId>()),
  /** Set while only users with write access may comment. */
  lockedAt: optional(integer()),
  /** From 1 among the pinned issues of a repository; 0 for an issue that is not pinned. */
  pinOrder: generated(integer()),
  closedAt: optional(integer()),
  /** The author's name at the place from which the issue was imported; empty for one that was written here. */
  originalAuthor: initial("", text()),
  createdAt: nowUnlessGiven(),
  updatedAt: nowUnlessGiven(),
});
/** An issue or a pull request of a repository. Times are epoch milliseconds. */
export type ForgeIssue = RecordOf<typeof issues>;

/** The members of an issue that can change. */
export type IssueChanges = Partial<
  Pick<
    ForgeIssue,
    "title" | "body" | "ref" | "isClosed" | "dueAt" | "milestoneId" | "lockedAt" | "closedAt"
  >
>;

/** Adds an issue with the next number of the repository. */
export async function insertIssue(
  tx: Transaction,
  issue: Pick<
    ForgeIssue,
    "repositoryId" | "authorId" | "title" | "body" | "ref" | "isClosed" | "dueAt"
  > &
    Partial<Pick<ForgeIssue, "milestoneId" | "isPull">>,
): Promise<ForgeIssue> {
  const next = await tx.get<{ number: number }>(
    `INSERT INTO forge_issue_numbers (repository_id, last_number) VALUES (?, 1)
     ON CONFLICT (repository_id) DO UPDATE SET last_number = forge_issue_numbers.last_number + 1
     RETURNING last_number AS number`,
    issue.repositoryId,
  );
  if (next === undefined) throw new Error("no number for an issue");
  const row = await issues.insert(tx, {
    ...issue,
    number: next.number,
    commentCount: 0,
    contentVersion: 0,
    closedAt: issue.isClosed ? tx.now : undefined,
  });
  await indexIssue(tx, row);
  if (!row.isClosed) await countOpen(tx, row, 1);
  return row;
}

/** Lets new issues of a repository have numbers above `number`. */
export async function reserveNumbers(
  tx: Transaction,
  repositoryId: RepositoryId,
  number: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_issue_numbers (repository_id, last_number) VALUES (?, ?)
     ON CONFLICT (repository_id) DO UPDATE SET last_number = excluded.last_number
     WHERE forge_issue_numbers.last_number < excluded.last_number`,
    repositoryId,
    number,
  );
}

/** Returns the first imported pull request of a repository with this number or a higher one. */
export async function findImportedPull(
  db: Queries,
  repositoryId: RepositoryId,
  from: number,
): Promise<ForgeIssue | undefined> {
  const [first] = await issues.list(
    db,
    sql`repository_id = ${repositoryId} AND is_pull = 1 AND original_author <> '' AND number >= ${from}`,
    { order: "number", limit: 1 },
  );
  return first;
}

/** Adds an issue of another server under its number and with its times. Returns undefined when the number is taken. */
export async function insertImportedIssue(
  tx: Transaction,
  issue: Pick<
    ForgeIssue,
    | "repositoryId"
    | "number"
    | "isPull"
    | "authorId"
    | "originalAuthor"
    | "title"
    | "body"
    | "isClosed"
    | "dueAt"
    | "milestoneId"
    | "lockedAt"
    | "closedAt"
    | "createdAt"
    | "updatedAt"
  >,
): Promise<ForgeIssue | undefined> {
  await reserveNumbers(tx, issue.repositoryId, issue.number);
  const row = await issues.upsert(
    tx,
    { ...issue, ref: "", commentCount: 0, contentVersion: 0 },
    "ON CONFLICT (repository_id, number) DO NOTHING",
  );
  if (row === undefined) return undefined;
  await indexIssue(tx, row);
  if (!row.isClosed) await countOpen(tx, row, 1);
  return row;
}

/**
 * Writes the given members and the time. Returns undefined when the issue does not exist or its body does not have
 * `ifVersion`.
 */
export async function updateIssue(
  tx: Transaction,
  id: IssueId,
  changes: IssueChanges,
  ifVersion?: number,
): Promise<ForgeIssue | undefined> {
  const before = await findIssueById(tx, id);
  const where = ifVersion === undefined ? { id } : { id, contentVersion: ifVersion };
  const issue = await issues.change(tx, where, {
    ...changes,
    updatedAt: tx.now,
    ...(changes.body !== undefined && { contentVersion: sql`content_version + 1` }),
  });
  if (issue === undefined) return undefined;
  if (changes.title !== undefined || changes.body !== undefined) await indexIssue(tx, issue);
  if (before !== undefined && before.isClosed !== issue.isClosed)
    await countOpen(tx, issue, issue.isClosed ? -1 : 1);
  return issue;
}

/** Deletes an issue with its comments, events and threads. Its number is not used again. */
export async function deleteIssue(tx: Transaction, issue: ForgeIssue): Promise<void> {
  await emptyMailboxesOf(tx, { issueId: issue.id });
  const deleted = await tx.get<{ is_closed: number }>(
    "DELETE FROM forge_issues WHERE id = ? RETURNING is_closed",
    issue.id,
  );
  if (deleted?.is_closed === 0) await countOpen(tx, issue, -1);
}

export async function findIssueById(db: Queries, id: IssueId): Promise<ForgeIssue | undefined> {
  return issues.find(db, { id });
}

/** Which issues and merged pull requests a list of closed ones has. */
export interface ClosedFilter {
  /** Epoch milliseconds. */
  readonly after: number;
  /** Epoch milliseconds. */
  readonly until: number;
  readonly hasIssues: boolean;
  readonly hasPulls: boolean;
}

/** Returns the issues that were closed, and the pull requests that were merged, after a moment and up to another; the first first. */
export async function listClosedBetween(
  db: Queries,
  repositoryId: RepositoryId,
  { after, until, hasIssues, hasPulls }: ClosedFilter,
  limit: number,
): Promise<ForgeIssue[]> {
  return issues.list(
    db,
    sql`repository_id = ${repositoryId} AND is_closed = 1 AND closed_at > ${after} AND closed_at <= ${until}
      AND ((is_pull = 0 AND 1 = ${hasIssues}) OR (is_pull = 1 AND 1 = ${hasPulls} AND EXISTS (
        SELECT 1 FROM forge_pulls p WHERE p.issue_id = forge_issues.id AND p.merged_at IS NOT NULL)))`,
    { order: "closed_at, id", limit },
  );
}

/** Returns the existing issues of these ids, unordered. */
export async function listIssuesByIds(db: Queries, ids: readonly IssueId[]): Promise<ForgeIssue[]> {
  return inChunksOfIds(ids, (id) => issues.list(db, { id }));
}

/** Returns the issue of a number in a repository. */
export async function findIssue(
  db: Queries,
  repositoryId: RepositoryId,
  number: number,
): Promise<ForgeIssue | undefined> {
  return issues.find(db, { repositoryId, number });
}

/** Returns the issue that a comment or another entry of a timeline belongs to. */
export async function findIssueOfComment(
  db: Queries,
  id: CommentId,
): Promise<ForgeIssue | undefined> {
  return issues.find(
    db,
    sql`id = (SELECT c.issue_id FROM forge_issue_comments c WHERE c.id = ${id})`,
  );
}

const mentions = defineTable("forge_issue_mentions", {
  issueId: id<IssueId>(),
  userId: id<UserId>(),
});

/** Records that an issue mentions these users. */
export async function insertMentions(
  tx: Transaction,
  issueId: IssueId,
  userIds: readonly UserId[],
): Promise<void> {
  const conflict = "ON CONFLICT (issue_id, user_id) DO NOTHING";
  for (const userId of userIds) await mentions.upsert(tx, { issueId, userId }, conflict);
}

const assignees = defineTable("forge_issue_assignees", {
  issueId: id<IssueId>(),
  userId: id<UserId>(),
});

/** Replaces the assignees of an issue. */
export async function replaceAssignees(
  tx: Transaction,
  issueId: IssueId,
  userIds: readonly UserId[],
): Promise<void> {
  await assignees.delete(tx, { issueId });
  for (const userId of new Set(userIds)) await assignees.insert(tx, { issueId, userId });
}

/** Returns the ids of an issue's assignees, sorted. */
export async function listAssignees(db: Queries, issueId: IssueId): Promise<UserId[]> {
  const rows = await assignees.list(db, { issueId }, { order: "user_id" });
  return rows.map(({ userId }) => userId);
}

/** Returns the ids of the assignees of issues, sorted, by the id of the issue. */
export async function listAssigneesOfIssues(
  db: Queries,
  issueIds: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, readonly UserId[]>> {
  const rows = await inChunksOfIds(issueIds, (issueId) =>
    assignees.list(db, { issueId }, { order: "user_id" }),
  );
  return groupValues(
    rows,
    ({ issueId }) => issueId,
    ({ userId }) => userId,
  );
}

const subscriptions = defineTable("forge_issue_subscriptions", {
  issueId: id<IssueId>(),
  userId: id<UserId>(),
  isSubscribed: flag(),
  createdAt: now(),
});

/** Subscribes a user to an issue or unsubscribes the user. Returns whether that changed anything. */
export async function setSubscription(
  tx: Transaction,
  issueId: IssueId,
  userId: UserId,
  isSubscribed: boolean,
): Promise<boolean> {
  const changed = await subscriptions.upsert(
    tx,
    { issueId, userId, isSubscribed },
    `ON CONFLICT (issue_id, user_id) DO UPDATE SET is_subscribed = excluded.is_subscribed, created_at = excluded.created_at
     WHERE forge_issue_subscriptions.is_subscribed <> excluded.is_subscribed`,
  );
  return changed !== undefined;
}

/** Returns the explicit subscriptions to an issue by user id; false for users who unsubscribed. */
export async function listSubscriptions(
  db: Queries,
  issueId: IssueId,
): Promise<ReadonlyMap<UserId, boolean>> {
  const rows = await subscriptions.list(db, { issueId }, { order: "user_id" });
  return new Map(rows.map(({ userId, isSubscribed }) => [userId, isSubscribed]));
}

/** Returns a page of the users who subscribed to an issue and whom the reader may see, by id, and their count. */
export function listSubscribers(
  db: Queries,
  issueId: IssueId,
  { reader, window }: { readonly reader: Reader; readonly window: Window },
): Promise<UserPage> {
  const from = `forge_issue_subscriptions s JOIN forge_users u ON u.id = s.user_id
    WHERE s.issue_id = ? AND s.is_subscribed = 1`;
  return listVisibleUsers(db, { sql: from, values: [issueId] }, reader, window);
}

/** Open issues and open pull requests are counted apart. */
async function countOpen(
  tx: Transaction,
  { repositoryId, isPull }: ForgeIssue,
  by: number,
): Promise<void> {
  const count = isPull ? "open_pull_count" : "open_issue_count";
  await tx.run(
    `UPDATE forge_repositories SET ${count} = ${count} + ? WHERE id = ?`,
    by,
    repositoryId,
  );
}
