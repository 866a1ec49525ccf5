import type { Queries, Transaction } from "../../engine/database.ts";
import { groupValues } from "../chunks.ts";
import { flag, integer, now, optional, text, textId } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { documents, type VaultDocument } from "./documents/documents.ts";
import type { AccountId, DocumentId } from "./ids.ts";

const locks = defineTable("vault_dav_locks", {
  token: text(),
  userId: textId<AccountId>(),
  /** The id of the connection, or `documents`, and the path below it. */
  place: text(),
  /** The document or item of a file, on which the lock holds at each of its paths; undefined for a folder. */
  resourceId: optional(text()),
  scope: text<"exclusive" | "shared">(),
  /** Whether it covers everything below its place. */
  isDeep: flag(),
  /** XML that the client gave. */
  owner: text(),
  /** How long it lives after it was created or refreshed. */
  seconds: integer(),
  createdAt: now(),
  expiresAt: integer(),
});
/** A write lock of a WebDAV client. Times are epoch milliseconds. */
export type DavLock = RecordOf<typeof locks>;

/** Returns the live locks of a user, oldest first. */
export function listDavLocks(db: Queries, userId: AccountId, at: number): Promise<DavLock[]> {
  return locks.list(db, sql`user_id = ${userId} AND expires_at > ${at}`, {
    order: "created_at, token",
  });
}

/** Names the file of a lock that was created before its file; returns the lock, or undefined when it was deleted. */
export function confirmDavLock(
  tx: Transaction,
  { userId, token }: Pick<DavLock, "userId" | "token">,
  { resourceId, expiresAt }: Pick<DavLock, "resourceId" | "expiresAt">,
): Promise<DavLock | undefined> {
  return locks.change(tx, sql`user_id = ${userId} AND token = ${token}`, { resourceId, expiresAt });
}

/** Returns the documents that have one of these ids, or whose item has; without those in the trash. */
export const listFilesOfLocks = (
  db: Queries,
  userId: AccountId,
  ids: readonly string[],
): Promise<VaultDocument[]> =>
  documents.list(
    db,
    sql`user_id = ${userId} AND trashed_at IS NULL AND (id IN (${ids}) OR item_id IN (${ids}))`,
  );

/** Returns those of these ids that live items of a user have. */
export async function listLiveLockedItems(
  db: Queries,
  userId: AccountId,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM vault_items WHERE user_id = ? AND deleted_at IS NULL AND id IN (${ids.map(() => "?").join(", ")})`,
    userId,
    ...ids,
  );
  return rows.map(({ id }) => id);
}

/** Returns the ids of the topics of documents, by document. */
export async function listTopicIdsOfDocuments(
  db: Queries,
  ids: readonly DocumentId[],
): Promise<ReadonlyMap<DocumentId, readonly string[]>> {
  const rows = await db.all<{ document_id: DocumentId; topic_id: string }>(
    `SELECT document_id, topic_id FROM vault_document_topics WHERE document_id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  return groupValues(
    rows,
    (row) => row.document_id,
    (row) => row.topic_id,
  );
}

/** Returns the ids of all topics that the documents of a topic have, that topic included; without documents none. */
export async function listSharedTopicIds(
  db: Queries,
  userId: AccountId,
  topicId: string,
): Promise<string[]> {
  const rows = await db.all<{ topic_id: string }>(
    `SELECT DISTINCT other.topic_id FROM vault_document_topics AS link
     JOIN vault_documents AS document ON document.id = link.document_id AND document.trashed_at IS NULL
     JOIN vault_document_topics AS other ON other.document_id = link.document_id
     WHERE link.topic_id = ? AND document.user_id = ?`,
    topicId,
    userId,
  );
  return rows.map((row) => row.topic_id);
}

/** Adds a lock. */
export async function insertDavLock(
  tx: Transaction,
  lock: Omit<DavLock, "createdAt">,
): Promise<DavLock> {
  return locks.insert(tx, lock);
}

/** Makes a live lock expire later; returns it, or undefined when it has ended. */
export function refreshDavLock(
  tx: Transaction,
  { userId, token }: Pick<DavLock, "userId" | "token">,
  { seconds, expiresAt }: Pick<DavLock, "seconds" | "expiresAt">,
): Promise<DavLock | undefined> {
  return locks.change(
    tx,
    sql`user_id = ${userId} AND token = ${token} AND expires_at > ${tx.now}`,
    {
      seconds,
      expiresAt,
    },
  );
}

/** Deletes locks of a user. */
export async function deleteDavLocks(
  db: Queries,
  userId: AccountId,
  tokens: readonly string[],
): Promise<void> {
  if (tokens.length > 0) await locks.delete(db, { userId, token: tokens });
}

/** Deletes the locks of all users that have expired. Shortens those that a clock which was ahead made too long. */
export async function deleteExpiredDavLocks(tx: Transaction): Promise<void> {
  await locks.delete(tx, sql`expires_at <= ${tx.now}`);
  const latest = sql`${tx.now} + seconds * 1000`;
  await locks.update(tx, sql`expires_at > ${tx.now} + seconds * 1000`, { expiresAt: latest });
}
