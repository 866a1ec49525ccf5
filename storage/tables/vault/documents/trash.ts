// Documents in the trash.
import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import type { Window } from "../../table.ts";
import { type AccountId, type DocumentId, toAccountId, toDocumentId } from "../ids.ts";
import { documentColumns, toDocument, type VaultDocument } from "./documents.ts";

/** A document in the trash. `bytes` is its size with that of its versions. */
export interface TrashedDocument {
  readonly id: DocumentId;
  readonly userId: AccountId;
  readonly filename: string;
  readonly bytes: number;
}

/** The size of a document in the vault's own storage, with its versions. */
const BYTES = `(document.size_bytes + (SELECT CAST(COALESCE(sum(version.size_bytes), 0) AS BIGINT)
  FROM vault_document_versions AS version WHERE version.document_id = document.id))`;

/**
 * Puts a document into the trash; its search entry is deleted, so that no search finds it. Returns false when it does not
 * exist or is in the trash already.
 */
export async function trashDocument(tx: Transaction, id: DocumentId): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_documents SET trashed_at = ?, semantic_index_status = 'none' WHERE id = ? AND trashed_at IS NULL`,
    tx.now,
    id,
  );
  if (changes === 0) return false;
  await tx.run("DELETE FROM vault_search_entries WHERE document_id = ?", id);
  return true;
}

/** Takes a document out of the trash, to be processed again. Returns false when it is not in the trash. */
export async function untrashDocument(tx: Transaction, id: DocumentId): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_documents SET trashed_at = NULL, status = 'pending', status_reason = NULL, updated_at = ?
     WHERE id = ? AND trashed_at IS NOT NULL`,
    tx.now,
    id,
  );
  return changes > 0;
}

/** Returns a document that is in the trash. Does not check its owner. */
export async function findTrashed(db: Queries, id: DocumentId): Promise<VaultDocument | undefined> {
  const row = await db.get(
    `SELECT ${documentColumns} FROM vault_documents AS document WHERE id = ? AND trashed_at IS NOT NULL`,
    id,
  );
  return row && toDocument(row);
}

/** Returns one page of a user's trash, last deleted first, and the number of all its documents. */
export async function listTrashed(
  db: Queries,
  userId: AccountId,
  { limit, offset }: Window,
): Promise<{ readonly documents: VaultDocument[]; readonly total: number }> {
  const rows = await db.all(
    `SELECT ${documentColumns} FROM vault_documents AS document WHERE user_id = ? AND trashed_at IS NOT NULL
     ORDER BY trashed_at DESC, id DESC LIMIT ? OFFSET ?`,
    userId,
    limit,
    offset,
  );
  const count = await db.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_documents WHERE user_id = ? AND trashed_at IS NOT NULL",
    userId,
  );
  return { documents: rows.map(toDocument), total: Number(count?.total ?? 0) };
}

/** Returns the size of a document with its versions, in the trash or not. */
export async function sumDocumentBytes(db: Queries, id: DocumentId): Promise<number> {
  const row = await db.get<{ bytes: number }>(
    `SELECT ${BYTES} AS bytes FROM vault_documents AS document WHERE id = ?`,
    id,
  );
  return Number(row?.bytes ?? 0);
}

/** Returns the size of a user's trash. */
export async function sumTrashedBytes(db: Queries, userId: AccountId): Promise<number> {
  const row = await db.get<{ bytes: number }>(
    `SELECT CAST(COALESCE(sum(${BYTES}), 0) AS BIGINT) AS bytes FROM vault_documents AS document
     WHERE user_id = ? AND trashed_at IS NOT NULL`,
    userId,
  );
  return Number(row?.bytes ?? 0);
}

/** Returns up to `limit` documents of a user's trash, first deleted first. */
export async function listOldestTrashed(
  db: Queries,
  userId: AccountId,
  limit: number,
): Promise<TrashedDocument[]> {
  const rows = await db.all(
    `SELECT id, user_id, filename, ${BYTES} AS bytes FROM vault_documents AS document
     WHERE user_id = ? AND trashed_at IS NOT NULL ORDER BY trashed_at, id LIMIT ?`,
    userId,
    limit,
  );
  return rows.map(toTrashed);
}

/** Returns up to `limit` documents of all users that were put into the trash before a moment. */
export async function listTrashedBefore(
  db: Queries,
  before: number,
  limit: number,
): Promise<TrashedDocument[]> {
  const rows = await db.all(
    `SELECT id, user_id, filename, ${BYTES} AS bytes FROM vault_documents AS document
     WHERE trashed_at IS NOT NULL AND trashed_at < ? ORDER BY trashed_at, id LIMIT ?`,
    before,
    limit,
  );
  return rows.map(toTrashed);
}

/** Deletes a document that is in the trash, with its versions. Returns false when it is not there, or was restored. */
export async function deleteTrashed(tx: Transaction, id: DocumentId): Promise<boolean> {
  const { changes } = await tx.run(
    "DELETE FROM vault_documents WHERE id = ? AND trashed_at IS NOT NULL",
    id,
  );
  return changes > 0;
}

function toTrashed(row: Row): TrashedDocument {
  return {
    id: toDocumentId(row["id"]),
    userId: toAccountId(row["user_id"]),
    filename: String(row["filename"]),
    bytes: Number(row["bytes"]),
  };
}
