import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId, ConnectionId } from "./ids.ts";
import { integer, now, optional, text, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

const uploads = defineTable("vault_uploads", {
  id: text(),
  connectionId: textId<ConnectionId>(),
  userId: textId<AccountId>(),
  /** Empty for the root. */
  parentRef: text(),
  name: text(),
  contentType: optional(text()),
  /** Of the whole file. */
  size: integer(),
  /** Of the client's file. */
  fingerprint: text(),
  expiresAt: integer(),
  /** The session at the provider that has received some of the bytes, sealed. */
  sealedSession: optional(text()),
  /** The daemon that sends the file to the provider, until it renews its claim no more. */
  claimedBy: unread(optional(text())),
  claimedUntil: unread(optional(integer())),
  createdAt: unread(now()),
});
/** An upload that is sent in parts. Times are epoch milliseconds. */
export type OpenUpload = RecordOf<typeof uploads>;

/** How long an upload may take before it expires. */
export const UPLOAD_EXPIRES_AFTER_MS = 48 * 3600 * 1000;

/** Returns the upload of an id, if it belongs to this connection and has not expired. */
export async function findOpenUpload(
  db: Queries,
  {
    id,
    connectionId,
    now,
  }: { readonly id: string; readonly connectionId: ConnectionId; readonly now: number },
): Promise<OpenUpload | undefined> {
  return uploads.find(
    db,
    sql`id = ${id} AND connection_id = ${connectionId} AND expires_at > ${now}`,
  );
}

/** Returns the upload of the same file to the same place, which can be resumed. */
export async function findSameUpload(
  tx: Transaction,
  upload: Pick<OpenUpload, "connectionId" | "parentRef" | "name" | "size" | "fingerprint">,
): Promise<OpenUpload | undefined> {
  return uploads.find(
    tx,
    sql`connection_id = ${upload.connectionId} AND parent_ref = ${upload.parentRef}
        AND name = ${upload.name} AND size = ${upload.size} AND fingerprint = ${upload.fingerprint}
        AND expires_at > ${tx.now}`,
    "created_at DESC",
  );
}

/** Counts an account's uploads that have not expired. */
export async function countOpenUploads(tx: Transaction, userId: AccountId): Promise<number> {
  return uploads.count(tx, sql`user_id = ${userId} AND expires_at > ${tx.now}`);
}

export async function insertUpload(
  tx: Transaction,
  upload: Omit<OpenUpload, "sealedSession">,
): Promise<void> {
  await uploads.insert(tx, upload);
}

/** Deletes an upload. Deleting a missing one is not an error. */
export async function deleteUpload(db: Queries, id: string): Promise<void> {
  await uploads.delete(db, { id });
}

/** Returns the upload of an id, expired or not. */
export async function findUpload(db: Queries, id: string): Promise<OpenUpload | undefined> {
  return uploads.find(db, { id });
}

/** Saves or removes the session at the provider. */
export async function updateUploadSession(
  db: Queries,
  id: string,
  sealedSession: string | undefined,
): Promise<void> {
  await uploads.update(db, { id }, { sealedSession });
}

/** A claim of a daemon on an upload. Times are epoch milliseconds. */
export interface UploadClaim {
  readonly id: string;
  readonly owner: string;
  readonly now: number;
  readonly until: number;
}

/** Claims an upload, or renews the claim. Returns false while another daemon has it. */
export async function claimUpload(
  db: Queries,
  { id, owner, now, until }: UploadClaim,
): Promise<boolean> {
  const changed = await uploads.update(
    db,
    sql`id = ${id} AND (claimed_until IS NULL OR claimed_until <= ${now} OR claimed_by = ${owner})`,
    { claimedBy: owner, claimedUntil: until },
  );
  return changed > 0;
}

/** Ends a claim. Idempotent. */
export async function releaseUpload(db: Queries, id: string, owner: string): Promise<void> {
  await uploads.update(
    db,
    { id, claimedBy: owner },
    { claimedBy: undefined, claimedUntil: undefined },
  );
}

/** Returns whether there is an upload in parts of this id, of an item or a document, expired or not. */
export async function uploadExists(db: Queries, id: string): Promise<boolean> {
  const found = await db.get(
    `SELECT 1 AS found FROM vault_uploads WHERE id = ?
     UNION ALL SELECT 1 FROM vault_document_sessions WHERE id = ?`,
    id,
    id,
  );
  return found !== undefined;
}

/** Deletes all uploads in parts, of items and documents. */
export async function deleteAllUploads(db: Queries): Promise<void> {
  await db.run("DELETE FROM vault_uploads");
  await db.run("DELETE FROM vault_document_sessions");
}

/** Returns the ids of all uploads in parts that were started before a time, expired ones included. */
export async function listUploadIds(db: Queries, before: number): Promise<readonly string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM vault_uploads WHERE created_at < ?
     UNION ALL SELECT id FROM vault_document_sessions WHERE created_at < ? ORDER BY id`,
    before,
    before,
  );
  return rows.map(({ id }) => id);
}
