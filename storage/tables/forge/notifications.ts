import type { Queries, SqlValue, Transaction } from "../../engine/database.ts";
import { OWNER_ACCESS } from "./orgs.ts";

export const threadKinds = ["issue", "pull", "commit", "repository"] as const;
export type ThreadKind = (typeof threadKinds)[number];

export const threadStatuses = ["unread", "read", "pinned"] as const;
export type ThreadStatus = (typeof threadStatuses)[number];

/** One thing that a person is told of. Times are epoch milliseconds. */
export interface ForgeThread {
  readonly id: number;
  readonly userId: number;
  readonly repositoryId: number;
  readonly kind: ThreadKind;
  readonly status: ThreadStatus;
  /** Of `issue` and `pull`. */
  readonly issueId: number | undefined;
  /** Of `commit`. */
  readonly commitId: string | undefined;
  readonly updatedAt: number;
}

/** Whose threads, and which of them. Empty lists choose nothing away; both ends of the time are included. */
export interface ThreadFilter {
  readonly userId: number;
  readonly repositoryId?: number | undefined;
  readonly statuses: readonly ThreadStatus[];
  readonly kinds: readonly ThreadKind[];
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

/** What a person is told: which thread, and when it happened. */
export interface NewThread {
  readonly userId: number;
  readonly repositoryId: number;
  readonly kind: ThreadKind;
  readonly issueId?: number;
  readonly commitId?: string;
  /** Epoch milliseconds. What is not later than the thread's last news is known already and changes nothing. */
  readonly toldAt: number;
}

/**
 * Tells a person something: a new unread thread, or the one of the same issue or commit becomes unread again, unless it
 * is pinned. Returns the thread's id, or undefined when it was told of this already.
 */
export async function tellThread(tx: Transaction, thread: NewThread): Promise<number | undefined> {
  const { userId, repositoryId, kind, issueId = null, commitId = null, toldAt } = thread;
  const key = issueId === null ? "(repository_id, user_id, commit_id)" : "(issue_id, user_id)";
  const row = await tx.get<{ id: number }>(
    `INSERT INTO forge_notifications (user_id, repository_id, kind, status, issue_id, commit_id, told_at, updated_at)
     VALUES (?, ?, ?, 0, ?, ?, ?, ?)
     ON CONFLICT ${key} DO UPDATE SET
       status = CASE WHEN forge_notifications.status = 2 THEN 2 ELSE 0 END,
       told_at = excluded.told_at, updated_at = excluded.updated_at
     WHERE forge_notifications.told_at < excluded.told_at
     RETURNING id`,
    userId,
    repositoryId,
    threadKinds.indexOf(kind) + 1,
    issueId,
    commitId,
    toldAt,
    tx.now,
  );
  if (row !== undefined) await touchMailbox(tx, userId);
  return row?.id;
}

/** A page of a person's threads, the last changed first. */
export async function listThreads(
  db: Queries,
  filter: ThreadFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<ForgeThread[]> {
  const { sql, values } = toPageStatement(filter, window);
  return (await db.all<ThreadRow>(sql, ...values)).map(toThread);
}

/** How many threads fit. */
export async function countThreads(db: Queries, filter: ThreadFilter): Promise<number> {
  const { sql, values } = toCountStatement(filter);
  return (await db.get<{ total: number }>(sql, ...values))?.total ?? 0;
}

/** Gives every thread that fits a status and the time of the transaction, in one statement. Returns how many. */
export async function markThreads(
  tx: Transaction,
  filter: ThreadFilter,
  status: ThreadStatus,
): Promise<number> {
  const { sql, values } = toMarkStatement(filter, status, tx.now);
  const { changes } = await tx.run(sql, ...values);
  if (changes > 0) await touchMailbox(tx, filter.userId);
  return changes;
}

/** Gives one thread of a person a status; undefined when the person has no such thread. */
export async function markThread(
  tx: Transaction,
  { id, userId }: { readonly id: number; readonly userId: number },
  status: ThreadStatus,
): Promise<ForgeThread | undefined> {
  const row = await tx.get<ThreadRow>(
    `UPDATE forge_notifications SET status = ?, updated_at = ? WHERE id = ? AND user_id = ? RETURNING ${threadColumns}`,
    threadStatuses.indexOf(status),
    tx.now,
    id,
    userId,
  );
  if (row !== undefined) await touchMailbox(tx, userId);
  return row && toThread(row);
}

export async function findThread(db: Queries, id: number): Promise<ForgeThread | undefined> {
  const row = await db.get<ThreadRow>(
    `SELECT ${threadColumns} FROM forge_notifications WHERE id = ?`,
    id,
  );
  return row && toThread(row);
}

/** When a person's threads last changed, and a number that grows with each change; zeros while there never was one. */
export async function findMailbox(
  db: Queries,
  userId: number,
): Promise<{ readonly revision: number; readonly changedAt: number }> {
  const row = await db.get<{ revision: number; changed_at: number }>(
    "SELECT revision, changed_at FROM forge_mailboxes WHERE user_id = ?",
    userId,
  );
  return { revision: row?.revision ?? 0, changedAt: row?.changed_at ?? 0 };
}

/** Has everybody who has threads of a repository look again: it is about to go, and the threads with it. */
export async function touchMailboxesOf(tx: Transaction, repositoryId: number): Promise<void> {
  await tx.run(
    `INSERT INTO forge_mailboxes (user_id, revision, changed_at)
     SELECT DISTINCT n.user_id, 1, CAST(? AS BIGINT) FROM forge_notifications n WHERE n.repository_id = ?
     ON CONFLICT (user_id) DO UPDATE SET revision = forge_mailboxes.revision + 1, changed_at = excluded.changed_at`,
    tx.now,
    repositoryId,
  );
}

/** The ids of the people who own an organization. */
export async function listOrganizationOwners(db: Queries, orgId: number): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    `SELECT DISTINCT m.user_id AS id FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.org_id = ? AND t.access = ? ORDER BY m.user_id`,
    orgId,
    OWNER_ACCESS,
  );
  return rows.map(({ id }) => id);
}

