// Where the bytes of documents are, for reconciliation.
import type { Queries, Transaction } from "../../../engine/database.ts";
import {
  type AccountId,
  type ConnectionId,
  type DocumentId,
  toAccountId,
  toConnectionId,
  toDocumentId,
} from "../ids.ts";

/** One internal document as reconciliation needs it. */
export interface StoredObject {
  readonly id: DocumentId;
  readonly userId: AccountId;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Returns up to `limit` documents of the vault's own storage with ids after `afterId`, by id. */
export async function listStoredObjects(
  db: Queries,
  afterId: string,
  limit: number,
): Promise<StoredObject[]> {
  const rows = await db.all(
    `SELECT id, user_id, sha256, size_bytes FROM vault_documents
     WHERE storage_backend = 'internal' AND id > ? ORDER BY id LIMIT ?`,
    afterId,
    limit,
  );
  return rows.map((row) => ({
    id: toDocumentId(row["id"]),
    userId: toAccountId(row["user_id"]),
    sha256: String(row["sha256"]),
    sizeBytes: Number(row["size_bytes"]),
  }));
}

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
  { sizeBytes, sha256 }: { readonly sizeBytes: number; readonly sha256: string },
): Promise<void> {
  await tx.run(
    "UPDATE vault_documents SET size_bytes = ?, sha256 = ? WHERE id = ? AND storage_backend <> 'internal'",
    sizeBytes,
    sha256,
    id,
  );
}

/** A file that is being written into connected storage for a document. */
export interface StoredFileWrite {
  readonly id: string;
  readonly connectionId: ConnectionId;
  /** The folder; its id at the provider. */
  readonly parentRef: string;
  /** Unique by a random part. */
  readonly name: string;
}

export async function insertStoredFileWrite(
  tx: Transaction,
  write: StoredFileWrite,
): Promise<void> {
  await tx.run(
    "INSERT INTO vault_stored_file_writes (id, connection_id, parent_ref, name, created_at) VALUES (?, ?, ?, ?, ?)",
    write.id,
    write.connectionId,
    write.parentRef,
    write.name,
    tx.now,
  );
}

export async function deleteStoredFileWrite(db: Queries, id: string): Promise<void> {
  await db.run("DELETE FROM vault_stored_file_writes WHERE id = ?", id);
}

/** Returns up to `limit` writes that began before a moment, with ids after `afterId`, by id. */
export async function listStoredFileWrites(
  db: Queries,
  {
    before,
    afterId,
    limit,
  }: { readonly before: number; readonly afterId: string; readonly limit: number },
): Promise<StoredFileWrite[]> {
  const rows = await db.all(
    `SELECT id, connection_id, parent_ref, name FROM vault_stored_file_writes
     WHERE created_at < ? AND id > ? ORDER BY id LIMIT ?`,
    before,
    afterId,
    limit,
  );
  return rows.map((row) => ({
    id: String(row["id"]),
    connectionId: toConnectionId(row["connection_id"]),
    parentRef: String(row["parent_ref"]),
    name: String(row["name"]),
  }));
}
