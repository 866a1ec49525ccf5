import type { Queries, SqlValue } from "../../../engine/database.ts";
import type { AccountId } from "../ids.ts";
import { documentColumns, toDocument, toNameKey, type VaultDocument } from "./documents.ts";

/** The documents of a user, or those of them that have a topic. */
export interface DocumentsOf {
  readonly userId: AccountId;
  readonly topicId?: string | undefined;
}

/** A keyset cursor: a page begins after the document with this key. */
export type NameCursor = Pick<VaultDocument, "id" | "filename">;

/** Returns one page of documents by name without case; of one name the oldest first. */
export async function listDocumentsByName(
  db: Queries,
  of: DocumentsOf,
  { after, limit }: { readonly after: NameCursor | undefined; readonly limit: number },
): Promise<VaultDocument[]> {
  const { where, values } = toWhere(of);
  const rows = await db.all(
    `SELECT ${documentColumns} FROM vault_documents AS document WHERE ${where}
     ${after === undefined ? "" : "AND (document.name_key, document.id) > (?, ?)"}
     ORDER BY document.name_key, document.id LIMIT ?`,
    ...values,
    ...(after === undefined ? [] : [toNameKey(after.filename), after.id]),
    limit,
  );
  return rows.map(toDocument);
}

/**
 * Returns the oldest document of exactly this name; with `idEnd` the one whose id ends with these characters, 8 of them.
 */
export async function findDocumentByName(
  db: Queries,
  of: DocumentsOf,
  { filename, idEnd }: { readonly filename: string; readonly idEnd?: string | undefined },
): Promise<VaultDocument | undefined> {
  const { where, values } = toWhere(of);
  const row = await db.get(
    `SELECT ${documentColumns} FROM vault_documents AS document
     WHERE ${where} AND document.name_key = ? AND document.filename = ?
     ${idEnd === undefined ? "" : "AND substr(document.id, 29) = ?"}
     ORDER BY document.id LIMIT 1`,
    ...values,
    toNameKey(filename),
    filename,
    ...(idEnd === undefined ? [] : [idEnd]),
  );
  return row && toDocument(row);
}

function toWhere({ userId, topicId }: DocumentsOf): {
  readonly where: string;
  readonly values: readonly SqlValue[];
} {
  const own = "document.user_id = ? AND document.trashed_at IS NULL";
  if (topicId === undefined) return { where: own, values: [userId] };
  return {
    where: `${own} AND EXISTS (SELECT 1 FROM vault_document_topics AS link
       WHERE link.document_id = document.id AND link.topic_id = ?)`,
    values: [userId, topicId],
  };
}
