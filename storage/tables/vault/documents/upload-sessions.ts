import type { Queries, Transaction } from "../../../engine/database.ts";
import { integer, now, text, textId, unread } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { AccountId, DocumentId } from "../ids.ts";

const sessions = defineTable("vault_document_sessions", {
  id: textId<DocumentId>(),
  userId: textId<AccountId>(),
  filename: text(),
  contentType: text(),
  /** Of the whole file. */
  sizeBytes: integer(),
  /** Of the client's file. */
  fingerprint: text(),
  /** Epoch milliseconds. */
  expiresAt: integer(),
  createdAt: unread(now()),
});
/** An upload of a document in parts. Its id becomes the document's. */
export type UploadSession = RecordOf<typeof sessions>;

/** Returns an upload of a user that has not expired. */
export async function findOpenSession(
  db: Queries,
  of: { readonly id: DocumentId; readonly userId: AccountId; readonly now: number },
): Promise<UploadSession | undefined> {
  return sessions.find(
    db,
    sql`id = ${of.id} AND user_id = ${of.userId} AND expires_at > ${of.now}`,
  );
}

/** Returns the newest upload of the same file by the same user, which can be resumed. */
export async function findSameSession(
  tx: Transaction,
  session: Pick<UploadSession, "userId" | "filename" | "sizeBytes" | "fingerprint">,
): Promise<UploadSession | undefined> {
  return sessions.find(
    tx,
    sql`user_id = ${session.userId} AND filename = ${session.filename}
        AND size_bytes = ${session.sizeBytes} AND fingerprint = ${session.fingerprint}
        AND expires_at > ${tx.now}`,
    "created_at DESC",
  );
}

export async function insertSession(tx: Transaction, session: UploadSession): Promise<void> {
  await sessions.insert(tx, session);
}

/** Deletes an upload. Returns false when it does not exist. */
export async function deleteSession(db: Queries, id: DocumentId): Promise<boolean> {
  return (await sessions.delete(db, { id })) > 0;
}
