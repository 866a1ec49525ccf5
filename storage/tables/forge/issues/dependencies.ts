import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, now } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { type ForgeIssue, issues } from "./issues.ts";
import type { IssueId } from "../ids.ts";

const dependencies = defineTable("forge_issue_dependencies", {
  issueId: id<IssueId>(),
  blockerId: id<IssueId>(),
  createdAt: now(),
});
/** A dependency: `issueId` may be closed only after `blockerId`. */
export type IssueDependency = Pick<RecordOf<typeof dependencies>, "issueId" | "blockerId">;

/** Adds a dependency. Returns whether it is new. */
export async function insertDependency(
  tx: Transaction,
  dependency: IssueDependency,
): Promise<boolean> {
  const conflict = "ON CONFLICT (issue_id, blocker_id) DO NOTHING";
  return (await dependencies.upsert(tx, dependency, conflict)) !== undefined;
}

/** Deletes a dependency. Returns whether it was there. */
export async function deleteDependency(
  tx: Transaction,
  { issueId, blockerId }: IssueDependency,
): Promise<boolean> {
  return (await dependencies.delete(tx, { issueId, blockerId })) > 0;
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
export const countDependencies = (db: Queries, issueId: IssueId): Promise<number> =>
  dependencies.count(db, sql`issue_id = ${issueId} OR blocker_id = ${issueId}`);

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
