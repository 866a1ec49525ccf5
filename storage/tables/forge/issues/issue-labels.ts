import type { Queries, Transaction } from "../../../engine/database.ts";
import { sql } from "../../condition.ts";
import { type ForgeLabel, labels } from "../repositories/labels.ts";
import type { IssueId, LabelId } from "../ids.ts";

/** Adds labels to an issue. Idempotent. */
export async function insertIssueLabels(
  tx: Transaction,
  issueId: IssueId,
  labelIds: readonly LabelId[],
): Promise<void> {
  for (const labelId of labelIds)
    await tx.run(
      `INSERT INTO forge_issue_labels (issue_id, label_id) VALUES (?, ?)
       ON CONFLICT (issue_id, label_id) DO NOTHING`,
      issueId,
      labelId,
    );
}

/** Takes labels off an issue. Idempotent. */
export async function deleteIssueLabels(
  tx: Transaction,
  issueId: IssueId,
  labelIds: readonly LabelId[],
): Promise<void> {
  for (const labelId of labelIds)
    await tx.run(
      "DELETE FROM forge_issue_labels WHERE issue_id = ? AND label_id = ?",
      issueId,
      labelId,
    );
}

/** Returns the labels of an issue, by name. */
export const listIssueLabels = (db: Queries, issueId: IssueId): Promise<ForgeLabel[]> =>
  labels
    .as("l")
    .list(
      db,
      sql`forge_issue_labels i JOIN forge_labels l ON l.id = i.label_id WHERE i.issue_id = ${issueId}`,
      { order: "l.name, l.id" },
    );
