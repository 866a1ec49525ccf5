import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { groupValues } from "../../chunks.ts";
import {
  initial,
  integer,
  json,
  now,
  optional,
  real,
  text,
  textId,
  unread,
} from "../../columns.ts";
import { all, raw, sql, type SqlText } from "../../condition.ts";
import { defineTable, type RecordOf, type Window } from "../../table.ts";
import type { AccountId, ConnectionId, DocumentId } from "../ids.ts";
import { findDocumentCount } from "../quotas.ts";
import { isEnd, toDocumentCondition } from "../search.ts";
import type { SearchTerm } from "../search-terms.ts";

export type DocumentStatus = "pending" | "processing" | "ready" | "classification_failed";
export type SemanticIndexStatus = "none" | "pending" | "ready" | "failed" | "stale";

/** The storage backend of documents in the daemon's own object store. */
export const INTERNAL_BACKEND = "internal";

export const documents = defineTable("vault_documents AS document", {
  id: textId<DocumentId>(),
  userId: textId<AccountId>(),
  filename: text(),
  /** The name without case, by which documents are sorted. */
  nameKey: unread(text()),
  contentType: text(),
  sizeBytes: integer(),
  /** Lower-case hex. */
  sha256: text(),
  status: initial("pending", text<DocumentStatus>()),
  /** Why the text, or a part of it, is missing; undefined when nothing is missing. */
  statusReason: optional(text()),
  /** `internal`, or the type of the provider that holds the bytes. */
  storageBackend: text(),
  /** Where the bytes of a document in connected storage are; undefined once the connection is deleted. */
  connectionId: optional(textId<ConnectionId>()),
  providerItemId: optional(text()),
  /** The recorded item of that file; undefined once its record is deleted. */
  itemId: optional(text()),
  semanticIndexStatus: initial("none", text<SemanticIndexStatus>()),
  /** The result of the classification; all four are undefined without one. */
  classifiedTopic: optional(text()),
  classificationConfidence: optional(real()),
  classificationProvider: optional(text()),
  classificationWords: optional(json(z.array(z.string()))),
  /** Counts the contents that the document has had, from 1. */
  version: initial(1, integer()),
  /** When the present content was stored. */
  contentAt: now(),
  /** When it was put into the trash; undefined for every other document. */
  trashedAt: optional(integer()),
  createdAt: now(),
  updatedAt: now(),
});

/** A document. Times are epoch milliseconds. */
export type VaultDocument = RecordOf<typeof documents>;

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
export const insertDocument = (tx: Transaction, document: NewDocument): Promise<VaultDocument> =>
  documents.insert(tx, { ...document, nameKey: toNameKey(document.filename) });

/** Returns the document of an id unless it is in the trash. Does not check its owner. */
export const findDocument = (db: Queries, id: DocumentId): Promise<VaultDocument | undefined> =>
  documents.find(db, { id, trashedAt: undefined });

/** Returns the documents of a link to several, in their order, without those that were deleted or are in the trash. */
export const listDocumentsOfLink = (db: Queries, linkId: string): Promise<VaultDocument[]> =>
  documents.readAll(
    db,
    `SELECT ${documents.columns} FROM vault_link_documents AS part
     JOIN vault_documents AS document ON document.id = part.document_id AND document.trashed_at IS NULL
     WHERE part.link_id = ? ORDER BY part.position`,
    linkId,
  );

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
    ...window
  }: Window & {
    readonly sort: DocumentSort;
    readonly descending: boolean;
  },
): Promise<{ readonly documents: VaultDocument[]; readonly total: number }> {
  const where = toWhere(db.dialect, filter);
  const direction = descending ? "DESC" : "ASC";
  const order = `document.${SORT_COLUMNS[sort]} ${direction}, document.id ${direction}`;
  // The page is chosen in the index first, so that a deep page reads no more rows than it shows.
  const page = await documents.as("document").list(
    db,
    sql`(SELECT id FROM vault_documents AS document WHERE ${where}
         ORDER BY ${raw(order)} LIMIT ${window.limit} OFFSET ${window.offset}) AS chosen
       JOIN vault_documents AS document ON document.id = chosen.id`,
    { order },
  );
  // The end of the list tells how long it is: a search that finds little runs once.
  if (isEnd(window, page.length)) return { documents: page, total: window.offset + page.length };
  const { userId, ...conditions } = filter;
  const isOfAll = Object.values(conditions).every((condition) => condition === undefined);
  const total = isOfAll ? await findDocumentCount(db, userId) : undefined;
  return { documents: page, total: total ?? (await documents.count(db, where)) };
}

