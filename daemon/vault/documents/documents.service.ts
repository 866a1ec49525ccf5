import type { Readable } from "node:stream";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  deleteDocument,
  type DocumentSort,
  type DocumentStatus,
  findDocument,
  findDocumentText,
  listDocuments,
  listStoredObjects,
  listTopicsOfDocuments,
  renameDocument,
  setDocumentStatus,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import { correctUsedBytes, releaseBytes } from "../../../storage/tables/vault/quotas.ts";
import {
  findPermission,
  type SharePermission,
} from "../../../storage/tables/vault/documents/shares.ts";
import { setDocumentTopics } from "../../../storage/tables/vault/documents/topics.ts";
import { listPassages, renameSearchEntry } from "../../../storage/tables/vault/search.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import type { PageRequest } from "../page.ts";
import { parseQuery, toSnippet } from "../search/query.ts";
import { type Topics, toTopicKey } from "./topics.service.ts";

/** A document with what its view shows besides the row. */
export interface DocumentDetail {
  readonly document: VaultDocument;
  /** Names of its topics, sorted. */
  readonly topics: readonly string[];
  /** Undefined in lists, and until it was extracted. */
  readonly extractedText?: string | undefined;
  /** In lists with a query: the passage that matches. */
  readonly snippet?: string | undefined;
}

/** The bytes of a document. */
export interface DocumentContent {
  readonly document: VaultDocument;
  /** Opens the part from `start` to `end`, both included. Refuses with `unavailable` when the bytes are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

/**
 * A user's documents. Another user's documents are `not_found`, like missing ones; with a share, `find` and `content`
 * work on them, too.
 */
export interface Documents {
  list(
    caller: VaultCaller,
    query: {
      /** Words in names and texts, as `parseQuery` reads them. */
      readonly q?: string | undefined;
      readonly sort: DocumentSort;
      readonly order?: "asc" | "desc" | undefined;
      readonly topic?: string | undefined;
      readonly status?: DocumentStatus | undefined;
    },
    page: PageRequest,
  ): Promise<{ readonly details: readonly DocumentDetail[]; readonly total: number }>;
  /** Adds topics and text to a document. */
  toDetail(document: VaultDocument): Promise<DocumentDetail>;
  /** Returns a document of the caller, or one that is shared with the caller, then without its text. */
  find(caller: VaultCaller, id: string): Promise<DocumentDetail>;
  update(
    caller: VaultCaller,
    id: string,
    changes: {
      readonly filename?: string | undefined;
      /** Names; they replace the present topics. */
      readonly topics?: readonly string[] | undefined;
    },
  ): Promise<DocumentDetail>;
  /** Deletes a document and gives its bytes back to the quota. */
  remove(caller: VaultCaller, id: string): Promise<void>;
  /** Marks a document as `processing` and enqueues extraction and classification. */
  classify(caller: VaultCaller, id: string): Promise<void>;
  /** Returns the bytes. Refuses with `forbidden` a download by a recipient who may only view, see `SharePermission`. */
  content(
    caller: VaultCaller,
    id: string,
    disposition: "inline" | "attachment",
  ): Promise<DocumentContent>;
  /** Sets wrong quota bookings right and reports documents whose bytes are missing. For a scheduled task. */
  reconcile(signal: AbortSignal): Promise<ReconcileReport>;
}

/** What a reconciliation found. */
export interface ReconcileReport {
  /** Users whose booked bytes were not the sum of their documents. */
  readonly correctedUsers: readonly string[];
  /** Documents whose object is missing. */
  readonly withoutBytes: readonly string[];
}

export interface DocumentsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly topics: Pick<Topics, "resolve">;
  /** Whether a type may be shown in place. */
  readonly isPreviewable: (contentType: string) => boolean;
  /** Starts extraction and classification once the transaction commits. */
  readonly enqueueProcessing: (tx: Transaction, document: VaultDocument) => Promise<void>;
}

const RECONCILE_BATCH = 500;

