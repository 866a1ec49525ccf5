import type { Queries, Transaction } from "../../../engine/database.ts";
import { integer, text, textId } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { DocumentId } from "../ids.ts";
import { documents, INTERNAL_BACKEND, type VaultDocument } from "./documents.ts";

const versions = defineTable("vault_document_versions", {
  documentId: textId<DocumentId>(),
  /** Counts from 1. */
  number: integer(),
  contentType: text(),
  sizeBytes: integer(),
  /** Lower-case hex. */
  sha256: text(),
  /** Epoch milliseconds at which the content was stored. */
  createdAt: integer(),
});

/** An earlier content of a document in the vault's own storage. */
export type DocumentVersion = RecordOf<typeof versions>;

/** The content of a document. */
export type NewContent = Pick<DocumentVersion, "contentType" | "sizeBytes" | "sha256">;

/** Returns the earlier contents of a document, newest first. */
export const listVersions = (db: Queries, documentId: DocumentId): Promise<DocumentVersion[]> =>
  versions.list(db, { documentId }, { order: "number DESC" });

export const findVersion = (
  db: Queries,
  documentId: DocumentId,
  number: number,
): Promise<DocumentVersion | undefined> => versions.find(db, { documentId, number });

/** Deletes a version. Returns false when it does not exist. */
export async function deleteVersion(
  tx: Transaction,
  documentId: DocumentId,
  number: number,
): Promise<boolean> {
  return (await versions.delete(tx, { documentId, number })) > 0;
}

/** Returns the versions that exceed the `kept` newest, newest first. */
export const listExcessVersions = (
  db: Queries,
  documentId: DocumentId,
  kept: number,
): Promise<DocumentVersion[]> =>
  versions.list(db, { documentId }, { order: "number DESC", limit: VERSIONS_MAX, offset: kept });

/** More than a document ever has. */
const VERSIONS_MAX = 1_000_000;

/** Keeps the present content of a document as a version. */
export async function keepVersion(tx: Transaction, document: VaultDocument): Promise<void> {
  await versions.insert(tx, {
    documentId: document.id,
    number: document.version,
    contentType: document.contentType,
    sizeBytes: document.sizeBytes,
    sha256: document.sha256,
    createdAt: document.contentAt,
  });
}

/**
 * Gives a document in the vault's own storage another content under the next number, to be processed again. Its text is
 * deleted from the search index; its name is found on.
 */
export async function putContent(
  tx: Transaction,
  id: DocumentId,
  content: NewContent,
): Promise<void> {
  await documents.update(
    tx,
    { id, storageBackend: INTERNAL_BACKEND },
    {
      ...content,
      version: sql`version + 1`,
      contentAt: tx.now,
      status: "pending",
      statusReason: undefined,
      updatedAt: tx.now,
    },
  );
}

/** A version whose object reconciliation looks for. */
export type StoredVersion = Pick<DocumentVersion, "documentId" | "number" | "sha256" | "sizeBytes">;

/** Returns up to `limit` versions after one of them, by document and number. */
export const listStoredVersions = (
  db: Queries,
  after: Pick<StoredVersion, "documentId" | "number">,
  limit: number,
): Promise<StoredVersion[]> =>
  versions.list(
    db,
    sql`document_id > ${after.documentId} OR (document_id = ${after.documentId} AND number > ${after.number})`,
    { order: "document_id, number", limit },
  );
