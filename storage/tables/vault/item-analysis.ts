import type { Queries, Transaction } from "../../engine/database.ts";
import { type AnalysisStatus, items } from "./items.ts";
import { toRefKey } from "./refs.ts";
import type { ConnectionId } from "./ids.ts";

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
    unsupported_analysis_reason: string | null;
    is_stale: number;
  }>(
    `SELECT extracted_text, unsupported_analysis_reason,
       CASE WHEN extracted_text IS NOT NULL AND analyzed_version IS DISTINCT FROM version THEN 1 ELSE 0 END AS is_stale
     FROM vault_items WHERE id = ?`,
    id,
  );
  const topics = await db.all<{ name: string }>(
    `SELECT topic.name FROM vault_item_topics AS link JOIN vault_topics AS topic ON topic.id = link.topic_id
     WHERE link.item_id = ? ORDER BY topic.name_key`,
    id,
  );
  return {
    extractedText: row?.extracted_text ?? undefined,
    topics: topics.map(({ name }) => name),
    unsupportedReason: row?.unsupported_analysis_reason ?? undefined,
    isStale: Number(row?.is_stale ?? 0) === 1,
  };
}

/** Marks the analysis of an item as pending. Returns false when the item does not exist. */
export async function markAnalysisPending(tx: Transaction, id: string): Promise<boolean> {
  const live = { id, deletedAt: undefined };
  return (await items.update(tx, live, { analysisStatus: "pending" })) > 0;
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
  const changes = await items.update(
    tx,
    { id, deletedAt: undefined },
    {
      analysisStatus: result.status,
      unsupportedAnalysisReason: result.reason,
      analyzedVersion: result.version,
      extractedText: undefined,
    },
  );
  await setItemTopics(tx, id, []);
  return changes > 0;
}

/** Sets the status of an analysis that starts or was abandoned. Returns false when the item does not exist. */
export async function setAnalysisStatus(
  tx: Transaction,
  id: string,
  analysisStatus: AnalysisStatus,
  unsupportedAnalysisReason?: string,
): Promise<boolean> {
  const changes = { analysisStatus, unsupportedAnalysisReason };
  return (await items.update(tx, { id, deletedAt: undefined }, changes)) > 0;
}

/**
 * Records the text and the topics of an item; a topic that was deleted since is left out. Returns false when the item does
 * not exist.
 */
export async function putItemAnalysis(
  tx: Transaction,
  id: string,
  {
    text,
    missing,
    topicIds,
    version,
  }: {
    readonly text: string;
    /** Why a part of the text is missing; undefined for the whole text. */
    readonly missing: string | undefined;
    readonly topicIds: readonly string[];
    /** The version that was read. */
    readonly version: string | undefined;
  },
): Promise<boolean> {
  const changes = await items.update(
    tx,
    { id, deletedAt: undefined },
    {
      analysisStatus: "ready",
      unsupportedAnalysisReason: missing,
      extractedText: text,
      analyzedVersion: version,
    },
  );
  if (changes === 0) return false;
  await setItemTopics(tx, id, topicIds);
  return true;
}

async function setItemTopics(
  tx: Transaction,
  itemId: string,
  topicIds: readonly string[],
): Promise<void> {
  await tx.run("DELETE FROM vault_item_topics WHERE item_id = ?", itemId);
  for (const topicId of topicIds)
    await tx.run(
      `INSERT INTO vault_item_topics (item_id, topic_id) SELECT ?, id FROM vault_topics WHERE id = ?
       ON CONFLICT DO NOTHING`,
      itemId,
      topicId,
    );
}
