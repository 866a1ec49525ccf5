// Documents in the trash.
import type { Queries, Transaction } from "../../../engine/database.ts";
import { sql } from "../../condition.ts";
import type { Window } from "../../table.ts";
import type { AccountId, DocumentId } from "../ids.ts";
import { documents, type VaultDocument } from "./documents.ts";

/** A document in the trash. `bytes` is its size with that of its versions. */
export type TrashedDocument = Pick<VaultDocument, "id" | "userId" | "filename"> & {
  readonly bytes: number;
};

/** The size of a document in the vault's own storage, with its versions. */
const BYTES = `(document.size_bytes + (SELECT CAST(COALESCE(sum(version.size_bytes), 0) AS BIGINT)
  FROM vault_document_versions AS version WHERE version.document_id = document.id))`;

/**
 * Puts a document into the trash; its search entry is deleted, so that no search finds it. Returns false when it does not
 * exist or is in the trash already.
 */
export async function trashDocument(tx: Transaction, id: DocumentId): Promise<boolean> {
  const changes = { trashedAt: tx.now, semanticIndexStatus: "none" } as const;
  if ((await documents.update(tx, { id, trashedAt: undefined }, changes)) === 0) return false;
  await tx.run("DELETE FROM vault_search_entries WHERE document_id = ?", id);
  return true;
}

/** Takes a document out of the trash, to be processed again. Returns false when it is not in the trash. */
export async function untrashDocument(tx: Transaction, id: DocumentId): Promise<boolean> {
  const changes = {
    trashedAt: undefined,
    status: "pending",
    statusReason: undefined,
    updatedAt: tx.now,
  } as const;
  return (await documents.update(tx, sql`id = ${id} AND trashed_at IS NOT NULL`, changes)) > 0;
}

/** Returns a document that is in the trash. Does not check its owner. */
export const findTrashed = (db: Queries, id: DocumentId): Promise<VaultDocument | undefined> =>
  documents.find(db, sql`id = ${id} AND trashed_at IS NOT NULL`);

/** Returns one page of a user's trash, last deleted first, and the number of all its documents. */
export async function listTrashed(
  db: Queries,
  userId: AccountId,
  { limit, offset }: Window,
): Promise<{ readonly documents: readonly VaultDocument[]; readonly total: number }> {
  const { records, total } = await documents.page(
    db,
    sql`user_id = ${userId} AND trashed_at IS NOT NULL`,
    { limit, offset, order: "trashed_at DESC, id DESC" },
  );
  return { documents: records, total };
}

/** Returns the size of a document with its versions, in the trash or not. */
export async function sumDocumentBytes(db: Queries, id: DocumentId): Promise<number> {
  const row = await db.get<{ bytes: number }>(
    `SELECT ${BYTES} AS bytes FROM vault_documents AS document WHERE id = ?`,
    id,
  );
  return row?.bytes ?? 0;
}

/** Returns the size of a user's trash. */
export async function sumTrashedBytes(db: Queries, userId: AccountId): Promise<number> {
  const row = await db.get<{ bytes: number }>(
    `SELECT CAST(COALESCE(sum(${BYTES}), 0) AS BIGINT) AS bytes FROM vault_documents AS document
     WHERE user_id = ? AND trashed_at IS NOT NULL`,
    userId,
  );
  return row?.bytes ?? 0;
}

/** Returns up to `limit` documents of a user's trash, first deleted first. */
export const listOldestTrashed = (
  db: Queries,
  userId: AccountId,
  limit: number,
): Promise<TrashedDocument[]> =>
  db.all<TrashedDocument>(
    `${TRASHED} WHERE user_id = ? AND trashed_at IS NOT NULL ORDER BY trashed_at, id LIMIT ?`,
    userId,
    limit,
  );

/** Returns up to `limit` documents of all users that were put into the trash before a moment. */
export const listTrashedBefore = (
  db: Queries,
  before: number,
  limit: number,
): Promise<TrashedDocument[]> =>
  db.all<TrashedDocument>(
    `${TRASHED} WHERE trashed_at IS NOT NULL AND trashed_at < ? ORDER BY trashed_at, id LIMIT ?`,
    before,
    limit,
  );

const TRASHED = `SELECT id, user_id AS "userId", filename, ${BYTES} AS bytes FROM vault_documents AS document`;

/** Deletes a document that is in the trash, with its versions. Returns false when it is not there, or was restored. */
export async function deleteTrashed(tx: Transaction, id: DocumentId): Promise<boolean> {
  return (await documents.delete(tx, sql`id = ${id} AND trashed_at IS NOT NULL`)) > 0;
}
