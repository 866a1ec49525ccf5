import type { Readable } from "node:stream";
import type { CachedBytes } from "../../../storage/cache/cache-hits.ts";
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { type AuditRecord, insertAudit, listAudit } from "../../../storage/tables/vault/audit.ts";
import {
  type DocumentSort,
  type DocumentStatus,
  findDocument,
  INTERNAL_BACKEND,
  listDocuments,
  listTopicsOfDocuments,
  renameDocument,
  setDocumentStatus,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import { findDocumentText } from "../../../storage/tables/vault/documents/texts.ts";
import { listStoredVersions } from "../../../storage/tables/vault/documents/versions.ts";
import {
  listDocumentsWithoutFile,
  listStoredObjects,
} from "../../../storage/tables/vault/documents/stored-bytes.ts";
import { correctUsedBytes } from "../../../storage/tables/vault/quotas.ts";
import { isObjectReferenced } from "../../../storage/tables/common/object-references.ts";
import {
  findPermission,
  type SharePermission,
} from "../../../storage/tables/vault/documents/shares.ts";
import { setDocumentTopics } from "../../../storage/tables/vault/documents/topics.ts";
import { type DocumentId, toDocumentId } from "../../../storage/tables/vault/ids.ts";
import { listPassages } from "../../../storage/tables/vault/search.ts";
import { renameSearchEntry } from "../../../storage/tables/vault/search-entries.ts";
import { AppError } from "../../errors.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import type { StoredFiles } from "../cloud/stored-files/stored-files.service.ts";
import type { PageRequest } from "../page.ts";
import { parseQuery, toSnippet } from "./query.ts";
import type { DocumentFiles } from "./document-files.ts";
import { type Topics, toTopicKey } from "./topics.service.ts";
import { openObject } from "../../utilities/open-object.ts";

/** A document with the related rows that its view shows. */
export interface DocumentDetail {
  readonly document: VaultDocument;
  /** Names of its topics, sorted. */
  readonly topics: readonly string[];
  /** Null without a text; absent in lists and for a recipient of a share. */
  readonly extractedText?: string | null;
  /** In lists with a query: the passage that matches. */
  readonly snippet?: string | undefined;
}

/** The bytes of a document. */
export interface DocumentContent {
  readonly document: VaultDocument;
  readonly bytes: DocumentBytes;
}

/** Bytes ready to be sent. `release` is called exactly once, when they are sent or the response is aborted. */
export interface DocumentBytes {
  /** Undefined if the size is known only at the end. */
  readonly size: number | undefined;
  /** Identifies the bytes; undefined if other bytes could get the same tag. */
  readonly etag: string | undefined;
  readonly lastModified: Date | undefined;
  /** All bytes, if they are in memory. */
  readonly buffer?: Uint8Array | undefined;
  /** Opens the part from `start` to `end`, both included. Refuses when the bytes are missing, damaged or not available. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** Writes the part to a stream in constant memory, where the source can. */
  readonly send?: CachedBytes["send"];
  release?(): void;
}

export type Documents = ReturnType<typeof createDocuments>;

/** The result of a reconciliation. */
export interface ReconcileReport {
  /** Users whose booked bytes were not the sum of their documents. */
  readonly correctedUsers: readonly string[];
  /** Documents whose object is missing. */
  readonly withoutBytes: readonly string[];
  /** Documents whose file in connected storage was deleted there, or whose connection was removed. */
  readonly withoutFile: readonly string[];
  /** Number of deleted files in connected storage that a crash had left without a document. */
  readonly discarded: number;
}

export interface DocumentsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly files: Pick<DocumentFiles, "open"> & Pick<StoredFiles, "discardAbandoned">;
  readonly topics: Pick<Topics, "resolve">;
  /** Whether a type may be shown in place. */
  readonly isPreviewable: (contentType: string) => boolean;
  /** Starts extraction and classification once the transaction commits. */
  readonly enqueueProcessing: (tx: Transaction, document: VaultDocument) => Promise<void>;
}

const RECONCILE_BATCH = 500;
/** Maximum duration of an upload; an older one was interrupted. */
const ABANDONED_AFTER_MS = 24 * 3_600_000;

/**
 * A user's documents. Another user's documents are `not_found`, like missing ones; with a share, `find` and `content`
 * work on them, too.
 */
