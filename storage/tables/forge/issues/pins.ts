import type { Queries, Transaction } from "../../../engine/database.ts";
import type { IssueId, RepositoryId } from "../ids.ts";
import { type ForgeIssue, issueColumns, type IssueRow, toIssue } from "./issues.ts";

/** Returns the pinned issues of a repository, in their order. */
export async function listPinnedIssues(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ForgeIssue[]> {
  const rows = await db.all<IssueRow>(
    `SELECT ${issueColumns} FROM forge_issues WHERE repository_id = ? AND pin_order > 0 ORDER BY pin_order, id`,
    repositoryId,
  );
  return rows.map(toIssue);
}

/** Pins exactly these issues of a repository, in this order. */
export async function writePins(
  tx: Transaction,
  repositoryId: RepositoryId,
  issueIds: readonly IssueId[],
): Promise<void> {
  await tx.run(
    "UPDATE forge_issues SET pin_order = 0 WHERE repository_id = ? AND pin_order > 0",
    repositoryId,
  );
  for (const [at, id] of issueIds.entries())
    await tx.run(
      "UPDATE forge_issues SET pin_order = ? WHERE id = ? AND repository_id = ?",
      at + 1,
      id,
      repositoryId,
    );
}
