import type { Queries, Transaction } from "../../../engine/database.ts";
import {
  type ForgeLabel,
  joinedLabelColumns,
  type LabelRow,
  toLabel,
} from "../repositories/labels.ts";
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
export async function listIssueLabels(db: Queries, issueId: IssueId): Promise<ForgeLabel[]> {
  const rows = await db.all<LabelRow>(
    `SELECT ${joinedLabelColumns}
     FROM forge_issue_labels i JOIN forge_labels l ON l.id = i.label_id WHERE i.issue_id = ? ORDER BY l.name, l.id`,
    issueId,
  );
  return rows.map(toLabel);
}
