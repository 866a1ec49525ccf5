import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId, ConnectionId } from "./ids.ts";

/** An upload that is sent in parts. Times are epoch milliseconds. */
export interface OpenUpload {
  readonly id: string;
  readonly connectionId: ConnectionId;
  readonly userId: AccountId;
  /** Empty for the root. */
  readonly parentRef: string;
  readonly name: string;
  readonly contentType: string | undefined;
  /** Of the whole file. */
  readonly size: number;
  /** Of the client's file. */
  readonly fingerprint: string;
  readonly expiresAt: number;
}

/** Returns the upload of an id, if it belongs to this connection and has not expired. */
export async function findOpenUpload(
  db: Queries,
  {
    id,
    connectionId,
    now,
  }: { readonly id: string; readonly connectionId: ConnectionId; readonly now: number },
): Promise<OpenUpload | undefined> {
  const row = await db.get<UploadRow>(
    `SELECT ${COLUMNS} FROM vault_uploads WHERE id = ? AND connection_id = ? AND expires_at > ?`,
    id,
    connectionId,
    now,
  );
  return row && toUpload(row);
}

/** Returns the upload of the same file to the same place, which can be resumed. */
export async function findSameUpload(
  tx: Transaction,
  wanted: Pick<OpenUpload, "connectionId" | "parentRef" | "name" | "size" | "fingerprint">,
): Promise<OpenUpload | undefined> {
  const row = await tx.get<UploadRow>(
    `SELECT ${COLUMNS} FROM vault_uploads
     WHERE connection_id = ? AND parent_ref = ? AND name = ? AND size = ? AND fingerprint = ? AND expires_at > ?
     ORDER BY created_at DESC LIMIT 1`,
    wanted.connectionId,
    wanted.parentRef,
    wanted.name,
    wanted.size,
    wanted.fingerprint,
    tx.now,
  );
  return row && toUpload(row);
}

/** Counts an account's uploads that have not expired. */
export async function countOpenUploads(tx: Transaction, userId: AccountId): Promise<number> {
  const row = await tx.get<{ count: number }>(
    "SELECT count(*) AS count FROM vault_uploads WHERE user_id = ? AND expires_at > ?",
    userId,
    tx.now,
  );
  return Number(row?.count ?? 0);
}

export async function insertUpload(tx: Transaction, upload: OpenUpload): Promise<void> {
  await tx.run(
    `INSERT INTO vault_uploads
       (id, connection_id, user_id, parent_ref, name, content_type, size, fingerprint, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    upload.id,
    upload.connectionId,
    upload.userId,
    upload.parentRef,
    upload.name,
    upload.contentType ?? null,
    upload.size,
    upload.fingerprint,
    tx.now,
    upload.expiresAt,
  );
}

/** Deletes an upload. Deleting a missing one is no error. */
export async function deleteUpload(db: Queries, id: string): Promise<void> {
  await db.run("DELETE FROM vault_uploads WHERE id = ?", id);
}

interface UploadRow {
  id: string;
  connection_id: ConnectionId;
  user_id: AccountId;
  parent_ref: string;
  name: string;
  content_type: string | null;
  size: number;
  fingerprint: string;
  expires_at: number;
}

const COLUMNS =
  "id, connection_id, user_id, parent_ref, name, content_type, size, fingerprint, expires_at";

function toUpload(row: UploadRow): OpenUpload {
  return {
    id: row.id,
    connectionId: row.connection_id,
    userId: row.user_id,
    parentRef: row.parent_ref,
    name: row.name,
    contentType: row.content_type ?? undefined,
    size: Number(row.size),
    fingerprint: row.fingerprint,
    expiresAt: Number(row.expires_at),
  };
}
