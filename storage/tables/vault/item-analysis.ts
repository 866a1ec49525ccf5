import { z } from "zod";
import type { Queries, Transaction } from "../../engine/database.ts";
import { parseColumn } from "../../engine/json-column.ts";
import { toRefKey } from "./refs.ts";
import type { ConnectionId } from "./ids.ts";

const topicsSchema = z.array(z.string());

export type AnalysisStatus = "none" | "pending" | "processing" | "ready" | "failed" | "unsupported";
export type IndexStatus = "none" | "pending" | "ready" | "failed" | "stale";

/** The result of an item's analysis. */
export interface ItemAnalysis {
  readonly extractedText: string | undefined;
  readonly topics: readonly string[];
  /** Why the text, or a part of it, is missing. */
  readonly unsupportedReason: string | undefined;
  /** The item has changed since its text was extracted. */
  readonly isStale: boolean;
}

/** Returns the result of an item's analysis. */
export async function getItemAnalysis(db: Queries, id: string): Promise<ItemAnalysis> {
  const row = await db.get<{
    extracted_text: string | null;
    topics: string;
    unsupported_analysis_reason: string | null;
    is_stale: number;
  }>(
    `SELECT extracted_text, topics, unsupported_analysis_reason,
       CASE WHEN extracted_text IS NOT NULL AND analyzed_version IS DISTINCT FROM version THEN 1 ELSE 0 END AS is_stale
     FROM vault_items WHERE id = ?`,
    id,
  );
  return {
    extractedText: row?.extracted_text ?? undefined,
    topics: row === undefined ? [] : parseColumn(topicsSchema, row.topics, "vault_items.topics"),
    unsupportedReason: row?.unsupported_analysis_reason ?? undefined,
    isStale: Number(row?.is_stale ?? 0) === 1,
  };
}

/** Marks the analysis of an item as pending. Returns false when the item does not exist. */
export async function markAnalysisPending(tx: Transaction, id: string): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_items SET analysis_status = 'pending' WHERE id = ? AND deleted_at IS NULL",
    id,
  );
  return changes > 0;
}

/**
 * Returns up to `limit` ids of files in a folder that were never analysed, or have changed since. Files of documents are
 * left out: a document is analysed by a job of its own.
 */
export async function listUnanalysed(
  db: Queries,
  folder: { readonly connectionId: ConnectionId; readonly parentRef: string },
  { bytesMax, limit }: { readonly bytesMax: number; readonly limit: number },
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM vault_items
     WHERE connection_id = ? AND parent_ref = ? AND deleted_at IS NULL AND kind = 'file'
       AND (provider_size IS NULL OR provider_size <= ?)
       AND (analysis_status = 'none' OR (analysis_status IN ('ready', 'failed', 'unsupported')
         AND analyzed_version IS DISTINCT FROM version))
       AND NOT EXISTS (SELECT 1 FROM vault_documents WHERE vault_documents.item_id = vault_items.id)
     LIMIT ?`,
    folder.connectionId,
    toRefKey(folder.parentRef),
    bytesMax,
    limit,
  );
  return rows.map(({ id }) => id);
}

/**
 * Records that a version of an item has no readable text, with the reason. Returns false when the item does not exist.
 */
export async function putUnreadable(
  tx: Transaction,
  id: string,
  result: {
    readonly status: "failed" | "unsupported";
    readonly reason: string;
    readonly version: string | undefined;
  },
): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_items SET analysis_status = ?, unsupported_analysis_reason = ?, analyzed_version = ?,
       extracted_text = NULL, topics = '[]'
     WHERE id = ? AND deleted_at IS NULL`,
    result.status,
    result.reason,
    result.version ?? null,
    id,
  );
  return changes > 0;
}

/** Sets the status of an analysis that starts or was abandoned. Returns false when the item does not exist. */
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

/** Records the text and the topics of an item. Returns false when the item does not exist. */
export async function putItemAnalysis(
  tx: Transaction,
  id: string,
  {
    text,
    missing,
    topics,
    version,
  }: {
    readonly text: string;
    /** Why a part of the text is missing; undefined for the whole text. */
    readonly missing: string | undefined;
    readonly topics: readonly string[];
    /** The version that was read. */
    readonly version: string | undefined;
  },
): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_items SET analysis_status = 'ready', unsupported_analysis_reason = ?, extracted_text = ?, topics = ?,
       analyzed_version = ?
     WHERE id = ? AND deleted_at IS NULL`,
    missing ?? null,
    text,
    JSON.stringify(topics),
    version ?? null,
    id,
  );
  return changes > 0;
}
