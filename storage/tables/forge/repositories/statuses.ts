import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { StatusId, UserId, RepositoryId } from "../ids.ts";
import { coded, generated, id, now, optional, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

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

const statuses = defineTable("forge_commit_statuses", {
  id: generated(id<StatusId>()),
  repositoryId: id<RepositoryId>(),
  /** The full object id. */
  commitId: text(),
  /** The name of the check; the latest status of a context counts. */
  context: text(),
  state: coded(commitStates),
  targetUrl: text(),
  description: text(),
  /** Undefined once the account is deleted. */
  creatorId: optional(id<UserId>()),
  /** The author of the commit; undefined when no account has the address in it. */
  authorId: optional(id<UserId>()),
  createdAt: now(),
});
/** A reported status of a commit. Times are epoch milliseconds. */
export type CommitStatus = RecordOf<typeof statuses>;

export async function insertCommitStatus(
  tx: Transaction,
  status: Omit<CommitStatus, "id" | "createdAt">,
): Promise<CommitStatus> {
  return statuses.insert(tx, status);
}

export async function findCommitStatus(
  db: Queries,
  id: StatusId,
): Promise<CommitStatus | undefined> {
  return statuses.find(db, { id });
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
  const rows = await statuses.readAll(
    db,
    `SELECT ${statuses.columns} FROM forge_commit_statuses WHERE ${condition}
     ORDER BY id ${filter.isOldestFirst ? "ASC" : "DESC"} LIMIT ? OFFSET ?`,
    ...values,
    filter.limit,
    filter.offset,
  );
  return { statuses: rows, total: counted?.total ?? 0 };
}

/** Returns the latest status of each context of a commit, by context. */
export async function listLatestStatuses(
  db: Queries,
  repositoryId: RepositoryId,
  commitId: string,
): Promise<CommitStatus[]> {
  return statuses.list(
    db,
    sql`id IN ( SELECT MAX(s.id) FROM forge_commit_statuses s
        WHERE s.repository_id = ${repositoryId} AND s.commit_id = ${commitId} GROUP BY s.context)`,
    { order: "context, id" },
  );
}

/** Returns the latest final status of a context for commits of a user; `pending` and `skipped` are not final. */
export async function findLastOutcome(
  db: Queries,
  of: { readonly repositoryId: RepositoryId; readonly context: string; readonly authorId: UserId },
): Promise<CommitStatus | undefined> {
  return statuses.find(
    db,
    sql`repository_id = ${of.repositoryId} AND context = ${of.context}
        AND author_id = ${of.authorId} AND state IN (1, 2, 3, 4)`,
    "id DESC",
  );
}