export function createDocuments(deps: DocumentsDeps): Documents {
  const { db, store } = deps;

  return {
    async list(caller, { q, sort, order, topic, status }, { page, perPage }) {
      const terms = q === undefined ? undefined : parseQuery(q);
      const { documents, total } = await listDocuments(
        db,
        { userId: caller.userId, status, terms, topicKey: topic && toTopicKey(topic) },
        {
          sort,
          descending: (order ?? (sort === "created_at" ? "desc" : "asc")) === "desc",
          limit: perPage,
          offset: (page - 1) * perPage,
        },
      );
      const passages = await listPassages(
        db,
        terms ?? [],
        documents.map(({ id }) => id),
      );
      const details = (await withTopics(documents)).map((detail) => {
        const passage = passages.get(detail.document.id);
        return passage === undefined ? detail : { ...detail, snippet: toSnippet(passage).text };
      });
      return { details, total };
    },

    async find(caller, id) {
      const { document, permission } = await getReadable(caller, id);
      const detail = await toDetail(document);
      return permission === "owner" ? detail : { ...detail, extractedText: undefined };
    },

    toDetail,

    async update(caller, id, { filename, topics }) {
      await getOwn(caller, id);
      const topicIds = topics && (await deps.topics.resolve(caller.userId, topics));
      await db.transaction(async (tx) => {
        if (filename !== undefined && !(await renameDocument(tx, id, filename)))
          throw documentNotFound();
        if (filename !== undefined) await renameSearchEntry(tx, id, filename);
        if (topicIds !== undefined) await setDocumentTopics(tx, id, topicIds);
      });
      return toDetail(await getOwn(caller, id));
    },

    async remove(caller, id) {
      const document = await getOwn(caller, id);
      await db.transaction(async (tx) => {
        if (!(await deleteDocument(tx, id))) throw documentNotFound();
        if (document.storageBackend === "internal")
          await releaseBytes(tx, document.userId, document.sizeBytes);
        await insertAudit(tx, {
          eventType: "document.deleted",
          userId: caller.userId,
          actorId: caller.userId,
          resourceId: id,
          ipAddress: caller.address,
          metadata: { filename: document.filename, size_bytes: document.sizeBytes },
        });
      });
    },

    async classify(caller, id) {
      const document = await getOwn(caller, id);
      await db.transaction(async (tx) => {
        if (!(await setDocumentStatus(tx, id, "processing"))) throw documentNotFound();
        await deps.enqueueProcessing(tx, document);
      });
    },

    async content(caller, id, disposition) {
      const { document, permission } = await getReadable(caller, id);
      if (
        permission === "view" &&
        (disposition === "attachment" || !deps.isPreviewable(document.contentType))
      )
        throw new AppError("forbidden", "You may view this document, but not download it.");
      return {
        document,
        async open(range) {
          const opened = await store.open(document.sha256, document.sizeBytes, range);
          if (opened === undefined)
            throw new AppError(
              "unavailable",
              "The bytes of this document are missing or damaged on the server.",
            );
          return opened;
        },
      };
    },

    async reconcile(signal) {
      const correctedUsers = await db.transaction(correctUsedBytes);
      const withoutBytes: string[] = [];
      let afterId = "";
      for (;;) {
        const batch = await listStoredObjects(db, afterId, RECONCILE_BATCH);
        for (const { id, sha256, sizeBytes } of batch) {
          signal.throwIfAborted();
          if (!(await store.has(sha256, sizeBytes)) && (await findDocument(db, id)) !== undefined)
            withoutBytes.push(id);
        }
        const last = batch.at(-1);
        if (last === undefined) return { correctedUsers, withoutBytes };
        afterId = last.id;
      }
    },
  };

  async function getOwn(caller: VaultCaller, id: string): Promise<VaultDocument> {
    const document = await findDocument(db, id);
    if (document?.userId !== caller.userId) throw documentNotFound();
    return document;
  }

  /** Returns a document with what the caller may do with it. Asked again with every request: a share may have ended. */
  async function getReadable(
    caller: VaultCaller,
    id: string,
  ): Promise<{ readonly document: VaultDocument; readonly permission: SharePermission | "owner" }> {
    const document = await findDocument(db, id);
    if (document === undefined) throw documentNotFound();
    if (document.userId === caller.userId) return { document, permission: "owner" };
    const permission = await findPermission(db, id, caller.userId);
    if (permission === undefined) throw documentNotFound();
    return { document, permission };
  }

  async function toDetail(document: VaultDocument): Promise<DocumentDetail> {
    const topics = await listTopicsOfDocuments(db, [document.id]);
    const extractedText = await findDocumentText(db, document.id);
    return { document, topics: topics.get(document.id) ?? [], extractedText };
  }

  async function withTopics(documents: readonly VaultDocument[]): Promise<DocumentDetail[]> {
    const topics = await listTopicsOfDocuments(
      db,
      documents.map(({ id }) => id),
    );
    return documents.map((document) => ({ document, topics: topics.get(document.id) ?? [] }));
  }
}

/** The refusal of a document that is missing or another user's. */
export function documentNotFound(): AppError {
  return new AppError("not_found", "Document not found");
}
