import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { StatusId, UserId, RepositoryId } from "../ids.ts";

/** The states of a commit status, as the forge spells them. */
export const commitStates = [
  "pending",
  "success",
  "error",
  "failure",
  "warning",
  "skipped",
] as const;
export type CommitState = (typeof commitStates)[number];

/** A reported status of a commit. Times are epoch milliseconds. */
export interface CommitStatus {
  readonly id: StatusId;
  readonly repositoryId: RepositoryId;
  /** The full object id. */
  readonly commitId: string;
  /** The name of the check; the latest status of a context counts. */
  readonly context: string;
  readonly state: CommitState;
  readonly targetUrl: string;
  readonly description: string;
  /** Undefined once the account is deleted. */
  readonly creatorId: UserId | undefined;
  /** The author of the commit; undefined when no account has the address in it. */
  readonly authorId: UserId | undefined;
  readonly createdAt: number;
}

export async function insertCommitStatus(
  tx: Transaction,
  status: Omit<CommitStatus, "id" | "createdAt">,
): Promise<CommitStatus> {
  const row = await tx.get<StatusRow>(
    `INSERT INTO forge_commit_statuses
       (repository_id, commit_id, context, state, target_url, description, creator_id, author_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${columns}`,
    status.repositoryId,
    status.commitId,
    status.context,
    commitStates.indexOf(status.state),
    status.targetUrl,
    status.description,
    status.creatorId ?? null,
    status.authorId ?? null,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the status returned no row");
  return toStatus(row);
}

export async function findCommitStatus(
  db: Queries,
  id: StatusId,
): Promise<CommitStatus | undefined> {
  const row = await db.get<StatusRow>(
    `SELECT ${columns} FROM forge_commit_statuses WHERE id = ?`,
    id,
  );
  return row && toStatus(row);
}

/** Returns a page of the statuses of a commit, and the total count. */
export async function listCommitStatuses(
  db: Queries,
  commit: { readonly repositoryId: RepositoryId; readonly commitId: string },
  filter: {
    readonly state: CommitState | undefined;
    readonly isOldestFirst: boolean;
    readonly limit: number;
    readonly offset: number;
  },
): Promise<{ readonly statuses: readonly CommitStatus[]; readonly total: number }> {
  const condition = `repository_id = ? AND commit_id = ?${filter.state === undefined ? "" : " AND state = ?"}`;
  const values: SqlValue[] = [commit.repositoryId, commit.commitId];
  if (filter.state !== undefined) values.push(commitStates.indexOf(filter.state));
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_commit_statuses WHERE ${condition}`,
    ...values,
  );
  const rows = await db.all<StatusRow>(
    `SELECT ${columns} FROM forge_commit_statuses WHERE ${condition}
     ORDER BY id ${filter.isOldestFirst ? "ASC" : "DESC"} LIMIT ? OFFSET ?`,
    ...values,
    filter.limit,
    filter.offset,
  );
  return { statuses: rows.map(toStatus), total: counted?.total ?? 0 };
}

/** Returns the latest status of each context of a commit, by context. */
export async function listLatestStatuses(
  db: Queries,
  repositoryId: RepositoryId,
  commitId: string,
): Promise<CommitStatus[]> {
  const rows = await db.all<StatusRow>(
    `SELECT ${columns} FROM forge_commit_statuses WHERE id IN (
       SELECT MAX(s.id) FROM forge_commit_statuses s WHERE s.repository_id = ? AND s.commit_id = ? GROUP BY s.context)
     ORDER BY context, id`,
    repositoryId,
    commitId,
  );
  return rows.map(toStatus);
}

/** Returns the latest final status of a context for commits of a user; `pending` and `skipped` are not final. */
export async function findLastOutcome(
  db: Queries,
  of: { readonly repositoryId: RepositoryId; readonly context: string; readonly authorId: UserId },
): Promise<CommitStatus | undefined> {
  const row = await db.get<StatusRow>(
    `SELECT ${columns} FROM forge_commit_statuses
     WHERE repository_id = ? AND context = ? AND author_id = ? AND state IN (1, 2, 3, 4) ORDER BY id DESC LIMIT 1`,
    of.repositoryId,
    of.context,
    of.authorId,
  );
  return row && toStatus(row);
}

interface StatusRow {
  id: StatusId;
  repository_id: RepositoryId;
  commit_id: string;
  context: string;
  state: number;
  target_url: string;
  description: string;
  creator_id: UserId | null;
  author_id: UserId | null;
  created_at: number;
}

const columns =
  "id, repository_id, commit_id, context, state, target_url, description, creator_id, author_id, created_at";

function toStatus(row: StatusRow): CommitStatus {
  const state = commitStates[row.state];
  if (state === undefined) throw new Error(`status ${row.id} has state ${row.state}`);
  return {
    id: row.id,
    repositoryId: row.repository_id,
    commitId: row.commit_id,
    context: row.context,
    state,
    targetUrl: row.target_url,
    description: row.description,
    creatorId: row.creator_id ?? undefined,
    authorId: row.author_id ?? undefined,
    createdAt: row.created_at,
  };
}