/** Renames a document. Returns false when it does not exist. */
export async function renameDocument(
  tx: Transaction,
  id: DocumentId,
  filename: string,
): Promise<boolean> {
  const changes = { filename, nameKey: toNameKey(filename), updatedAt: tx.now };
  return (await documents.update(tx, { id }, changes)) > 0;
}

/** Sets the processing status and its reason. Returns false when the document does not exist. */
export async function setDocumentStatus(
  tx: Transaction,
  id: DocumentId,
  status: DocumentStatus,
  statusReason?: string,
): Promise<boolean> {
  return (await documents.update(tx, { id }, { status, statusReason, updatedAt: tx.now })) > 0;
}

/** Records the end of processing. Returns false when the document does not exist. */
export async function finishDocument(
  tx: Transaction,
  id: DocumentId,
  {
    classification,
    ...result
  }: Pick<VaultDocument, "status" | "statusReason" | "contentType"> & {
    readonly classification: Classification | undefined;
  },
): Promise<boolean> {
  const changes = {
    ...result,
    classifiedTopic: classification?.topic,
    classificationConfidence: classification?.confidence,
    classificationProvider: classification?.provider,
    classificationWords: classification?.words,
    updatedAt: tx.now,
  };
  return (await documents.update(tx, { id }, changes)) > 0;
}

/** Deletes a document with its versions, topics, shares and search entry. Returns false when it does not exist. */
export async function deleteDocument(tx: Transaction, id: DocumentId): Promise<boolean> {
  return (await documents.delete(tx, { id })) > 0;
}

/** Returns how many documents are in each state, over all users. States without documents are absent. */
export async function countDocumentsByStatus(
  db: Queries,
): Promise<ReadonlyMap<DocumentStatus, number>> {
  const rows = await db.all<{ status: DocumentStatus; total: number }>(
    "SELECT status, count(*) AS total FROM vault_documents WHERE trashed_at IS NULL GROUP BY status",
  );
  return new Map(rows.map(({ status, total }) => [status, total]));
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
  return groupValues(
    rows,
    (row) => row.document_id,
    ({ name }) => name,
  );
}

/** The key by which file names are sorted: without case, so that `b` follows `A`. */
export function toNameKey(filename: string): string {
  return filename.normalize("NFKC").toLowerCase();
}

/** The condition of a filter on `vault_documents AS document`. */
function toWhere(
  dialect: "sqlite" | "postgres",
  { userId, topicKey, hasTopics, status, contentType, sha256, terms }: DocumentFilter,
): SqlText {
  const conditions = [sql`document.user_id = ${userId} AND document.trashed_at IS NULL`];
  if (status !== undefined) conditions.push(sql`document.status = ${status}`);
  if (topicKey !== undefined)
    conditions.push(sql`document.id IN (
      SELECT link.document_id FROM vault_document_topics AS link
      JOIN vault_topics AS topic ON topic.id = link.topic_id WHERE topic.name_key = ${topicKey})`);
  if (hasTopics !== undefined)
    conditions.push(sql`${raw(hasTopics ? "" : "NOT ")}EXISTS (
      SELECT 1 FROM vault_document_topics AS link WHERE link.document_id = document.id)`);
  if (contentType !== undefined) conditions.push(sql`document.content_type = ${contentType}`);
  if (sha256 !== undefined) conditions.push(sql`document.sha256 = ${sha256}`);
  if (terms !== undefined)
    conditions.push(sql`document.id IN (${toDocumentCondition(dialect, terms)})`);
  return all(conditions);
}
