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
  /** The session at the provider that has received some of the bytes, sealed. */
  readonly sealedSession: string | undefined;
}

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
  upload: Pick<OpenUpload, "connectionId" | "parentRef" | "name" | "size" | "fingerprint">,
): Promise<OpenUpload | undefined> {
  const row = await tx.get<UploadRow>(
    `SELECT ${COLUMNS} FROM vault_uploads
     WHERE connection_id = ? AND parent_ref = ? AND name = ? AND size = ? AND fingerprint = ? AND expires_at > ?
     ORDER BY created_at DESC LIMIT 1`,
    upload.connectionId,
    upload.parentRef,
    upload.name,
    upload.size,
    upload.fingerprint,
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

export async function insertUpload(
  tx: Transaction,
  upload: Omit<OpenUpload, "sealedSession">,
): Promise<void> {
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

/** Deletes an upload. Deleting a missing one is not an error. */
export async function deleteUpload(db: Queries, id: string): Promise<void> {
  await db.run("DELETE FROM vault_uploads WHERE id = ?", id);
}

/** Returns the upload of an id, expired or not. */
export async function findUpload(db: Queries, id: string): Promise<OpenUpload | undefined> {
  const row = await db.get<UploadRow>(`SELECT ${COLUMNS} FROM vault_uploads WHERE id = ?`, id);
  return row && toUpload(row);
}

/** Saves or removes the session at the provider. */
export async function updateUploadSession(
  db: Queries,
  id: string,
  sealedSession: string | undefined,
): Promise<void> {
  await db.run(
    "UPDATE vault_uploads SET sealed_session = ? WHERE id = ?",
    sealedSession ?? null,
    id,
  );
}

/** Returns whether there is a row of this id, expired or not. */
export async function uploadExists(db: Queries, id: string): Promise<boolean> {
  return (await db.get("SELECT 1 AS found FROM vault_uploads WHERE id = ?", id)) !== undefined;
}

/** Deletes all uploads. */
export async function deleteAllUploads(db: Queries): Promise<void> {
  await db.run("DELETE FROM vault_uploads");
}

/** Returns the ids of all uploads that were started before a time, expired ones included. */
export async function listUploadIds(db: Queries, before: number): Promise<readonly string[]> {
  const rows = await db.all<{ id: string }>(
    "SELECT id FROM vault_uploads WHERE created_at < ? ORDER BY id",
    before,
  );
  return rows.map(({ id }) => id);
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
  sealed_session: string | null;
}

const COLUMNS =
  "id, connection_id, user_id, parent_ref, name, content_type, size, fingerprint, expires_at, sealed_session";

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
    sealedSession: row.sealed_session ?? undefined,
  };
}
