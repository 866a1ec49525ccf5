import type { Readable } from "node:stream";
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  findDocument,
  setDocumentStatus,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  deleteVersion,
  findVersion,
  keepVersion,
  listExcessVersions,
  listVersions,
  type NewContent,
  putContent,
} from "../../../storage/tables/vault/documents/versions.ts";
import { putDocumentBytes } from "../../../storage/tables/vault/documents/stored-bytes.ts";
import type { DocumentId } from "../../../storage/tables/vault/ids.ts";
import { bookBytes, findRoom, releaseBytes } from "../../../storage/tables/vault/quotas.ts";
import { putSearchEntry } from "../../../storage/tables/vault/search-entries.ts";
import { AppError } from "../../errors.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import type { DocumentFiles } from "./document-files.ts";
import {
  type DocumentContent,
  type DocumentDetail,
  documentNotFound,
  type Documents,
  isInternal,
  quotaExceeded,
  toObjectBytes,
} from "./documents.service.ts";
import { createInFlightBytes } from "./in-flight-bytes.ts";
import { uploadTooLarge } from "./document-records.ts";
import { writeObject } from "./write-object.ts";

/** One content that a document has or had. */
export interface VersionDetail extends NewContent {
  /** Counts from 1. */
  readonly number: number;
  /** When it was stored. Epoch milliseconds. */
  readonly createdAt: number;
  readonly isCurrent: boolean;
}

/** The bytes that replace the content of a document. */
export interface Replacement {
  /** The header `If-Match`. */
  readonly ifMatch: string;
  /** Undefined keeps that of the document. */
  readonly contentType: string | undefined;
  readonly content: Readable;
  /** From the header `Content-Length`. */
  readonly size: number | undefined;
}

export type DocumentVersions = ReturnType<typeof createDocumentVersions>;

export interface DocumentVersionsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  /** Largest upload. */
  readonly uploadBytesMax: number;
  /** How many earlier contents of a document are kept. */
  readonly versionsKept: number;
  readonly files: Pick<DocumentFiles, "open" | "replace">;
  readonly documents: Pick<Documents, "toDetail" | "open">;
  /** Starts extraction and classification once the transaction commits. */
  readonly enqueueProcessing: (tx: Transaction, document: VaultDocument) => Promise<void>;
}

/**
 * Replaces contents of the caller's own documents. In the vault's own storage the previous content is kept as a version,
 * which counts towards the quota. In connected storage the file is replaced in its place, and the provider keeps the
 * versions that it keeps.
 */
