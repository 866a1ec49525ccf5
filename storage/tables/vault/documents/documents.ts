import { z } from "zod";
import type { Queries, Row, SqlValue, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import { isEnd, toDocumentCondition } from "../search.ts";
import type { SearchTerm } from "../search-terms.ts";
import {
  type AccountId,
  type ConnectionId,
  type DocumentId,
  toAccountId,
  toConnectionId,
  toDocumentId,
} from "../ids.ts";

const wordsSchema = z.array(z.string());

export type DocumentStatus = "pending" | "processing" | "ready" | "classification_failed";
export type SemanticIndexStatus = "none" | "pending" | "ready" | "failed" | "stale";

/** The storage backend of documents in the daemon's own object store. */
export const INTERNAL_BACKEND = "internal";

/** A document. Times are epoch milliseconds. */
export interface VaultDocument {
  readonly id: DocumentId;
  readonly userId: AccountId;
  readonly filename: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly status: DocumentStatus;
  /** Why the text, or a part of it, is missing; undefined when nothing is missing. */
  readonly statusReason: string | undefined;
  /** `internal`, or the type of the provider that holds the bytes. */
  readonly storageBackend: string;
  /** Where the bytes of a document in connected storage are; undefined once the connection is deleted. */
  readonly connectionId: ConnectionId | undefined;
  readonly providerItemId: string | undefined;
  /** The recorded item of that file; undefined once its record is deleted. */
  readonly itemId: string | undefined;
  readonly semanticIndexStatus: SemanticIndexStatus;
  readonly classification: Classification | undefined;
  /** Counts the contents that the document has had, from 1. */
  readonly version: number;
  /** When the present content was stored. */
  readonly contentAt: number;
  /** When it was put into the trash; undefined for every other document. */
  readonly trashedAt: number | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The result of a classification. */
export interface Classification {
  /** The name of the topic at that time. */
  readonly topic: string;
  /** From 0 to 1. */
  readonly confidence: number;
  /** `builtin`, or the AI provider. */
  readonly provider: string;
  /** The words that decided the classification, most important first; empty when the provider does not report them. */
  readonly words: readonly string[];
}

export type NewDocument = Pick<
  VaultDocument,
  | "id"
  | "userId"
  | "filename"
  | "contentType"
  | "sizeBytes"
  | "sha256"
  | "storageBackend"
  | "connectionId"
  | "providerItemId"
> & { readonly itemId?: string | undefined };

/** Adds a document in state `pending`. */
export async function insertDocument(
  tx: Transaction,
  document: NewDocument,
): Promise<VaultDocument> {
  await tx.run(
    `INSERT INTO vault_documents (id, user_id, filename, name_key, content_type, size_bytes, sha256, status,
       storage_backend, connection_id, provider_item_id, item_id, semantic_index_status, content_at, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, 'none', ?, ?, ?)`,
    document.id,
    document.userId,
    document.filename,
    toNameKey(document.filename),
    document.contentType,
    document.sizeBytes,
    document.sha256,
    document.storageBackend,
    document.connectionId ?? null,
    document.providerItemId ?? null,
    document.itemId ?? null,
    tx.now,
    tx.now,
    tx.now,
  );
  return {
    ...document,
    itemId: document.itemId,
    status: "pending",
    statusReason: undefined,
    semanticIndexStatus: "none",
    classification: undefined,
    version: 1,
    contentAt: tx.now,
    trashedAt: undefined,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
}

/** Returns the document of an id unless it is in the trash. Does not check its owner. */
export async function findDocument(
  db: Queries,
  id: DocumentId,
): Promise<VaultDocument | undefined> {
  const row = await db.get(
    `SELECT ${documentColumns} FROM vault_documents AS document WHERE id = ? AND trashed_at IS NULL`,
    id,
  );
  return row && toDocument(row);
}

export type DocumentSort = "name" | "size" | "created_at";

/** Conditions of a document list; an absent one matches every document. */
export interface DocumentFilter {
  readonly userId: AccountId;
  /** Topic by name, compared without case and accents. */
  readonly topicKey?: string | undefined;
  readonly hasTopics?: boolean | undefined;
  readonly status?: DocumentStatus | undefined;
  readonly contentType?: string | undefined;
  readonly sha256?: string | undefined;
  /** Only documents whose name and text match all terms. */
  readonly terms?: readonly SearchTerm[] | undefined;
}

const SORT_COLUMNS: Readonly<Record<DocumentSort, string>> = {
  name: "name_key",
  size: "size_bytes",
  created_at: "created_at",
};

/** Returns one page of a user's documents and the number of all matches. */
export async function listDocuments(
  db: Queries & { readonly dialect: "sqlite" | "postgres" },
  filter: DocumentFilter,
  {
    sort,
    descending,
    limit,
    offset,
  }: {
    readonly sort: DocumentSort;
    readonly descending: boolean;
    readonly limit: number;
    readonly offset: number;
  },
): Promise<{ readonly documents: VaultDocument[]; readonly total: number }> {
  const { where, values } = toWhere(db.dialect, filter);
  const direction = descending ? "DESC" : "ASC";
  const column = SORT_COLUMNS[sort];
  const order = (table: string) =>
    `ORDER BY ${table}${column} ${direction}, ${table}id ${direction}`;
  // The page is chosen in the index first, so that a deep page reads no more rows than it shows.
  const rows = await db.all(
    `SELECT ${documentColumns} FROM (
       SELECT id FROM vault_documents ${where} ${order("")} LIMIT ? OFFSET ?
     ) AS chosen JOIN vault_documents AS document ON document.id = chosen.id ${order("document.")}`,
    ...values,
    limit,
    offset,
  );
  const documents = rows.map(toDocument);
  // The end of the list tells how long it is: a search that finds little runs once.
  if (isEnd({ offset, limit }, rows.length)) return { documents, total: offset + rows.length };
  const count = await db.get<{ total: number }>(
    `SELECT count(*) AS total FROM vault_documents ${where}`,
    ...values,
  );
  return { documents, total: Number(count?.total ?? 0) };
}

/** Renames a document. Returns false when it does not exist. */
export async function renameDocument(
  tx: Transaction,
  id: DocumentId,
  filename: string,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_documents SET filename = ?, name_key = ?, updated_at = ? WHERE id = ?",
    filename,
    toNameKey(filename),
    tx.now,
    id,
  );
  return changes > 0;
}

/** Sets the processing status and its reason. Returns false when the document does not exist. */
export async function setDocumentStatus(
  tx: Transaction,
  id: DocumentId,
  status: DocumentStatus,
  reason?: string,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_documents SET status = ?, status_reason = ?, updated_at = ? WHERE id = ?",
    status,
    reason ?? null,
    tx.now,
    id,
  );
  return changes > 0;
}

/** Records the end of processing. Returns false when the document does not exist. */
export async function finishDocument(
  tx: Transaction,
  id: DocumentId,
  result: {
    readonly status: DocumentStatus;
    readonly reason: string | undefined;
    readonly classification: Classification | undefined;
    readonly contentType: string;
  },
): Promise<boolean> {
  const { status, reason, classification, contentType } = result;
  const { changes } = await tx.run(
    `UPDATE vault_documents SET status = ?, status_reason = ?, classified_topic = ?, classification_confidence = ?,
       classification_provider = ?, classification_words = ?, content_type = ?, updated_at = ? WHERE id = ?`,
    status,
    reason ?? null,
    classification?.topic ?? null,
    classification?.confidence ?? null,
    classification?.provider ?? null,
    classification === undefined ? null : JSON.stringify(classification.words),
    contentType,
    tx.now,
    id,
  );
  return changes > 0;
}

/** Deletes a document with its versions, topics, shares and search entry. Returns false when it does not exist. */
export async function deleteDocument(tx: Transaction, id: DocumentId): Promise<boolean> {
  const { changes } = await tx.run("DELETE FROM vault_documents WHERE id = ?", id);
  return changes > 0;
}

/** Returns how many documents are in each state, over all users. States without documents are absent. */
export async function countDocumentsByStatus(
  db: Queries,
): Promise<ReadonlyMap<DocumentStatus, number>> {
  const rows = await db.all<{ status: DocumentStatus; total: number }>(
    "SELECT status, count(*) AS total FROM vault_documents WHERE trashed_at IS NULL GROUP BY status",
  );
  return new Map(rows.map(({ status, total }) => [status, Number(total)]));
}

/** Names of the topics of documents, sorted, by document id; with `system` without those of users. */
export async function listTopicsOfDocuments(
  db: Queries,
  ids: readonly DocumentId[],
  owner: "any" | "system" = "any",
): Promise<ReadonlyMap<string, string[]>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all<{ document_id: DocumentId; name: string }>(
    `SELECT link.document_id, topic.name FROM vault_document_topics AS link
     JOIN vault_topics AS topic ON topic.id = link.topic_id
     WHERE link.document_id IN (${ids.map(() => "?").join(", ")})
       ${owner === "system" ? "AND topic.user_id IS NULL" : ""} ORDER BY topic.name_key`,
    ...ids,
  );
  const names = new Map<string, string[]>();
  for (const { document_id: id, name } of rows) names.set(id, [...(names.get(id) ?? []), name]);
  return names;
}

