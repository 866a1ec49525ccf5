// Passages of searchable texts with their embeddings: the semantic index.
import type { Queries, Row, Transaction } from "../../engine/database.ts";
import type { SemanticIndexStatus } from "./documents/documents.ts";
import { type SearchFilter, toWhere } from "./search.ts";
import { type AccountId, type DocumentId, toAccountId, toDocumentId } from "./ids.ts";

/** A document or an analysed item, by row id. */
export type IndexSource = { readonly documentId: DocumentId } | { readonly itemId: string };

/** A text to be indexed. */
export interface IndexedText {
  readonly entryId: number;
  readonly userId: AccountId;
  readonly body: string;
  /** Time of the last change in epoch milliseconds: two different texts never have the same time. */
  readonly changedAt: number;
}

/** A part of a text with its embedding. */
export interface Passage {
  /** UTF-16 offsets in the body. */
  readonly start: number;
  readonly end: number;
  /** 32-bit floats, little-endian, of length one. */
  readonly embedding: Uint8Array;
}

/** Returns the searchable text of a document or item; undefined when it has no text. */
export async function findIndexedText(
  db: Queries,
  source: IndexSource,
): Promise<IndexedText | undefined> {
  const [column, id] = toColumn(source);
  const row = await db.get(
    `SELECT id, user_id, body, changed_at FROM vault_search_entries WHERE ${column} = ? AND body <> ''`,
    id,
  );
  return (
    row && {
      entryId: Number(row["id"]),
      userId: toAccountId(row["user_id"]),
      body: String(row["body"]),
      changedAt: Number(row["changed_at"]),
    }
  );
}

/** Sets the status of a document or item in the semantic index. */
export async function setIndexStatus(
  tx: Transaction,
  source: IndexSource,
  status: SemanticIndexStatus,
): Promise<void> {
  const [column, id] = toColumn(source);
  const table = column === "document_id" ? "vault_documents" : "vault_items";
  await tx.run(`UPDATE ${table} SET semantic_index_status = ? WHERE id = ?`, status, id);
}

/**
 * Replaces the passages of a text by those of one model. Returns false and changes nothing if the text has changed
 * since it was read.
 */
export async function replacePassages(
  tx: Transaction,
  { entryId, userId, changedAt }: IndexedText,
  model: string,
  passages: readonly Passage[],
): Promise<boolean> {
  const now = await tx.get<{ changed_at: number }>(
    "SELECT changed_at FROM vault_search_entries WHERE id = ?",
    entryId,
  );
  if (now === undefined || Number(now.changed_at) !== changedAt) return false;
  await tx.run("DELETE FROM vault_search_passages WHERE entry_id = ?", entryId);
  for (const { start, end, embedding } of passages)
    await tx.run(
      `INSERT INTO vault_search_passages (entry_id, user_id, start_offset, end_offset, model, embedding)
       VALUES (?, ?, ?, ?, ?, ?)`,
      entryId,
      userId,
      start,
      end,
      model,
      embedding,
    );
  return true;
}

/** Deletes the passages of a document or item. */
export async function deletePassages(tx: Transaction, source: IndexSource): Promise<void> {
  const [column, id] = toColumn(source);
  await tx.run(
    `DELETE FROM vault_search_passages
     WHERE entry_id IN (SELECT id FROM vault_search_entries WHERE ${column} = ?)`,
    id,
  );
}

/** Returns the bytes of an embedding of a model, or undefined when the index has no embedding of it. */
export async function findEmbeddingBytes(db: Queries, model: string): Promise<number | undefined> {
  const row = await db.get<{ bytes: number }>(
    "SELECT length(embedding) AS bytes FROM vault_search_passages WHERE model = ? ORDER BY id DESC LIMIT 1",
    model,
  );
  return row && Number(row.bytes);
}

/** A text with the state of its passages, for rebuilding the index. */
export interface IndexState {
  readonly entryId: number;
  readonly source: IndexSource;
  /** It has passages of the requested model. */
  readonly isCurrent: boolean;
  /** It has passages of any model. */
  readonly hasPassages: boolean;
}

/** Returns up to `limit` texts with ids after `afterId`, by id. */
export async function listIndexStates(
  db: Queries,
  model: string,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<IndexState[]> {
  const rows = await db.all(
    `SELECT entry.id, entry.document_id, entry.item_id,
       CASE WHEN EXISTS (SELECT 1 FROM vault_search_passages AS passage
         WHERE passage.entry_id = entry.id AND passage.model = ?) THEN 1 ELSE 0 END AS is_current,
       CASE WHEN EXISTS (SELECT 1 FROM vault_search_passages AS passage
         WHERE passage.entry_id = entry.id) THEN 1 ELSE 0 END AS has_passages
     FROM vault_search_entries AS entry WHERE entry.id > ? AND entry.body <> '' ORDER BY entry.id LIMIT ?`,
    model,
    afterId,
    limit,
  );
  return rows.map((row) => ({
    entryId: Number(row["id"]),
    source:
      row["document_id"] === null
        ? { itemId: String(row["item_id"]) }
        : { documentId: toDocumentId(row["document_id"]) },
    isCurrent: Number(row["is_current"]) === 1,
    hasPassages: Number(row["has_passages"]) === 1,
  }));
}

/** A passage as a search compares it. */
export interface StoredPassage {
  readonly id: number;
  readonly entryId: number;
  readonly embedding: Uint8Array;
}

/** Returns up to `limit` passages of a model that match a filter, with ids after `afterId`, by id. */
export async function listPassageVectors(
  db: Queries,
  model: string,
  filter: SearchFilter,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<StoredPassage[]> {
  const { where, values } = toWhere(filter);
  const rows = await db.all(
    `SELECT passage.id, passage.entry_id, passage.embedding FROM vault_search_passages AS passage
     JOIN vault_search_entries AS entry ON entry.id = passage.entry_id
     WHERE passage.user_id = ? AND passage.model = ? AND passage.id > ? AND ${where}
     ORDER BY passage.id LIMIT ?`,
    filter.userId,
    model,
    afterId,
    ...values,
    limit,
  );
  return rows.map((row) => ({
    id: Number(row["id"]),
    entryId: Number(row["entry_id"]),
    embedding: row["embedding"] as Uint8Array,
  }));
}

/** Returns the sources and texts of passages, by passage id. */
export async function findPassageTexts(
  db: Queries,
  ids: readonly number[],
  charactersMax: number,
): Promise<
  ReadonlyMap<
    number,
    { readonly source: IndexSource; readonly title: string; readonly text: string }
  >
> {
  if (ids.length === 0) return new Map();
  const rows = await db.all<Row>(
    `SELECT passage.id, entry.document_id, entry.item_id, entry.title, entry.body, passage.start_offset, passage.end_offset
     FROM vault_search_passages AS passage JOIN vault_search_entries AS entry ON entry.id = passage.entry_id
     WHERE passage.id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  return new Map(
    rows.map((row) => {
      const start = Number(row["start_offset"]);
      const end = Math.min(Number(row["end_offset"]), start + charactersMax);
      return [
        Number(row["id"]),
        {
          source:
            row["document_id"] === null
              ? { itemId: String(row["item_id"]) }
              : { documentId: toDocumentId(row["document_id"]) },
          title: String(row["title"]),
          // Offsets are UTF-16 units, which SQL does not count.
          text: String(row["body"]).slice(start, end).toWellFormed(),
        },
      ];
    }),
  );
}

function toColumn(source: IndexSource): readonly ["document_id" | "item_id", string] {
  return "documentId" in source ? ["document_id", source.documentId] : ["item_id", source.itemId];
}