export function createDocuments(deps: DocumentsDeps) {
  const { db, store, clock } = deps;

  return {
    async list(
      caller: VaultCaller,
      {
        q = "",
        sort,
        order,
        topic,
        status,
        ...query
      }: {
        /** Words in names and texts, as `parseQuery` reads them; blank text matches all documents. */
        readonly q?: string | undefined;
        readonly sort: DocumentSort;
        readonly order?: "asc" | "desc" | undefined;
        readonly topic?: string | undefined;
        readonly has_topics?: boolean | undefined;
        readonly status?: DocumentStatus | undefined;
        readonly content_type?: string | undefined;
        readonly sha256?: string | undefined;
      },
      { page, perPage }: PageRequest,
    ): Promise<{ readonly details: readonly DocumentDetail[]; readonly total: number }> {
      const terms = q.trim() === "" ? undefined : parseQuery(q);
      const { documents, total } = await listDocuments(
        db,
        {
          userId: caller.userId,
          status,
          terms,
          topicKey: topic && toTopicKey(topic),
          hasTopics: query.has_topics,
          contentType: query.content_type,
          sha256: query.sha256,
        },
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

    /** Returns a document of the caller, or one that is shared with the caller, then without its text. */
    async find(caller: VaultCaller, id: DocumentId): Promise<DocumentDetail> {
      const { document, permission } = await getReadable(caller, id);
      return permission === "owner" ? toDetail(document) : toSharedDetail(document);
    },

    /** The same without its topics and text. */
    async getReadable(caller: VaultCaller, id: DocumentId): Promise<VaultDocument> {
      return (await getReadable(caller, id)).document;
    },

    /** Returns one page of the audit records about a document of the caller, newest first, and their number. */
    async listEvents(
      caller: VaultCaller,
      id: DocumentId,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly records: readonly AuditRecord[]; readonly total: number }> {
      await getOwn(db, caller, id);
      const window = { limit: perPage, offset: (page - 1) * perPage };
      return listAudit(db, { userId: caller.userId, documentId: id }, window);
    },

    /** Adds topics and text to a document. */
    toDetail,

    /** Adds topics to documents. */
    withTopics,

    async update(
      caller: VaultCaller,
      id: DocumentId,
      {
        filename,
        topics,
      }: {
        readonly filename?: string | undefined;
        /** Names; they replace the present topics. */
        readonly topics?: readonly string[] | undefined;
      },
    ): Promise<DocumentDetail> {
      await db.transaction(async (tx) => {
        const before = await getOwn(tx, caller, id);
        const topicIds = topics && (await deps.topics.resolve(tx, caller.userId, topics));
        if (filename !== undefined) {
          await renameDocument(tx, id, filename);
          await renameSearchEntry(tx, id, filename);
        }
        if (topicIds !== undefined) await setDocumentTopics(tx, id, topicIds);
        const metadata = {
          ...(filename === undefined ? {} : { filename, previous_filename: before.filename }),
          ...(topics === undefined ? {} : { topics }),
        };
        await insertAudit(tx, toAudit(caller, "document.changed", id, metadata));
      });
      return toDetail(await getOwn(db, caller, id));
    },

    /** Marks a document as `processing` and enqueues extraction and classification. */
    async classify(caller: VaultCaller, id: DocumentId): Promise<void> {
      await db.transaction(async (tx) => {
        const document = await getOwn(tx, caller, id);
        await setDocumentStatus(tx, id, "processing");
        await deps.enqueueProcessing(tx, document);
      });
    },

    /** Returns the bytes. Refuses with `forbidden` a download by a recipient who may only view, see `SharePermission`. */
    async content(
      caller: VaultCaller,
      id: DocumentId,
      disposition: "inline" | "attachment",
    ): Promise<DocumentContent> {
      const { document, permission } = await getReadable(caller, id);
      if (
        permission === "view" &&
        (disposition === "attachment" || !deps.isPreviewable(document.contentType))
      )
        throw new AppError("forbidden", "You may view this document, but not download it.");
      return { document, bytes: await toBytes(document) };
    },

    /** Opens the bytes of a document, without a check of permissions. */
    open: toBytes,

    /** Corrects quota bookings and reports documents whose bytes are missing. For a scheduled task. */
    async reconcile(signal: AbortSignal): Promise<ReconcileReport> {
      const correctedUsers = await db.transaction(correctUsedBytes);
      const discarded = await deps.files.discardAbandoned(clock() - ABANDONED_AFTER_MS, signal);
      const withoutFile = await listAllWithoutFile(signal);
      const withoutBytes = await listAllWithoutBytes(signal);
      return { correctedUsers, withoutBytes, withoutFile, discarded };
    },
  };

  async function toBytes(document: VaultDocument): Promise<DocumentBytes> {
    if (isInternal(document)) return toObjectBytes(store, document, document.contentAt);
    const { bytes, entityTag, modifiedAt } = await deps.files.open(document);
    return {
      ...bytes,
      etag: entityTag,
      lastModified: modifiedAt === undefined ? undefined : new Date(modifiedAt),
    };
  }

  /** Lists documents, in the trash as well, whose content or version is missing. */
  async function listAllWithoutBytes(signal: AbortSignal): Promise<string[]> {
    const ids = new Set<string>();
    const check = async (id: string, sha256: string, sizeBytes: number): Promise<void> => {
      signal.throwIfAborted();
      if (await store.has(sha256, sizeBytes)) return;
      // It may have been deleted meanwhile.
      if (await isObjectReferenced(db, sha256)) ids.add(id);
    };
    let afterId = "";
    for (;;) {
      const batch = await listStoredObjects(db, afterId, RECONCILE_BATCH);
      for (const { id, sha256, sizeBytes } of batch) await check(id, sha256, sizeBytes);
      const last = batch.at(-1);
      if (last === undefined) break;
      afterId = last.id;
    }
    let after = { documentId: toDocumentId(""), number: 0 };
    for (;;) {
      const batch = await listStoredVersions(db, after, RECONCILE_BATCH);
      for (const { documentId, sha256, sizeBytes } of batch)
        await check(documentId, sha256, sizeBytes);
      const last = batch.at(-1);
      if (last === undefined) return [...ids];
      after = last;
    }
  }

  async function listAllWithoutFile(signal: AbortSignal): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      signal.throwIfAborted();
      const batch = await listDocumentsWithoutFile(db, ids.at(-1) ?? "", RECONCILE_BATCH);
      if (batch.length === 0) return ids;
      ids.push(...batch);
    }
  }

  async function getOwn(
    from: Queries,
    caller: VaultCaller,
    id: DocumentId,
  ): Promise<VaultDocument> {
    const document = await findDocument(from, id);
    if (document?.userId !== caller.userId) throw documentNotFound();
    return document;
  }

  /** Returns a document with the caller's permission. Called for every request, because a share may have ended. */
  async function getReadable(
    caller: VaultCaller,
    id: DocumentId,
  ): Promise<{ readonly document: VaultDocument; readonly permission: SharePermission | "owner" }> {
    const document = await findDocument(db, id);
    if (document?.userId === caller.userId) return { document, permission: "owner" };
    // Also queried for a missing document: the response must not come sooner than for another user's document.
    const permission = await findPermission(db, id, caller.userId);
    if (document === undefined || permission === undefined) throw documentNotFound();
    return { document, permission };
  }

  /** Returns a document as its recipients see it: without its text, and of its topics only the system's. */
  async function toSharedDetail(document: VaultDocument): Promise<DocumentDetail> {
    const topics = await listTopicsOfDocuments(db, [document.id], "system");
    return {
      document: { ...document, classifiedTopic: undefined },
      topics: topics.get(document.id) ?? [],
    };
  }

  async function toDetail(document: VaultDocument): Promise<DocumentDetail> {
    const topics = await listTopicsOfDocuments(db, [document.id]);
    const extractedText = await findDocumentText(db, document.id);
    return {
      document,
      topics: topics.get(document.id) ?? [],
      extractedText: extractedText ?? null,
    };
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

/** The refusal of bytes that the quota has no room for. */
export function quotaExceeded(): AppError {
  return new AppError("too_large", "Storage quota exceeded");
}

/** Returns whether a document is in the vault's own storage. */
export function isInternal({ storageBackend }: Pick<VaultDocument, "storageBackend">): boolean {
  return storageBackend === INTERNAL_BACKEND;
}

/** Returns the bytes of an object, as the content of a document. */
export function toObjectBytes(
  store: ObjectStore,
  { sha256, sizeBytes }: Pick<VaultDocument, "sha256" | "sizeBytes">,
  storedAt: number,
): DocumentBytes {
  return {
    size: sizeBytes,
    etag: sha256,
    lastModified: new Date(storedAt),
    open: (range) => openObject(store, { sha256, size: sizeBytes }, "document", range),
  };
}
