import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { type AccountId, type DocumentId, toAccountId } from "../ids.ts";

/** A topic that documents are classified by. Times are epoch milliseconds. */
export interface VaultTopic {
  readonly id: string;
  /** Undefined for a system topic, which every user sees. */
  readonly userId: AccountId | undefined;
  readonly name: string;
  /** The name without case and accents, by which topics are compared. */
  readonly nameKey: string;
  readonly description: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type NewTopic = Pick<VaultTopic, "id" | "userId" | "name" | "nameKey" | "description">;

/** Adds a topic. Throws `conflict` when its owner (or the system) has one of the same key. */
export async function insertTopic(tx: Transaction, topic: NewTopic): Promise<VaultTopic> {
  await tx.run(
    `INSERT INTO vault_topics (id, user_id, name, name_key, description, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    topic.id,
    topic.userId ?? null,
    topic.name,
    topic.nameKey,
    topic.description,
    tx.now,
    tx.now,
  );
  return { ...topic, createdAt: tx.now, updatedAt: tx.now };
}

/** Returns the topic of an id, without checking its owner. */
export async function findTopic(db: Queries, id: string): Promise<VaultTopic | undefined> {
  const row = await db.get(`SELECT ${COLUMNS} FROM vault_topics WHERE id = ?`, id);
  return row && toTopic(row);
}

/** Returns the topics that a user sees: the own ones and the system's, by name. */
export async function listVisibleTopics(
  db: Queries,
  userId: AccountId | undefined,
): Promise<VaultTopic[]> {
  const rows = await db.all(
    `SELECT ${COLUMNS} FROM vault_topics WHERE user_id = ? OR user_id IS NULL ORDER BY name_key, id`,
    userId ?? null,
  );
  return rows.map(toTopic);
}

/** How many topics a user owns. */
export async function countTopics(db: Queries, userId: AccountId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_topics WHERE user_id = ?",
    userId,
  );
  return Number(row?.total ?? 0);
}

/** Changes a topic. Throws `conflict` like `insertTopic`. Returns false when it does not exist. */
export async function updateTopic(
  tx: Transaction,
  { id, name, nameKey, description }: Pick<VaultTopic, "id" | "name" | "nameKey" | "description">,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_topics SET name = ?, name_key = ?, description = ?, updated_at = ? WHERE id = ?",
    name,
    nameKey,
    description,
    tx.now,
    id,
  );
  return changes > 0;
}

/** Deletes a topic; documents lose it. Returns false when it does not exist. */
export async function deleteTopic(tx: Transaction, id: string): Promise<boolean> {
  const { changes } = await tx.run("DELETE FROM vault_topics WHERE id = ?", id);
  return changes > 0;
}

/** Replaces the topics of a document, which counts as a change of it. */
export async function setDocumentTopics(
  tx: Transaction,
  documentId: DocumentId,
  topicIds: readonly string[],
): Promise<void> {
  await tx.run("DELETE FROM vault_document_topics WHERE document_id = ?", documentId);
  for (const topicId of topicIds)
    await tx.run(
      "INSERT INTO vault_document_topics (document_id, topic_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
      documentId,
      topicId,
    );
  await tx.run("UPDATE vault_documents SET updated_at = ? WHERE id = ?", tx.now, documentId);
}

const COLUMNS = "id, user_id, name, name_key, description, created_at, updated_at";

function toTopic(row: Row): VaultTopic {
  return {
    id: String(row["id"]),
    userId: row["user_id"] === null ? undefined : toAccountId(row["user_id"]),
    name: String(row["name"]),
    nameKey: String(row["name_key"]),
    description: String(row["description"]),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
  };
}
