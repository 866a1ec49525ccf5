// Passages of searchable texts with their embeddings: the semantic index.
import type { Queries, Transaction } from "../../engine/database.ts";
import { bytes, generated, id } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { documents, type SemanticIndexStatus } from "./documents/documents.ts";
import { items } from "./items.ts";
import { type SearchFilter, toWhere } from "./search.ts";
import type { AccountId, DocumentId } from "./ids.ts";

const stored = defineTable("vault_search_passages", {
  id: generated(id<number>()),
  entryId: id<number>(),
  embedding: bytes(),
});
/** A passage as a search compares it. */
export type StoredPassage = RecordOf<typeof stored>;

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
  return db.get<IndexedText>(
    `SELECT id AS "entryId", user_id AS "userId", body, changed_at AS "changedAt"
     FROM vault_search_entries WHERE ${column} = ? AND body <> ''`,
    id,
  );
}

/** Sets the status of a document or item in the semantic index. */
export async function setIndexStatus(
  tx: Transaction,
  source: IndexSource,
  status: SemanticIndexStatus,
): Promise<void> {
  const changes = { semanticIndexStatus: status };
  if ("documentId" in source) await documents.update(tx, { id: source.documentId }, changes);
  else await items.update(tx, { id: source.itemId }, changes);
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
  if (now?.changed_at !== changedAt) return false;
  await stored.delete(tx, { entryId });
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
  const rows = await db.all<
    SourceRow & { readonly id: number; readonly is_current: number; readonly has_passages: number }
  >(
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
    entryId: row.id,
    source: toSource(row),
    isCurrent: row.is_current === 1,
    hasPassages: row.has_passages === 1,
  }));
}

/** Returns up to `limit` passages of a model that match a filter, with ids after `afterId`, by id. */
export async function listPassageVectors(
  db: Queries,
  model: string,
  filter: SearchFilter,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<StoredPassage[]> {
  return stored.as("passage").list(
    db,
    sql`vault_search_passages AS passage JOIN vault_search_entries AS entry ON entry.id = passage.entry_id
      WHERE passage.user_id = ${filter.userId} AND passage.model = ${model} AND passage.id > ${afterId}
        AND ${toWhere(filter)}`,
    { order: "passage.id", limit },
  );
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
  const rows = await db.all<PassageRow>(
    `SELECT passage.id, entry.document_id, entry.item_id, entry.title, entry.body, passage.start_offset, passage.end_offset
     FROM vault_search_passages AS passage JOIN vault_search_entries AS entry ON entry.id = passage.entry_id
     WHERE passage.id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  return new Map(
    rows.map((row) => {
      const end = Math.min(row.end_offset, row.start_offset + charactersMax);
      return [
        row.id,
        {
          source: toSource(row),
          title: row.title,
          // Offsets are UTF-16 units, which SQL does not count.
          text: row.body.slice(row.start_offset, end).toWellFormed(),
        },
      ];
    }),
  );
}

type SourceRow =
  | { readonly document_id: DocumentId }
  | { readonly document_id: null; readonly item_id: string };

type PassageRow = SourceRow & {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  readonly start_offset: number;
  readonly end_offset: number;
};

function toSource(row: SourceRow): IndexSource {
  return row.document_id === null ? { itemId: row.item_id } : { documentId: row.document_id };
}

function toColumn(source: IndexSource): readonly ["document_id" | "item_id", string] {
  return "documentId" in source ? ["document_id", source.documentId] : ["item_id", source.itemId];
}
