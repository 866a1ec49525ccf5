import type { Database, Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import { type ReaderScope, toReadableIssues } from "./lists.ts";
import type { UserId, IssueId, RepositoryId, TrackedTimeId } from "../ids.ts";
import { inChunksOfIds } from "../../chunks.ts";
import { generated, id, integer, now, optional } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";

const trackedTimes = defineTable("forge_tracked_times", {
  id: generated(id<TrackedTimeId>()),
  issueId: id<IssueId>(),
  /** Undefined once the account is deleted. */
  userId: optional(id<UserId>()),
  seconds: integer(),
  /** When the work was done, in epoch milliseconds. */
  createdAt: integer(),
});
/** Time that a user worked on an issue. */
export type TrackedTime = RecordOf<typeof trackedTimes>;

const stopwatches = defineTable("forge_stopwatches", {
  userId: id<UserId>(),
  issueId: id<IssueId>(),
  /** Epoch milliseconds. */
  startedAt: now(),
});
/** A running stopwatch. */
export type Stopwatch = RecordOf<typeof stopwatches>;

/** Conditions of a list of times; an absent one matches every time. */
export interface TimeFilter {
  readonly issueId?: IssueId | undefined;
  readonly repositoryId?: RepositoryId | undefined;
  readonly userId?: UserId | undefined;
  /** Only times on issues that this caller may read; absent when the caller may read the issue or the repository. */
  readonly readableTo?: ReaderScope | undefined;
  /** Range of `createdAt` in epoch milliseconds, both ends included. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

export async function insertTrackedTime(
  tx: Transaction,
  time: Omit<TrackedTime, "id">,
): Promise<TrackedTime> {
  const row = await trackedTimes.insert(tx, time);
  return { ...time, id: row.id };
}

/** Deletes a time of an issue. Returns whether it was there. */
export async function deleteTrackedTime(tx: Transaction, id: TrackedTimeId): Promise<boolean> {
  const row = await tx.get<{ id: TrackedTimeId }>(
    "DELETE FROM forge_tracked_times WHERE id = ? RETURNING id",
    id,
  );
  return row !== undefined;
}

/** Deletes all times of a user on an issue. Returns their seconds in all; undefined when there are no times. */
export async function deleteTrackedTimesOf(
  tx: Transaction,
  issueId: IssueId,
  userId: UserId,
): Promise<number | undefined> {
  const deleted = await tx.all<{ seconds: number }>(
    "DELETE FROM forge_tracked_times WHERE issue_id = ? AND user_id = ? RETURNING seconds",
    issueId,
    userId,
  );
  if (deleted.length === 0) return undefined;
  return deleted.reduce((sum, { seconds }) => sum + seconds, 0);
}

export async function findTrackedTime(
  db: Queries,
  issueId: IssueId,
  id: TrackedTimeId,
): Promise<TrackedTime | undefined> {
  return trackedTimes.find(db, { id, issueId });
}

/** Returns the existing times of an issue that have these ids. */
export async function listTrackedTimesByIds(
  db: Queries,
  issueId: IssueId,
  ids: readonly TrackedTimeId[],
): Promise<TrackedTime[]> {
  return inChunksOfIds(ids, (id) => trackedTimes.list(db, { id, issueId }));
}

/** Returns a page of times, oldest first, and the total count. */
export async function listTrackedTimes(
  db: Queries & Pick<Database, "dialect">,
  filter: TimeFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly times: readonly TrackedTime[]; readonly total: number }> {
  const conditions = ["TRUE"];
  const values: SqlValue[] = [];
  const add = (sql: string, value: number | undefined) => {
    if (value === undefined) return;
    conditions.push(sql);
    values.push(value);
  };
  add("issue_id = ?", filter.issueId);
  add("issue_id IN (SELECT id FROM forge_issues WHERE repository_id = ?)", filter.repositoryId);
  add("user_id = ?", filter.userId);
  add("created_at >= ?", filter.since);
  add("created_at <= ?", filter.before);
  if (filter.readableTo !== undefined) {
    const readable = toReadableIssues(filter.readableTo, db.dialect);
    conditions.push(`issue_id IN (SELECT id FROM forge_issues WHERE ${readable.sql})`);
    values.push(...readable.values);
  }
  const where = conditions.join(" AND ");
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_tracked_times WHERE ${where}`,
    ...values,
  );
  const rows = await trackedTimes.readAll(
    db,
    `SELECT ${trackedTimes.columns} FROM forge_tracked_times WHERE ${where} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { times: rows, total: counted?.total ?? 0 };
}

/** Starts the stopwatch of a user, who must not have a running one. */
export async function insertStopwatch(
  tx: Transaction,
  { userId, issueId }: Pick<Stopwatch, "userId" | "issueId">,
): Promise<void> {
  await stopwatches.insert(tx, { userId, issueId });
}

export async function deleteStopwatch(tx: Transaction, userId: UserId): Promise<void> {
  await stopwatches.delete(tx, { userId });
}

/** Returns the running stopwatch of a user. */
export const findStopwatch = (db: Queries, userId: UserId): Promise<Stopwatch | undefined> =>
  stopwatches.find(db, { userId });
