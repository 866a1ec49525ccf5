import type { Queries, Transaction } from "../../../engine/database.ts";
import type { AccountId, DocumentId } from "../ids.ts";
import { now, optional, text, textId } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";
import { documents } from "./documents.ts";

const topics = defineTable("vault_topics", {
  id: text(),
  /** Undefined for a system topic, which every user sees. */
  userId: optional(textId<AccountId>()),
  name: text(),
  /** The name without case and accents, by which topics are compared. */
  nameKey: text(),
  description: text(),
  createdAt: now(),
  updatedAt: now(),
});
/** A topic that documents are classified by. Times are epoch milliseconds. */
export type VaultTopic = RecordOf<typeof topics>;

export type NewTopic = Pick<VaultTopic, "id" | "userId" | "name" | "nameKey" | "description">;

/** Adds a topic. Throws `conflict` when its owner (or the system) has one of the same key. */
export async function insertTopic(tx: Transaction, topic: NewTopic): Promise<VaultTopic> {
  await topics.insert(tx, topic);
  return { ...topic, createdAt: tx.now, updatedAt: tx.now };
}

/** Returns the topic of an id, without checking its owner. */
export async function findTopic(db: Queries, id: string): Promise<VaultTopic | undefined> {
  return topics.find(db, { id });
}

/** Returns the topics that a user sees: their own and the system's, by name. */
export async function listVisibleTopics(
  db: Queries,
  userId: AccountId | undefined,
): Promise<VaultTopic[]> {
  return topics.list(db, sql`user_id = ${userId ?? null} OR user_id IS NULL`, {
    order: "name_key, id",
  });
}

/** How many topics a user owns. */
export async function countTopics(db: Queries, userId: AccountId): Promise<number> {
  return topics.count(db, { userId });
}

/** Changes a topic. Throws `conflict` like `insertTopic`. Returns false when it does not exist. */
export async function updateTopic(
  tx: Transaction,
  { id, name, nameKey, description }: Pick<VaultTopic, "id" | "name" | "nameKey" | "description">,
): Promise<boolean> {
  return (await topics.update(tx, { id }, { name, nameKey, description, updatedAt: tx.now })) > 0;
}

/** Deletes a topic; documents lose it. Returns false when it does not exist. */
export async function deleteTopic(tx: Transaction, id: string): Promise<boolean> {
  return (await topics.delete(tx, { id })) > 0;
}

/** Returns whether a document that is not in the trash has the topic. */
export async function hasDocuments(db: Queries, topicId: string): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 FROM vault_document_topics AS link JOIN vault_documents AS document ON document.id = link.document_id
     WHERE link.topic_id = ? AND document.trashed_at IS NULL LIMIT 1`,
    topicId,
  );
  return row !== undefined;
}

const documentTopics = defineTable("vault_document_topics", {
  documentId: textId<DocumentId>(),
  topicId: text(),
});

/** Gives a document a topic; returns false when it has the topic already. Counts as a change of the document. */
export async function addDocumentTopic(
  tx: Transaction,
  documentId: DocumentId,
  topicId: string,
): Promise<boolean> {
  const added = await documentTopics.upsert(tx, { documentId, topicId }, "ON CONFLICT DO NOTHING");
  if (added !== undefined) await touchDocument(tx, documentId);
  return added !== undefined;
}

/** Takes a topic from a document; returns false when it does not have the topic. Counts as a change of the document. */
export async function removeDocumentTopic(
  tx: Transaction,
  documentId: DocumentId,
  topicId: string,
): Promise<boolean> {
  const removed = await documentTopics.delete(tx, { documentId, topicId });
  if (removed > 0) await touchDocument(tx, documentId);
  return removed > 0;
}

/** Replaces the topics of a document, which counts as a change of it. */
export async function setDocumentTopics(
  tx: Transaction,
  documentId: DocumentId,
  topicIds: readonly string[],
): Promise<void> {
  await documentTopics.delete(tx, { documentId });
  for (const topicId of topicIds)
    await documentTopics.upsert(tx, { documentId, topicId }, "ON CONFLICT DO NOTHING");
  await touchDocument(tx, documentId);
}

async function touchDocument(tx: Transaction, documentId: DocumentId): Promise<void> {
  await documents.update(tx, { id: documentId }, { updatedAt: tx.now });
}
