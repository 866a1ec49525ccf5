import type { Queries, Transaction } from "../../engine/database.ts";

export type AnalysisStatus = "none" | "pending" | "processing" | "ready" | "failed" | "unsupported";
export type IndexStatus = "none" | "pending" | "ready" | "failed" | "stale";

/** What an analysis left with an item. */
export interface ItemAnalysis {
  readonly extractedText: string | undefined;
  readonly topics: readonly string[];
  readonly unsupportedReason: string | undefined;
}

/** What an analysis found out about an item. */
export async function getItemAnalysis(db: Queries, id: string): Promise<ItemAnalysis> {
  const row = await db.get<{
    extracted_text: string | null;
    topics: string;
    unsupported_analysis_reason: string | null;
  }>(
    "SELECT extracted_text, topics, unsupported_analysis_reason FROM vault_items WHERE id = ?",
    id,
  );
  return {
    extractedText: row?.extracted_text ?? undefined,
    topics: row === undefined ? [] : (JSON.parse(row.topics) as string[]),
    unsupportedReason: row?.unsupported_analysis_reason ?? undefined,
  };
}

/** Notes that an analysis was asked for; false when the item is gone. */
export async function markAnalysisPending(tx: Transaction, id: string): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_items SET analysis_status = 'pending' WHERE id = ? AND deleted_at IS NULL",
    id,
  );
  return changes > 0;
}

/** Sets the status of an analysis that begins or ended without a text. False when the item is gone. */
export async function setAnalysisStatus(
  tx: Transaction,
  id: string,
  status: AnalysisStatus,
  unsupportedReason?: string,
): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_items SET analysis_status = ?, unsupported_analysis_reason = ?
     WHERE id = ? AND deleted_at IS NULL`,
    status,
    unsupportedReason ?? null,
    id,
  );
  return changes > 0;
}

/** Records the text and the topics of an item. False when the item is gone. */
export async function putItemAnalysis(
  tx: Transaction,
  id: string,
  { text, topics }: { readonly text: string; readonly topics: readonly string[] },
): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_items SET analysis_status = 'ready', unsupported_analysis_reason = NULL, extracted_text = ?, topics = ?
     WHERE id = ? AND deleted_at IS NULL`,
    text,
    JSON.stringify(topics),
    id,
  );
  return changes > 0;
}
