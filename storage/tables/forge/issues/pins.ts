import type { Queries, Transaction } from "../../../engine/database.ts";
import type { IssueId, RepositoryId } from "../ids.ts";
import { type ForgeIssue, issues } from "./issues.ts";
import { sql } from "../../condition.ts";

/** Returns the pinned issues or the pinned pull requests of a repository, in their order. */
export async function listPinnedIssues(
  db: Queries,
  repositoryId: RepositoryId,
  isPull: boolean,
): Promise<ForgeIssue[]> {
  const where = sql`repository_id = ${repositoryId} AND pin_order > 0 AND is_pull = ${isPull}`;
  return issues.list(db, where, { order: "pin_order, id" });
}

/** Pins exactly these issues or pull requests of a repository, in this order. */
export async function writePins(
  tx: Transaction,
  { repositoryId, isPull }: Pick<ForgeIssue, "repositoryId" | "isPull">,
  issueIds: readonly IssueId[],
): Promise<void> {
  const pinned = sql`repository_id = ${repositoryId} AND pin_order > 0 AND is_pull = ${isPull}`;
  await issues.update(tx, pinned, { pinOrder: 0 });
  for (const [at, id] of issueIds.entries())
    await issues.update(tx, { id, repositoryId }, { pinOrder: at + 1 });
}