/** The columns of a record, of `vault_documents AS document`. */
export const documentColumns = `document.id, document.user_id, document.filename, document.content_type, document.size_bytes,
  document.sha256, document.status, document.status_reason, document.storage_backend, document.connection_id,
  document.provider_item_id, document.item_id, document.semantic_index_status, document.classified_topic,
  document.classification_confidence, document.classification_provider, document.classification_words,
  document.version, document.content_at, document.trashed_at, document.created_at, document.updated_at`;

/** The key by which file names are sorted: without case, so that `b` follows `A`. */
export function toNameKey(filename: string): string {
  return filename.normalize("NFKC").toLowerCase();
}

function toWhere(
  dialect: "sqlite" | "postgres",
  { userId, topicKey, hasTopics, status, contentType, sha256, terms }: DocumentFilter,
): {
  readonly where: string;
  readonly values: readonly SqlValue[];
} {
  const conditions = ["user_id = ?", "trashed_at IS NULL"];
  const values: SqlValue[] = [userId];
  if (status !== undefined) {
    conditions.push("status = ?");
    values.push(status);
  }
  if (topicKey !== undefined) {
    conditions.push(`id IN (
      SELECT link.document_id FROM vault_document_topics AS link
      JOIN vault_topics AS topic ON topic.id = link.topic_id WHERE topic.name_key = ?)`);
    values.push(topicKey);
  }
  if (hasTopics !== undefined)
    conditions.push(
      `${hasTopics ? "" : "NOT "}EXISTS (
         SELECT 1 FROM vault_document_topics AS link WHERE link.document_id = vault_documents.id)`,
    );
  if (contentType !== undefined) {
    conditions.push("content_type = ?");
    values.push(contentType);
  }
  if (sha256 !== undefined) {
    conditions.push("sha256 = ?");
    values.push(sha256);
  }
  if (terms !== undefined) {
    const matching = toDocumentCondition(dialect, terms);
    conditions.push(matching.condition);
    values.push(...matching.values);
  }
  return { where: `WHERE ${conditions.join(" AND ")}`, values };
}

