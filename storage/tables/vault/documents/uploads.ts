import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { type AccountId, type DocumentId, toAccountId, toDocumentId } from "../ids.ts";

/** An upload by a signed address. Its id becomes the document's. */
export interface DocumentUpload {
  readonly id: DocumentId;
  readonly userId: AccountId;
  readonly filename: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Lower-case hex; undefined when the client did not declare it. */
  readonly promisedSha256: string | undefined;
  readonly state: "waiting" | "receiving" | "received";
  /** The object that holds the bytes, present while `received`. */
  readonly objectSha256: string | undefined;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export type NewUpload = Omit<DocumentUpload, "state" | "objectSha256"> & {
  /** SHA-256 of the ticket in the address, in hex. */
  readonly ticketHash: string;
};

export async function insertUpload(tx: Transaction, upload: NewUpload): Promise<void> {
  await tx.run(
    `INSERT INTO vault_document_uploads (id, user_id, ticket_hash, filename, content_type, size_bytes, promised_sha256,
       state, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?)`,
    upload.id,
    upload.userId,
    upload.ticketHash,
    upload.filename,
    upload.contentType,
    upload.sizeBytes,
    upload.promisedSha256 ?? null,
    upload.expiresAt,
  );
}

export async function findUploadByTicket(
  db: Queries,
  ticketHash: string,
): Promise<DocumentUpload | undefined> {
  return toUpload(
    await db.get(`SELECT ${COLUMNS} FROM vault_document_uploads WHERE ticket_hash = ?`, ticketHash),
  );
}

export async function findUpload(db: Queries, id: DocumentId): Promise<DocumentUpload | undefined> {
  return toUpload(await db.get(`SELECT ${COLUMNS} FROM vault_document_uploads WHERE id = ?`, id));
}

/** A request that receives the body of an upload, until its claim expires. */
export interface UploadClaim {
  /** The upload. */
  readonly id: DocumentId;
  /** Identifies the request. */
  readonly claim: string;
}

/**
 * Reserves an upload for one request, until `until` in epoch milliseconds: `waiting` becomes `receiving`. A claim that has
 * expired is taken over. False when another request was first.
 */
export async function claimUpload(
  tx: Transaction,
  { id, claim }: UploadClaim,
  until: number,
): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_document_uploads SET state = 'receiving', claim = ?, claimed_until = ?
     WHERE id = ? AND (state = 'waiting' OR (state = 'receiving' AND COALESCE(claimed_until, 0) <= ?))`,
    claim,
    until,
    id,
    tx.now,
  );
  return changes > 0;
}

/** Extends a claim. False when another request has taken the upload over, or it does not exist. */
export async function renewUploadClaim(
  db: Queries,
  { id, claim }: UploadClaim,
  until: number,
): Promise<boolean> {
  const { changes } = await db.run(
    "UPDATE vault_document_uploads SET claimed_until = ? WHERE id = ? AND claim = ? AND state = 'receiving'",
    until,
    id,
    claim,
  );
  return changes > 0;
}

/** Lets a request that failed be repeated: `receiving` becomes `waiting`. */
export async function releaseUpload(db: Queries, { id, claim }: UploadClaim): Promise<void> {
  await db.run(
    `UPDATE vault_document_uploads SET state = 'waiting', claim = NULL, claimed_until = NULL
     WHERE id = ? AND claim = ? AND state = 'receiving'`,
    id,
    claim,
  );
}

/** Releases every claim, of a daemon that has no other beside it and was killed. Returns the number of uploads. */
export async function releaseAllUploads(db: Queries): Promise<number> {
  const { changes } = await db.run(
    `UPDATE vault_document_uploads SET state = 'waiting', claim = NULL, claimed_until = NULL
     WHERE state = 'receiving'`,
  );
  return changes;
}

/** Records the object of an upload. False when another request has taken the upload over, or it does not exist. */
export async function finishUpload(
  db: Queries,
  { id, claim }: UploadClaim,
  objectSha256: string,
): Promise<boolean> {
  const { changes } = await db.run(
    `UPDATE vault_document_uploads SET state = 'received', object_sha256 = ?, claim = NULL, claimed_until = NULL
     WHERE id = ? AND claim = ? AND state = 'receiving'`,
    objectSha256,
    id,
    claim,
  );
  return changes > 0;
}

/**
 * Deletes an upload; its object stays for the sweep unless a document takes it over. Returns false when it does not
 * exist.
 */
export async function deleteUpload(tx: Transaction, id: DocumentId): Promise<boolean> {
  const { changes } = await tx.run("DELETE FROM vault_document_uploads WHERE id = ?", id);
  return changes > 0;
}

/** Deletes the uploads that have expired and that no request receives; returns their number. */
export async function deleteExpiredUploads(db: Queries, now: number): Promise<number> {
  const { changes } = await db.run(
    `DELETE FROM vault_document_uploads
     WHERE expires_at < ? AND (state <> 'receiving' OR COALESCE(claimed_until, 0) <= ?)`,
    now,
    now,
  );
  return changes;
}

/** Returns the number of unfinished uploads of a user. */
export async function countUploads(db: Queries, userId: AccountId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_document_uploads WHERE user_id = ?",
    userId,
  );
  return Number(row?.total ?? 0);
}

/**
 * Returns the bytes that the uploads of a user hold or may still add: received bytes, and the announced sizes of uploads
 * whose addresses are valid or whose body is being received.
 */
export async function sumUploadBytes(db: Queries, userId: AccountId, now: number): Promise<number> {
  const row = await db.get<{ total: number }>(
    `SELECT CAST(COALESCE(sum(size_bytes), 0) AS BIGINT) AS total FROM vault_document_uploads
     WHERE user_id = ? AND (state = 'received' OR expires_at > ?
       OR (state = 'receiving' AND COALESCE(claimed_until, 0) > ?))`,
    userId,
    now,
    now,
  );
  return Number(row?.total ?? 0);
}

const COLUMNS = `id, user_id, filename, content_type, size_bytes, promised_sha256, state, object_sha256,
  expires_at`;

function toUpload(row: Row | undefined): DocumentUpload | undefined {
  if (row === undefined) return undefined;
  const optional = (name: string) => (row[name] === null ? undefined : String(row[name]));
  return {
    id: toDocumentId(row["id"]),
    userId: toAccountId(row["user_id"]),
    filename: String(row["filename"]),
    contentType: String(row["content_type"]),
    sizeBytes: Number(row["size_bytes"]),
    promisedSha256: optional("promised_sha256"),
    state: row["state"] as DocumentUpload["state"],
    objectSha256: optional("object_sha256"),
    expiresAt: Number(row["expires_at"]),
  };
}