export function createDocumentVersions(deps: DocumentVersionsDeps) {
  const { db, store, uploadBytesMax, versionsKept, files, documents } = deps;
  const inFlight = createInFlightBytes();

  return {
    /**
     * Gives a document another content; equal bytes change nothing. Refuses with `precondition_failed` when the present
     * content is another one than `ifMatch` names, with `too_large` bytes that the quota has no room for. A refusal keeps the
     * document as it is.
     */
    async replace(
      caller: VaultCaller,
      id: DocumentId,
      replacement: Replacement,
    ): Promise<DocumentDetail> {
      const { content, size } = replacement;
      try {
        const document = await getOwn(db, caller, id);
        await assertMatch(document, replacement.ifMatch);
        if (size !== undefined && size > uploadBytesMax) throw uploadTooLarge(uploadBytesMax);
        const replaced = isInternal(document)
          ? await replaceObject(caller, document, replacement)
          : await replaceFile(caller, document, replacement);
        return await documents.toDetail(replaced);
      } finally {
        content.resume();
      }
    },

    /** Returns the present content and the earlier ones, newest first. */
    async list(caller: VaultCaller, id: DocumentId): Promise<readonly VersionDetail[]> {
      const document = await getOwn(db, caller, id);
      const { version: number, contentAt: createdAt, contentType, sizeBytes, sha256 } = document;
      const current = { number, createdAt, contentType, sizeBytes, sha256, isCurrent: true };
      const earlier = await listVersions(db, id);
      return [current, ...earlier.map((version) => ({ ...version, isCurrent: false }))];
    },

    /** Returns the bytes of one content, the present one included. */
    async content(caller: VaultCaller, id: DocumentId, number: number): Promise<DocumentContent> {
      const document = await getOwn(db, caller, id);
      if (document.version === number) return { document, bytes: await documents.open(document) };
      const version = await findVersion(db, id, number);
      if (version === undefined) throw versionNotFound();
      const { contentType, sizeBytes, sha256, createdAt } = version;
      return {
        document: { ...document, contentType, sizeBytes, sha256 },
        bytes: toObjectBytes(store, version, createdAt),
      };
    },

    /**
     * Makes an earlier content the present one, under the next number; the content before is kept as a version. The quota does
     * not change.
     */
    async restore(caller: VaultCaller, id: DocumentId, number: number): Promise<DocumentDetail> {
      const restored = await db.transaction(async (tx) => {
        const document = await getOwn(tx, caller, id);
        if (document.version === number) return document;
        const version = await findVersion(tx, id, number);
        if (version === undefined) throw versionNotFound();
        await deleteVersion(tx, id, number);
        await keepVersion(tx, document);
        return record(tx, caller, document, version, { restored_version: number });
      });
      return documents.toDetail(restored);
    },
  };

  async function replaceObject(
    caller: VaultCaller,
    document: VaultDocument,
    { ifMatch, contentType, content, size }: Replacement,
  ): Promise<VaultDocument> {
    const arriving = inFlight.open(caller.userId);
    try {
      const excess = await listExcess(db, document);
      const room = await findRoom(db, caller.userId);
      const free = room.free + sumBytes(excess);
      if (size !== undefined && size > free) throw quotaExceeded();
      const object = await writeObject(store, content, (bytes) => {
        if (bytes > free || !arriving.set(bytes, room.limit)) return quotaExceeded();
        return bytes > uploadBytesMax ? uploadTooLarge(uploadBytesMax) : undefined;
      });
      return await db.transaction(async (tx) => {
        const present = await getOwn(tx, caller, document.id);
        // Another request may have replaced the content while these bytes arrived.
        if (present.version !== document.version) await assertMatch(present, ifMatch);
        const next = {
          contentType: contentType ?? present.contentType,
          sizeBytes: object.size,
          sha256: object.sha256,
        };
        if (next.sha256 === present.sha256) return present;
        await makeRoom(tx, present, next.sizeBytes);
        return record(tx, caller, present, next, {});
      });
    } finally {
      arriving.close();
    }
  }

  /** Keeps the present content as a version, deletes versions beyond those that are kept, and books the next content. */
  async function makeRoom(
    tx: Transaction,
    present: VaultDocument,
    nextBytes: number,
  ): Promise<void> {
    const excess = await listExcess(tx, present);
    for (const { number } of excess)
      if (number !== present.version) await deleteVersion(tx, present.id, number);
    await releaseBytes(tx, present.userId, sumBytes(excess));
    if (versionsKept > 0) await keepVersion(tx, present);
    if (!(await bookBytes(tx, present.userId, nextBytes))) throw quotaExceeded();
  }

  /** Returns the contents that are not kept once the document has another one. */
  async function listExcess(
    from: Queries,
    present: VaultDocument,
  ): Promise<readonly { readonly number: number; readonly sizeBytes: number }[]> {
    const versions = await listExcessVersions(from, present.id, Math.max(0, versionsKept - 1));
    return versionsKept > 0
      ? versions
      : [...versions, { number: present.version, sizeBytes: present.sizeBytes }];
  }

  async function replaceFile(
    caller: VaultCaller,
    document: VaultDocument,
    { contentType, content, size }: Replacement,
  ): Promise<VaultDocument> {
    const stored = await files.replace(caller, document, { contentType, content, size });
    return db.transaction(async (tx) => {
      const present = await getOwn(tx, caller, document.id);
      await putDocumentBytes(tx, document.id, stored);
      await setDocumentStatus(tx, document.id, "pending");
      return noteContent(tx, caller, present, {});
    });
  }

  async function record(
    tx: Transaction,
    caller: VaultCaller,
    present: VaultDocument,
    next: NewContent,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<VaultDocument> {
    await putContent(tx, present.id, next);
    return noteContent(tx, caller, present, metadata);
  }

  /** Writes the rows that follow a new content: the audit record, the search entry without a text, the processing. */
  async function noteContent(
    tx: Transaction,
    caller: VaultCaller,
    before: VaultDocument,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<VaultDocument> {
    const document = await getOwn(tx, caller, before.id);
    await insertAudit(
      tx,
      toAudit(caller, "document.content_replaced", document.id, {
        filename: document.filename,
        size_bytes: document.sizeBytes,
        previous_size_bytes: before.sizeBytes,
        version: document.version,
        ...metadata,
      }),
    );
    await putSearchEntry(tx, {
      userId: document.userId,
      source: { documentId: document.id },
      title: document.filename,
      body: "",
      contentType: document.contentType,
      connectionId: document.connectionId,
    });
    await deps.enqueueProcessing(tx, document);
    return document;
  }

  /** Compares the header with the tag of the content, and with the SHA-256 that the document shows. */
  async function assertMatch(document: VaultDocument, ifMatch: string): Promise<void> {
    const tags = ifMatch.split(",").map((tag) => tag.trim().replace(/^"(.*)"$/, "$1"));
    if (tags.includes("*") || tags.includes(document.sha256)) return;
    if (!isInternal(document)) {
      const { bytes, entityTag } = await files.open(document);
      bytes.release();
      if (entityTag !== undefined && tags.includes(entityTag)) return;
    }
    throw new AppError(
      "precondition_failed",
      "The content of the document has changed since. Get it again and compare before you replace it.",
    );
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
}

function sumBytes(versions: readonly { readonly sizeBytes: number }[]): number {
  return versions.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function versionNotFound(): AppError {
  return new AppError("not_found", "The document has no such version");
}