const text = (value: SqlValue | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);

/** Converts a row of `documentColumns`. */
export function toDocument(row: Row): VaultDocument {
  const topic = text(row["classified_topic"]);
  return {
    id: toDocumentId(row["id"]),
    userId: toAccountId(row["user_id"]),
    filename: String(row["filename"]),
    contentType: String(row["content_type"]),
    sizeBytes: Number(row["size_bytes"]),
    sha256: String(row["sha256"]),
    status: row["status"] as DocumentStatus,
    statusReason: text(row["status_reason"]),
    storageBackend: String(row["storage_backend"]),
    connectionId: row["connection_id"] === null ? undefined : toConnectionId(row["connection_id"]),
    providerItemId: text(row["provider_item_id"]),
    itemId: text(row["item_id"]),
    semanticIndexStatus: row["semantic_index_status"] as SemanticIndexStatus,
    classification:
      topic === undefined
        ? undefined
        : {
            topic,
            confidence: Number(row["classification_confidence"]),
            provider: String(row["classification_provider"]),
            words: parseColumn(
              wordsSchema,
              String(row["classification_words"]),
              "vault_documents.classification_words",
            ),
          },
    version: Number(row["version"]),
    contentAt: Number(row["content_at"]),
    trashedAt: row["trashed_at"] === null ? undefined : Number(row["trashed_at"]),
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
  };
}
