import type { Transaction } from "../../engine/database.ts";
import type { AccountId, ConnectionId, DocumentId } from "./ids.ts";
import { foldText } from "./search-terms.ts";

/** A text that can be found, of a document or of an item of connected storage. */
export interface SearchEntry {
  readonly userId: AccountId;
  readonly source: { readonly documentId: DocumentId } | { readonly itemId: string };
  /** The file's name. */
  readonly title: string;
  /** Extracted text without control characters other than tab and line feed; empty without a text. */
  readonly body: string;
  readonly contentType: string;
  /** Of an item, or of a document in connected storage. */
  readonly connectionId: ConnectionId | undefined;
}

/** PostgreSQL's tsvector takes at most 1 MiB; the rest is for the title. */
const FOLDED_BYTES_MAX = 960 * 1024;
/** Positions of one word that a tsvector keeps. */
const POSITIONS_MAX = 256;
/** Adds or replaces the entry of a document or item. */
export async function putSearchEntry(tx: Transaction, entry: SearchEntry): Promise<void> {
  const isDocument = "documentId" in entry.source;
  const column = isDocument ? "document_id" : "item_id";
  const id = "documentId" in entry.source ? entry.source.documentId : entry.source.itemId;
  const row = await tx.get<{ id: number }>(
    `INSERT INTO vault_search_entries (user_id, ${column}, title, body, content_type, connection_id, changed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (${column}) DO UPDATE SET title = excluded.title, body = excluded.body,
       content_type = excluded.content_type, connection_id = excluded.connection_id, changed_at = excluded.changed_at
     RETURNING id`,
    entry.userId,
    id,
    entry.title,
    entry.body,
    entry.contentType,
    entry.connectionId ?? null,
    tx.now,
  );
  if (tx.dialect === "postgres" && row !== undefined) await fold(tx, row.id, entry);
}

/** Deletes the entry of an item whose present version has no text. */
export async function deleteSearchEntryOfItem(tx: Transaction, itemId: string): Promise<void> {
  await tx.run("DELETE FROM vault_search_entries WHERE item_id = ?", itemId);
}

/** Changes the title of a document's entry, and leaves its text as it is. */
export async function renameSearchEntry(
  tx: Transaction,
  documentId: DocumentId,
  title: string,
): Promise<void> {
  const row = await tx.get<{ id: number }>(
    "SELECT id FROM vault_search_entries WHERE document_id = ?",
    documentId,
  );
  if (row !== undefined) await setTitle(tx, row.id, title);
}

/** Sets the titles of entries to the present names of their items, of one item or of a folder. */
export async function renameItemEntries(
  tx: Transaction,
  items:
    | { readonly id: string }
    | { readonly connection_id: ConnectionId; readonly parent_ref: string },
): Promise<void> {
  const [where, values] =
    "id" in items
      ? ["item.id = ?", [items.id]]
      : ["item.connection_id = ? AND item.parent_ref = ?", [items.connection_id, items.parent_ref]];
  const renamed = await tx.all<{ id: number; name: string }>(
    `SELECT entry.id, item.name FROM vault_items AS item
     JOIN vault_search_entries AS entry ON entry.item_id = item.id
     WHERE ${where} AND item.deleted_at IS NULL AND entry.title <> item.name`,
    ...values,
  );
  for (const { id, name } of renamed) await setTitle(tx, id, name);
}

async function setTitle(tx: Transaction, id: number, title: string): Promise<void> {
  const row = await tx.get<{ body: string }>(
    "UPDATE vault_search_entries SET title = ? WHERE id = ? RETURNING body",
    title,
    id,
  );
  if (tx.dialect === "postgres" && row !== undefined) await fold(tx, id, { title, body: row.body });
}

async function fold(
  tx: Transaction,
  id: number,
  { title, body }: Pick<SearchEntry, "title" | "body">,
): Promise<void> {
  await tx.run(
    `UPDATE vault_search_entries SET folded =
       setweight(to_tsvector('simple', ?), 'A') || setweight(to_tsvector('simple', ?), 'D') WHERE id = ?`,
    foldText(title),
    cutForTsvector(foldText(body), FOLDED_BYTES_MAX),
    id,
  );
}

/**
 * Returns the beginning of a folded text whose tsvector takes at most `bytesMax`: of each distinct word its bytes and the
 * number of its positions, of each position two bytes. Long texts of many distinct words, such as Korean ones, are cut.
 */
function cutForTsvector(folded: string, bytesMax: number): string {
  const positions = new Map<string, number>();
  let bytes = 0;
  for (const { 0: word, index } of folded.matchAll(/[^ ]+/g)) {
    const count = positions.get(word) ?? 0;
    if (count === 0) bytes += Buffer.byteLength(word) + 4;
    if (count < POSITIONS_MAX) bytes += 2;
    if (bytes > bytesMax) return folded.slice(0, index);
    positions.set(word, count + 1);
  }
  return folded;
}
