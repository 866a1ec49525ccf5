import type { Queries, Transaction } from "../../../engine/database.ts";
import { type ForgeIssue, issues } from "./issues.ts";
import type { IssueId } from "../ids.ts";

/** A dependency: `issueId` may be closed only after `blockerId`. */
export interface IssueDependency {
  readonly issueId: IssueId;
  readonly blockerId: IssueId;
}

/** Adds a dependency. Returns whether it is new. */
export async function insertDependency(
  tx: Transaction,
  { issueId, blockerId }: IssueDependency,
): Promise<boolean> {
  const row = await tx.get<{ id: number }>(
    `INSERT INTO forge_issue_dependencies (issue_id, blocker_id, created_at) VALUES (?, ?, ?)
     ON CONFLICT (issue_id, blocker_id) DO NOTHING RETURNING id`,
    issueId,
    blockerId,
    tx.now,
  );
  return row !== undefined;
}

/** Deletes a dependency. Returns whether it was there. */
export async function deleteDependency(
  tx: Transaction,
  { issueId, blockerId }: IssueDependency,
): Promise<boolean> {
  const row = await tx.get<{ id: number }>(
    "DELETE FROM forge_issue_dependencies WHERE issue_id = ? AND blocker_id = ? RETURNING id",
    issueId,
    blockerId,
  );
  return row !== undefined;
}

/** Returns the issues that block an issue, or with `blocked` those that it blocks, in the order of their addition. */
export async function listDependencies(
  db: Queries,
  issueId: IssueId,
  side: "blockers" | "blocked",
): Promise<readonly ForgeIssue[]> {
  const [own, other] =
    side === "blockers" ? ["issue_id", "blocker_id"] : ["blocker_id", "issue_id"];
  return issues.readAll(
    db,
    `SELECT ${issues.columns} FROM forge_issues
     JOIN (SELECT ${other} AS other_id, id AS place FROM forge_issue_dependencies WHERE ${own} = ?) AS dependency
       ON dependency.other_id = forge_issues.id
     ORDER BY dependency.place`,
    issueId,
  );
}

/** Returns whether an issue depends on another one, directly or through others. */
export async function dependsOn(
  db: Queries,
  { issueId, blockerId }: IssueDependency,
): Promise<boolean> {
  const row = await db.get<{ found: number }>(
    `WITH RECURSIVE reached (id) AS (
       SELECT blocker_id FROM forge_issue_dependencies WHERE issue_id = ?
       UNION
       SELECT dependency.blocker_id FROM forge_issue_dependencies AS dependency
       JOIN reached ON reached.id = dependency.issue_id
     )
     SELECT 1 AS found FROM reached WHERE id = ? LIMIT 1`,
    issueId,
    blockerId,
  );
  return row !== undefined;
}

/** Returns how many dependencies an issue has, as the blocked and as the blocking one. */
export async function countDependencies(db: Queries, issueId: IssueId): Promise<number> {
  const row = await db.get<{ count: number }>(
    "SELECT COUNT(*) AS count FROM forge_issue_dependencies WHERE issue_id = ? OR blocker_id = ?",
    issueId,
    issueId,
  );
  return row?.count ?? 0;
}

/** Returns whether an issue waits for another one that is open. */
export async function hasOpenBlocker(db: Queries, issueId: IssueId): Promise<boolean> {
  const row = await db.get<{ found: number }>(
    `SELECT 1 AS found FROM forge_issue_dependencies AS dependency
     JOIN forge_issues AS blocker ON blocker.id = dependency.blocker_id
     WHERE dependency.issue_id = ? AND blocker.is_closed = 0 LIMIT 1`,
    issueId,
  );
  return row !== undefined;
}
