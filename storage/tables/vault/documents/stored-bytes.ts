// Where the bytes of documents are, for reconciliation.
import type { Queries, Transaction } from "../../../engine/database.ts";
import { now, text, textId, unread } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { ConnectionId, DocumentId } from "../ids.ts";
import { documents, type VaultDocument } from "./documents.ts";

/** Returns up to `limit` documents of the vault's own storage with ids after `afterId`, by id. */
export const listStoredObjects = (
  db: Queries,
  afterId: string,
  limit: number,
): Promise<VaultDocument[]> =>
  documents.list(db, sql`storage_backend = 'internal' AND id > ${afterId}`, {
    order: "id",
    limit,
  });

/**
 * Returns up to `limit` documents of connected storage whose connection or file was deleted, with ids after `afterId`.
 */
export async function listDocumentsWithoutFile(
  db: Queries,
  afterId: string,
  limit: number,
): Promise<DocumentId[]> {
  const rows = await db.all<{ id: DocumentId }>(
    `SELECT document.id FROM vault_documents AS document
     LEFT JOIN vault_items AS item ON item.id = document.item_id AND item.deleted_at IS NULL
     WHERE document.storage_backend <> 'internal' AND document.id > ? AND item.id IS NULL
     ORDER BY document.id LIMIT ?`,
    afterId,
    limit,
  );
  return rows.map(({ id }) => id);
}

/** Records the size and hash that the file of a document in connected storage has now. */
export async function putDocumentBytes(
  tx: Transaction,
  id: DocumentId,
  bytes: Pick<VaultDocument, "sizeBytes" | "sha256">,
): Promise<void> {
  await documents.update(tx, sql`id = ${id} AND storage_backend <> 'internal'`, bytes);
}

const fileWrites = defineTable("vault_stored_file_writes", {
  id: text(),
  connectionId: textId<ConnectionId>(),
  /** The folder; its id at the provider. */
  parentRef: text(),
  /** Unique by a random part. */
  name: text(),
  createdAt: unread(now()),
});
/** A file that is being written into connected storage for a document. */
export type StoredFileWrite = RecordOf<typeof fileWrites>;

export async function insertStoredFileWrite(
  tx: Transaction,
  write: StoredFileWrite,
): Promise<void> {
  await fileWrites.insert(tx, write);
}

export async function deleteStoredFileWrite(db: Queries, id: string): Promise<void> {
  await fileWrites.delete(db, { id });
}

/** Returns up to `limit` writes that began before a moment, with ids after `afterId`, by id. */
export const listStoredFileWrites = (
  db: Queries,
  {
    before,
    afterId,
    limit,
  }: { readonly before: number; readonly afterId: string; readonly limit: number },
): Promise<StoredFileWrite[]> =>
  fileWrites.list(db, sql`created_at < ${before} AND id > ${afterId}`, { order: "id", limit });
