import type { Queries } from "../../../engine/database.ts";
import { type SqlText, raw, sql } from "../../condition.ts";
import type { AccountId } from "../ids.ts";
import { documents, toNameKey, type VaultDocument } from "./documents.ts";

/** The documents of a user, or those of them that have a topic. */
export interface DocumentsOf {
  readonly userId: AccountId;
  readonly topicId?: string | undefined;
}

/** A keyset cursor: a page begins after the document with this key. */
export type NameCursor = Pick<VaultDocument, "id" | "filename">;

/** Returns one page of documents by name without case; of one name the oldest first. */
export const listDocumentsByName = (
  db: Queries,
  of: DocumentsOf,
  { after, limit }: { readonly after: NameCursor | undefined; readonly limit: number },
): Promise<VaultDocument[]> =>
  documents.list(
    db,
    sql`${toWhere(of)} ${
      after === undefined
        ? raw("")
        : sql`AND (document.name_key, document.id) > (${toNameKey(after.filename)}, ${after.id})`
    }`,
    { order: "document.name_key, document.id", limit },
  );

/**
 * Returns the oldest document of exactly this name; with `idEnd` the one whose id ends with these characters, 8 of them.
 */
export const findDocumentByName = (
  db: Queries,
  of: DocumentsOf,
  { filename, idEnd }: { readonly filename: string; readonly idEnd?: string | undefined },
): Promise<VaultDocument | undefined> =>
  documents.find(
    db,
    sql`${toWhere(of)} AND document.name_key = ${toNameKey(filename)} AND document.filename = ${filename}
      ${idEnd === undefined ? raw("") : sql`AND substr(document.id, 29) = ${idEnd}`}`,
    "document.id",
  );

function toWhere({ userId, topicId }: DocumentsOf): SqlText {
  const own = sql`document.user_id = ${userId} AND document.trashed_at IS NULL`;
  if (topicId === undefined) return own;
  return sql`${own} AND EXISTS (SELECT 1 FROM vault_document_topics AS link
       WHERE link.document_id = document.id AND link.topic_id = ${topicId})`;
}
