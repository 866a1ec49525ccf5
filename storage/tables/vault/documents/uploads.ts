import type { Queries, Transaction } from "../../../engine/database.ts";
import type { AccountId, DocumentId } from "../ids.ts";
import { integer, optional, text, textId, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

const uploads = defineTable("vault_document_uploads", {
  id: textId<DocumentId>(),
  userId: textId<AccountId>(),
  filename: text(),
  contentType: text(),
  sizeBytes: integer(),
  /** Lower-case hex; undefined when the client did not declare it. */
  promisedSha256: optional(text()),
  state: text<"waiting" | "receiving" | "received">(),
  /** The object that holds the bytes, present while `received`. */
  objectSha256: optional(text()),
  /** Epoch milliseconds. */
  expiresAt: integer(),
  ticketHash: unread(text()),
  claim: unread(optional(text())),
  claimedUntil: unread(optional(integer())),
});
/** An upload by a signed address. Its id becomes the document's. */
export type DocumentUpload = RecordOf<typeof uploads>;

export type NewUpload = Omit<DocumentUpload, "state" | "objectSha256"> & {
  /** SHA-256 of the ticket in the address, in hex. */
  readonly ticketHash: string;
};

export async function insertUpload(tx: Transaction, upload: NewUpload): Promise<void> {
  await uploads.insert(tx, { ...upload, state: "waiting" });
}

export async function findUploadByTicket(
  db: Queries,
  ticketHash: string,
): Promise<DocumentUpload | undefined> {
  return uploads.find(db, { ticketHash });
}

export async function findUpload(db: Queries, id: DocumentId): Promise<DocumentUpload | undefined> {
  return uploads.find(db, { id });
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
  return (
    (await uploads.update(
      tx,
      sql`id = ${id} AND (state = 'waiting' OR (state = 'receiving'
        AND COALESCE(claimed_until, 0) <= ${tx.now}))`,
      { state: "receiving", claim, claimedUntil: until },
    )) > 0
  );
}

/** Extends a claim. False when another request has taken the upload over, or it does not exist. */
export async function renewUploadClaim(
  db: Queries,
  { id, claim }: UploadClaim,
  until: number,
): Promise<boolean> {
  return (await uploads.update(db, { id, claim, state: "receiving" }, { claimedUntil: until })) > 0;
}

/** Lets a request that failed be repeated: `receiving` becomes `waiting`. */
export async function releaseUpload(db: Queries, { id, claim }: UploadClaim): Promise<void> {
  await uploads.update(
    db,
    { id, claim, state: "receiving" },
    { state: "waiting", claim: undefined, claimedUntil: undefined },
  );
}

/** Releases every claim, of a daemon that has no other beside it and was killed. Returns the number of uploads. */
export async function releaseAllUploads(db: Queries): Promise<number> {
  return uploads.update(
    db,
    { state: "receiving" },
    { state: "waiting", claim: undefined, claimedUntil: undefined },
  );
}

/** Records the object of an upload. False when another request has taken the upload over, or it does not exist. */
export async function finishUpload(
  db: Queries,
  { id, claim }: UploadClaim,
  objectSha256: string,
): Promise<boolean> {
  return (
    (await uploads.update(
      db,
      { id, claim, state: "receiving" },
      { state: "received", objectSha256, claim: undefined, claimedUntil: undefined },
    )) > 0
  );
}

/**
 * Deletes an upload; its object stays for the sweep unless a document takes it over. Returns false when it does not
 * exist.
 */
export async function deleteUpload(tx: Transaction, id: DocumentId): Promise<boolean> {
  return (await uploads.delete(tx, { id })) > 0;
}

/** Deletes the uploads that have expired and that no request receives; returns their number. */
export async function deleteExpiredUploads(db: Queries, now: number): Promise<number> {
  return uploads.delete(
    db,
    sql`expires_at < ${now} AND (state <> 'receiving' OR COALESCE(claimed_until, 0) <= ${now})`,
  );
}

/** Returns the number of unfinished uploads of a user, by address and in parts. */
export async function countUploads(db: Queries, userId: AccountId): Promise<number> {
  const row = await db.get<{ total: number }>(
    `SELECT (SELECT count(*) FROM vault_document_uploads WHERE user_id = ?)
       + (SELECT count(*) FROM vault_document_sessions WHERE user_id = ?) AS total`,
    userId,
    userId,
  );
  return Number(row?.total ?? 0);
}

/**
 * Returns the bytes that the uploads of a user hold or may still add: received bytes, and the announced sizes of uploads
 * whose addresses are valid, whose body is being received, or that are sent in parts.
 */
export async function sumUploadBytes(db: Queries, userId: AccountId, now: number): Promise<number> {
  const row = await db.get<{ total: number }>(
    `SELECT CAST(COALESCE(sum(size_bytes), 0) AS BIGINT) AS total FROM (
       SELECT size_bytes FROM vault_document_uploads
       WHERE user_id = ? AND (state = 'received' OR expires_at > ?
         OR (state = 'receiving' AND COALESCE(claimed_until, 0) > ?))
       UNION ALL SELECT size_bytes FROM vault_document_sessions WHERE user_id = ?) AS uploads`,
    userId,
    now,
    now,
    userId,
  );
  return Number(row?.total ?? 0);
}
