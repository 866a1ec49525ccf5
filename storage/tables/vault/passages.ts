// Passages of searchable texts with their embeddings: the semantic index.
import type { Queries, Transaction } from "../../engine/database.ts";
import { bytes, generated, id, integer, named, text, textId, unread } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { documents, type SemanticIndexStatus } from "./documents/documents.ts";
import { items } from "./items.ts";
import { type SearchFilter, toWhere } from "./search.ts";
import type { AccountId, DocumentId } from "./ids.ts";

const stored = defineTable("vault_search_passages", {
  id: generated(id<number>()),
  entryId: id<number>(),
  userId: unread(textId<AccountId>()),
  /** UTF-16 offsets in the body. */
  start: named("start_offset", unread(integer())),
  end: named("end_offset", unread(integer())),
  model: unread(text()),
  /** 32-bit floats, little-endian, of length one. */
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
  for (const passage of passages) await stored.insert(tx, { ...passage, entryId, userId, model });
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