/** Since when a person watches a repository, in epoch milliseconds; undefined for whom does not. */
export async function findWatch(
  db: Queries,
  repositoryId: number,
  userId: number,
): Promise<number | undefined> {
  const row = await db.get<{ at: number }>(
    "SELECT created_at AS at FROM forge_watches WHERE repository_id = ? AND user_id = ?",
    repositoryId,
    userId,
  );
  return row?.at;
}

/** Ends a watch; does nothing when there is none. */
export async function deleteWatch(
  db: Queries,
  repositoryId: number,
  userId: number,
): Promise<void> {
  await db.run(
    "DELETE FROM forge_watches WHERE repository_id = ? AND user_id = ?",
    repositoryId,
    userId,
  );
}

/** A statement with its values. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Of `listThreads`: one ordered range of the index per status, merged, so that a page costs what it shows. */
export function toPageStatement(
  filter: ThreadFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Statement {
  const ranges = statusesOf(filter).map((status) => toCondition(filter, status));
  const page = ranges
    .map(({ sql }) => `SELECT id, updated_at FROM forge_notifications WHERE ${sql}`)
    .join(" UNION ALL ");
  return {
    sql: `SELECT ${threadColumns
      .split(", ")
      .map((column) => `n.${column}`)
      .join(", ")}
          FROM (${page} ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?) page
          JOIN forge_notifications n ON n.id = page.id ORDER BY page.updated_at DESC, page.id DESC`,
    values: [...ranges.flatMap(({ values }) => values), limit, offset],
  };
}

export function toCountStatement(filter: ThreadFilter): Statement {
  const ranges = statusesOf(filter).map((status) => toCondition(filter, status));
  const sums = ranges.map(({ sql }) => `(SELECT COUNT(*) FROM forge_notifications WHERE ${sql})`);
  return {
    sql: `SELECT ${sums.join(" + ")} AS total`,
    values: ranges.flatMap(({ values }) => values),
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
      ...statuses.map((each) => threadStatuses.indexOf(each)),
      ...rest.values,
    ],
  };
}

async function touchMailbox(tx: Transaction, userId: number): Promise<void> {
  await tx.run(
    `INSERT INTO forge_mailboxes (user_id, revision, changed_at) VALUES (?, 1, ?)
     ON CONFLICT (user_id) DO UPDATE SET revision = forge_mailboxes.revision + 1, changed_at = excluded.changed_at`,
    userId,
    tx.now,
  );
}

interface ThreadRow {
  id: number;
  user_id: number;
  repository_id: number;
  kind: number;
  status: number;
  issue_id: number | null;
  commit_id: string | null;
  updated_at: number;
}

const threadColumns = "id, user_id, repository_id, kind, status, issue_id, commit_id, updated_at";

function toThread(row: ThreadRow): ForgeThread {
  const kind = threadKinds[row.kind - 1];
  const status = threadStatuses[row.status];
  if (kind === undefined || status === undefined)
    throw new Error(`thread ${row.id} has kind ${row.kind} and status ${row.status}`);
  return {
    id: row.id,
    userId: row.user_id,
    repositoryId: row.repository_id,
    kind,
    status,
    issueId: row.issue_id ?? undefined,
    commitId: row.commit_id ?? undefined,
    updatedAt: row.updated_at,
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
    values.push(...kinds.map((kind) => threadKinds.indexOf(kind) + 1));
  }
  if (since !== undefined) {
    conditions.push("updated_at >= ?");
    values.push(since);
  }
  if (before !== undefined) {
    conditions.push("updated_at <= ?");
    values.push(before);
  }
  return { sql: conditions.map((each) => ` AND ${each}`).join(""), values };
}
