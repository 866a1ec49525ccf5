import type { Queries, Transaction } from "../../../engine/database.ts";
import { groupValues, inChunksOfIds } from "../../chunks.ts";
import { id } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable } from "../../table.ts";
import { type ForgeLabel, labels } from "../repositories/labels.ts";
import type { IssueId, LabelId } from "../ids.ts";

const issueLabels = defineTable("forge_issue_labels", {
  issueId: id<IssueId>(),
  labelId: id<LabelId>(),
});

/** Adds labels to an issue. Idempotent. */
export async function insertIssueLabels(
  tx: Transaction,
  issueId: IssueId,
  labelIds: readonly LabelId[],
): Promise<void> {
  const conflict = "ON CONFLICT (issue_id, label_id) DO NOTHING";
  for (const labelId of labelIds) await issueLabels.upsert(tx, { issueId, labelId }, conflict);
}

/** Takes labels off an issue. Idempotent. */
export async function deleteIssueLabels(
  tx: Transaction,
  issueId: IssueId,
  labelIds: readonly LabelId[],
): Promise<void> {
  for (const labelId of labelIds) await issueLabels.delete(tx, { issueId, labelId });
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

/** Returns the labels of issues, by name, by the id of the issue. */
export async function listLabelsOfIssues(
  db: Queries,
  issueIds: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, readonly ForgeLabel[]>> {
  const rows = await inChunksOfIds(issueIds, (ids) => {
    const { sql: condition, values } = sql`i.issue_id IN (${ids})`;
    return db.all<{ issue_id: IssueId }>(
      `SELECT i.issue_id, ${labels.as("l").columns} FROM forge_issue_labels i JOIN forge_labels l ON l.id = i.label_id
       WHERE ${condition} ORDER BY l.name, l.id`,
      ...values,
    );
  });
  return groupValues(rows, (row) => row.issue_id, labels.read);
}
