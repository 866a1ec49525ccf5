import type { Queries, SqlValue, Transaction } from "../../engine/database.ts";
import { changeMailbox, holdMailbox } from "./accounts/mailboxes.ts";
import { OWNER_ACCESS } from "./accounts/teams.ts";
import type { UserId, IssueId, RepositoryId, ThreadId } from "./ids.ts";
import {
  generated,
  id,
  integer,
  now,
  optional,
  text,
  unread,
  coded,
  numbered,
} from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";

const threadKinds = { issue: 1, pull: 2, commit: 3, repository: 4 } as const;
export type ThreadKind = keyof typeof threadKinds;

const threadStatuses = ["unread", "read", "pinned"] as const;
export type ThreadStatus = (typeof threadStatuses)[number];

const threads = defineTable("forge_notifications", {
  id: generated(id<ThreadId>()),
  userId: id<UserId>(),
  repositoryId: id<RepositoryId>(),
  kind: numbered(threadKinds),
  status: coded(threadStatuses),
  /** Set for the kinds `issue` and `pull`. */
  issueId: optional(id<IssueId>()),
  /** Set for the kind `commit`. */
  commitId: optional(text()),
  updatedAt: now(),
  toldAt: unread(integer()),
  newsRevision: unread(integer()),
});
/** A notification thread of a user. Times are epoch milliseconds. */
export type ForgeThread = RecordOf<typeof threads>;

