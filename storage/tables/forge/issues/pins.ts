import type { Queries, Transaction } from "../../../engine/database.ts";
import type { IssueId, RepositoryId } from "../ids.ts";
import { type ForgeIssue, issues } from "./issues.ts";
import { sql } from "../../condition.ts";

/** Returns the pinned issues of a repository, in their order. */
export async function listPinnedIssues(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ForgeIssue[]> {
  const where = sql`repository_id = ${repositoryId} AND pin_order > 0`;
  return issues.list(db, where, { order: "pin_order, id" });
}

/** Pins exactly these issues of a repository, in this order. */
export async function writePins(
  tx: Transaction,
  repositoryId: RepositoryId,
  issueIds: readonly IssueId[],
): Promise<void> {
  await issues.update(tx, sql`repository_id = ${repositoryId} AND pin_order > 0`, { pinOrder: 0 });
  for (const [at, id] of issueIds.entries())
    await issues.update(tx, { id, repositoryId }, { pinOrder: at + 1 });
}