/** Conditions of a list of a user's threads. An empty list matches every thread; both ends of the time are included. */
export interface ThreadFilter {
  readonly userId: UserId;
  readonly repositoryId?: RepositoryId | undefined;
  readonly statuses: readonly ThreadStatus[];
  readonly kinds: readonly ThreadKind[];
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

/** A notification: the subject of its thread and the time of the event. */
export interface NewThread {
  readonly userId: UserId;
  readonly repositoryId: RepositoryId;
  readonly kind: ThreadKind;
  readonly issueId?: IssueId;
  readonly commitId?: string;
  /** Epoch milliseconds. A time that is not later than the thread's latest event changes nothing. */
  readonly notifiedAt: number;
}

/**
 * Notifies a user: adds an unread thread, or marks the thread of the same issue or commit unread unless it is pinned.
 * Returns the id of the thread. Idempotent: returns undefined when the thread has this event already.
 */
export async function upsertThread(
  tx: Transaction,
  thread: NewThread,
): Promise<ThreadId | undefined> {
  const { userId, repositoryId, kind, issueId = null, commitId = null, notifiedAt } = thread;
  const { revision } = await holdMailbox(tx, userId);
  const key =
    issueId === null
      ? (["repository_id", "user_id", "commit_id"] as const)
      : (["issue_id", "user_id"] as const);
  const values = { repository_id: repositoryId, user_id: userId, commit_id: commitId };
  const existing = await tx.get<{ status: number }>(
    `SELECT status FROM forge_notifications WHERE ${key.map((column) => `${column} = ?`).join(" AND ")}`,
    ...key.map((column) => (column === "issue_id" ? issueId : values[column])),
  );
  const row = await tx.get<{ id: ThreadId; status: number }>(
    `INSERT INTO forge_notifications (user_id, repository_id, kind, status, issue_id, commit_id, told_at, news_revision, updated_at)
     VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?)
     ON CONFLICT (${key.join(", ")}) DO UPDATE SET
       status = CASE WHEN forge_notifications.status = 2 THEN 2 ELSE 0 END,
       told_at = excluded.told_at, news_revision = excluded.news_revision, updated_at = excluded.updated_at
     WHERE forge_notifications.told_at < excluded.told_at
     RETURNING id, status`,
    userId,
    repositoryId,
    threadKinds[kind],
    issueId,
    commitId,
    notifiedAt,
    revision + 1,
    tx.now,
  );
  if (row === undefined) return undefined;
  await changeMailbox(tx, userId, [
    ...(existing === undefined ? [] : [{ status: existing.status, by: -1 }]),
    { status: row.status, by: 1 },
  ]);
  return row.id;
}

/** A range of mailbox revisions: `after` excluded, `upTo` included. */
export interface UpdateRange {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

/** Returns a user's threads that changed within a range of mailbox revisions, in the order of the revisions. */
export async function listUpdates(
  db: Queries,
  userId: UserId,
  range: UpdateRange,
): Promise<{ readonly revision: number; readonly thread: ForgeThread }[]> {
  const { sql, values } = toUpdatesStatement(userId, range);
  const rows = await db.all<{ news_revision: number }>(sql, ...values);
  return rows.map((row) => ({ revision: row.news_revision, thread: threads.read(row) }));
}

/** Returns a page of a user's threads, last changed first. */
export async function listThreads(
  db: Queries,
  filter: ThreadFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<ForgeThread[]> {
  const { sql, values } = toPageStatement(filter, window);
  return threads.readAll(db, sql, ...values);
}

/** Returns the number of matching threads; it reads one row when the filter has only statuses. */
export async function countThreads(db: Queries, filter: ThreadFilter): Promise<number> {
  const { sql, values } = toCountStatement(filter);
  return (await db.get<{ total: number }>(sql, ...values))?.total ?? 0;
}

/** Sets the status and the time of all matching threads in one statement. Returns how many. */
export async function markThreads(
  tx: Transaction,
  filter: ThreadFilter,
  status: ThreadStatus,
): Promise<number> {
  await holdMailbox(tx, filter.userId);
  const leaving = toTallyStatement(filter);
  const tally = await tx.all<{ status: number; total: number }>(leaving.sql, ...leaving.values);
  if (tally.length === 0) return 0;
  const { sql, values } = toMarkStatement(filter, status, tx.now);
  const { changes } = await tx.run(sql, ...values);
  await changeMailbox(tx, filter.userId, [
    ...tally.map((count) => ({ status: count.status, by: -count.total })),
    { status: threadStatuses.indexOf(status), by: changes },
  ]);
  return changes;
}

/** Sets the status of a user's thread; undefined when the user has no such thread. */
export async function markThread(
  tx: Transaction,
  { id, userId }: { readonly id: ThreadId; readonly userId: UserId },
  status: ThreadStatus,
): Promise<ForgeThread | undefined> {
  await holdMailbox(tx, userId);
  const thread = await findThread(tx, id);
  if (thread?.userId !== userId) return undefined;
  await threads.update(tx, { id }, { status, updatedAt: tx.now });
  await changeMailbox(tx, userId, [
    { status: threadStatuses.indexOf(thread.status), by: -1 },
    { status: threadStatuses.indexOf(status), by: 1 },
  ]);
  return { ...thread, status, updatedAt: tx.now };
}

export async function findThread(db: Queries, id: ThreadId): Promise<ForgeThread | undefined> {
  return threads.find(db, { id });
}

/** Returns the ids of an organization's owners. */
export async function listOrganizationOwners(db: Queries, orgId: UserId): Promise<UserId[]> {
  const rows = await db.all<{ id: UserId }>(
    `SELECT DISTINCT m.user_id AS id FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.org_id = ? AND t.access = ? ORDER BY m.user_id`,
    orgId,
    OWNER_ACCESS,
  );
  return rows.map(({ id }) => id);
}

/**
 * Returns the time since which a user watches a repository, in epoch milliseconds; undefined for a user who does not
 * watch it.
 */
export async function findWatch(
  db: Queries,
  repositoryId: RepositoryId,
  userId: UserId,
): Promise<number | undefined> {
  const row = await db.get<{ at: number }>(
    "SELECT created_at AS at FROM forge_watches WHERE repository_id = ? AND user_id = ?",
    repositoryId,
    userId,
  );
  return row?.at;
}

/** Deletes a watch. Idempotent. */
export async function deleteWatch(
  db: Queries,
  repositoryId: RepositoryId,
  userId: UserId,
): Promise<void> {
  await db.run(
    "DELETE FROM forge_watches WHERE repository_id = ? AND user_id = ?",
    repositoryId,
    userId,
  );
}

/** A statement with its parameters. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Returns the query of `listThreads`: one ordered index range for each status, merged, so that it reads only the page. */
export function toPageStatement(
  filter: ThreadFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Statement {
  const ranges = statusesOf(filter).map((status) => toCondition(filter, status));
  const page = ranges
    .map(({ sql }) => `SELECT id, updated_at FROM forge_notifications WHERE ${sql}`)
    .join(" UNION ALL ");
  return {
    sql: `SELECT ${threads.as("n").columns}
          FROM (${page} ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?) page
          JOIN forge_notifications n ON n.id = page.id ORDER BY page.updated_at DESC, page.id DESC`,
    values: [...ranges.flatMap(({ values }) => values), limit, offset],
  };
}

export function toCountStatement(filter: ThreadFilter): Statement {
  if (toRest(filter).sql === "") {
    const counts = statusesOf(filter).map((status) => `${status}_count`);
    return {
      sql: `SELECT ${counts.join(" + ")} AS total FROM forge_mailboxes WHERE user_id = ?`,
      values: [filter.userId],
    };
  }
  const ranges = statusesOf(filter).map((status) => toCondition(filter, status));
  const sums = ranges.map(({ sql }) => `(SELECT COUNT(*) FROM forge_notifications WHERE ${sql})`);
  return {
    sql: `SELECT ${sums.join(" + ")} AS total`,
    values: ranges.flatMap(({ values }) => values),
  };
}

/** Returns the query that counts matching threads by status, without statuses of no thread. */
function toTallyStatement(filter: ThreadFilter): Statement {
  const statuses = statusesOf(filter);
  const rest = toRest(filter);
  return {
    sql: `SELECT status, COUNT(*) AS total FROM forge_notifications
          WHERE user_id = ? AND status IN (${statuses.map(() => "?").join(", ")})${rest.sql} GROUP BY status`,
    values: [
      filter.userId,
      ...statuses.map((status) => threadStatuses.indexOf(status)),
      ...rest.values,
    ],
  };
}

export function toUpdatesStatement(userId: UserId, { after, upTo, limit }: UpdateRange): Statement {
  return {
    sql: `SELECT ${threads.columns}, news_revision FROM forge_notifications
          WHERE user_id = ? AND news_revision > ? AND news_revision <= ? ORDER BY news_revision LIMIT ?`,
    values: [userId, after, upTo, limit],
  };
}

export function toMarkStatement(
  filter: ThreadFilter,
  status: ThreadStatus,
  now: number,
): Statement {
  const statuses = statusesOf(filter);
  const rest = toRest(filter);
  return {
    sql: `UPDATE forge_notifications SET status = ?, updated_at = ?
          WHERE user_id = ? AND status IN (${statuses.map(() => "?").join(", ")})${rest.sql}`,
    values: [
      threadStatuses.indexOf(status),
      now,
      filter.userId,
      ...statuses.map((status) => threadStatuses.indexOf(status)),
      ...rest.values,
    ],
  };
}

function statusesOf({ statuses }: ThreadFilter): readonly ThreadStatus[] {
  return statuses.length === 0 ? threadStatuses : [...new Set(statuses)];
}

function toCondition(filter: ThreadFilter, status: ThreadStatus): Statement {
  const rest = toRest(filter);
  return {
    sql: `user_id = ? AND status = ?${rest.sql}`,
    values: [filter.userId, threadStatuses.indexOf(status), ...rest.values],
  };
}

function toRest({ repositoryId, kinds, since, before }: ThreadFilter): Statement {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (repositoryId !== undefined) {
    conditions.push("repository_id = ?");
    values.push(repositoryId);
  }
  if (kinds.length > 0) {
    conditions.push(`kind IN (${kinds.map(() => "?").join(", ")})`);
    values.push(...kinds.map((kind) => threadKinds[kind]));
  }
  if (since !== undefined) {
    conditions.push("updated_at >= ?");
    values.push(since);
  }
  if (before !== undefined) {
    conditions.push("updated_at <= ?");
    values.push(before);
  }
  return { sql: conditions.map((condition) => ` AND ${condition}`).join(""), values };
}
