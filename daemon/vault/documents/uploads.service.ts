import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { createOwner } from "../../../storage/owner.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  INTERNAL_BACKEND,
  insertDocument,
  type NewDocument,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  claimUpload,
  countUploads,
  deleteExpiredUploads,
  deleteUpload,
  findUpload,
  findUploadByTicket,
  finishUpload,
  insertUpload,
  releaseAllUploads,
  releaseUpload,
  renewUploadClaim,
  sumUploadBytes,
} from "../../../storage/tables/vault/documents/uploads.ts";
import { bookBytes, findRoom } from "../../../storage/tables/vault/quotas.ts";
import { putSearchEntry } from "../../../storage/tables/vault/search.ts";
import { findVaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import { writeObject } from "./write-object.ts";
import type { DocumentFiles } from "./document-files.ts";
import {
  type DocumentDetail,
  documentNotFound,
  type Documents,
  quotaExceeded,
} from "./documents.service.ts";
import { createInFlightBytes } from "./in-flight-bytes.ts";
import {
  assertPromisedBytes,
  assertPromised,
  inUse,
  biggerThanPromised,
  unknownAddress,
} from "./promised-upload.ts";
import {
  type AccountId,
  type DocumentId,
  toDocumentId,
} from "../../../storage/tables/vault/ids.ts";

/** A promised upload and the address that takes its bytes. */
export interface UploadAddress {
  readonly documentId: DocumentId;
  /** Secret: it authorizes the upload. */
  readonly ticket: string;
  readonly contentType: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** A file of an upload form. */
export interface FormUpload {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Readable;
  /** Undefined if the size is known only at the end. */
  readonly size: number | undefined;
  /** The conditions and further rows of an upload that another feature accepts for its owner. */
  readonly terms?: UploadTerms | undefined;
}

export interface UploadTerms {
  /** Returns the refusal of a file of this size, else undefined; before its document is added, in its transaction. */
  admit(tx: Transaction, bytes: number): Promise<AppError | undefined>;
  /** Writes what belongs to the document, in its transaction. */
  record(tx: Transaction, document: VaultDocument): Promise<void>;
}

export type DocumentUploads = ReturnType<typeof createDocumentUploads>;

export interface DocumentUploadsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly newId: () => string;
  readonly store: ObjectStore;
  /** Largest upload. */
  readonly uploadBytesMax: number;
  /** Starts extraction and classification once the transaction commits. */
  readonly enqueueProcessing: (tx: Transaction, document: VaultDocument) => Promise<void>;
  readonly documents: Pick<Documents, "find" | "toDetail">;
  readonly files: Pick<DocumentFiles, "store">;
}

/** The place of a document in the vault's own storage. */
const INTERNAL = {
  storageBackend: INTERNAL_BACKEND,
  connectionId: undefined,
  providerItemId: undefined,
} as const;

const ADDRESS_LIFE_MS = 15 * 60_000;
/** How long a request that receives nothing keeps an upload for itself. */
const CLAIM_MS = 60_000;
/** Maximum number of unfinished uploads of an account; only a faulty program has more. */
const UPLOADS_PER_USER_MAX = 1_000;
const TICKET_BYTES = 32;

/**
 * Uploads of documents into the storage that their owner has chosen. All throw `too_large` when an upload exceeds the
 * quota, which only the vault's own storage has; connected storage may also refuse with `unavailable` and
 * `provider_failed`.
 */
export function createDocumentUploads(deps: DocumentUploadsDeps) {
  const { db, clock, newId, store, uploadBytesMax, documents } = deps;
  const inFlight = createInFlightBytes();

  return {
    /** Reserves an id and an address for one upload of exactly `size_bytes`. Books nothing yet. */
    async createAddress(
      caller: VaultCaller,
      promise: {
        readonly filename: string;
        readonly content_type: string;
        readonly size_bytes: number;
        readonly sha256?: string | null | undefined;
      },
    ): Promise<UploadAddress> {
      const sizeBytes = promise.size_bytes;
      if (sizeBytes > uploadBytesMax) throw uploadTooLarge(uploadBytesMax);
      const isInternal = (await findBackend(caller.userId)) === INTERNAL_BACKEND;
      const ticket = Buffer.from(deps.randomBytes(TICKET_BYTES)).toString("base64url");
      const documentId = toDocumentId(newId());
      const expiresAt = clock() + ADDRESS_LIFE_MS;
      const contentType = promise.content_type;
      await db.transaction(async (tx) => {
        await assertRoom(tx, caller.userId, sizeBytes, isInternal);
        await insertUpload(tx, {
          id: documentId,
          userId: caller.userId,
          ticketHash: hash("sha256", ticket),
          filename: promise.filename,
          contentType,
          sizeBytes,
          promisedSha256: promise.sha256 ?? undefined,
          expiresAt,
        });
      });
      return { documentId, ticket, contentType, expiresAt };
    },

    /**
     * Takes the bytes of a promised upload. Refuses with `not_found` an unknown or expired address and one of a
     * deactivated user, with `conflict` an address that was used or is in use, with `too_large` and `unprocessable` a
     * body that differs from the declaration. The client may send a refused body again.
     */
    async receive(
      ticket: string,
      { headers, stream }: { readonly headers: IncomingHttpHeaders; readonly stream: Readable },
    ): Promise<void> {
      try {
        const upload = await findUploadByTicket(db, hash("sha256", ticket));
        if (upload === undefined || upload.expiresAt <= clock()) throw unknownAddress();
        // The address alone authorizes the upload; it must not outlive the account's right to it.
        if ((await findVaultUser(db, upload.userId))?.isActive !== true) throw unknownAddress();
        assertPromised(upload, headers);
        const claim = { id: upload.id, claim: newId() };
        let claimedUntil = clock() + CLAIM_MS;
        if (!(await db.transaction((tx) => claimUpload(tx, claim, claimedUntil)))) throw inUse();
        const refuse = async (size: number) => {
          if (size > upload.sizeBytes) return biggerThanPromised(upload);
          const now = clock();
          if (claimedUntil - now > CLAIM_MS / 2) return undefined;
          claimedUntil = now + CLAIM_MS;
          return (await renewUploadClaim(db, claim, claimedUntil)) ? undefined : inUse();
        };
        try {
          const object = await writeObject(store, stream, refuse, (received) =>
            assertPromisedBytes(upload, received),
          );
          if (!(await finishUpload(db, claim, object.sha256))) throw inUse();
        } catch (error) {
          await releaseUpload(db, claim);
          throw error;
        }
      } finally {
        stream.resume();
      }
    },

    /**
     * Creates the document of a received upload and books its quota, in one transaction. Idempotent: a repeated call
     * returns the document. Refuses with `not_found` another user's upload, with `conflict` one whose bytes are
     * missing.
     */
    async confirm(caller: VaultCaller, documentId: DocumentId): Promise<DocumentDetail> {
      const upload = await findUpload(db, documentId);
      // Already confirmed: the response to the first request may have been lost.
      if (upload === undefined) return findConfirmed(caller, documentId);
      if (upload.userId !== caller.userId) throw documentNotFound();
      const { objectSha256 } = upload;
      if (objectSha256 === undefined)
        throw new AppError("conflict", "The bytes of this upload have not arrived.");
      const promised = {
        id: documentId,
        userId: caller.userId,
        filename: upload.filename,
        contentType: upload.contentType,
      };
      const file = { ...promised, sizeBytes: upload.sizeBytes, sha256: objectSha256 };
      const backend = await findBackend(caller.userId);
      if (backend !== INTERNAL_BACKEND) return move(caller, backend, file);
      const document = await db.transaction(async (tx) =>
        (await deleteUpload(tx, documentId))
          ? record(tx, caller, { ...file, ...INTERNAL })
          : undefined,
      );
      // Another request has confirmed it meanwhile.
      return document === undefined
        ? findConfirmed(caller, documentId)
        : documents.toDetail(document);
    },

    /**
     * Returns the bytes that the quota leaves for one more upload, before its body is read. Undefined for connected
     * storage, whose provider enforces its own limits.
     */
    async admit(
      caller: VaultCaller,
    ): Promise<{ readonly fileBytesMax: number; toRefusal(): AppError } | undefined> {
      if ((await findBackend(caller.userId)) !== INTERNAL_BACKEND) return undefined;
      return { fileBytesMax: (await findRoom(db, caller.userId)).free, toRefusal: quotaExceeded };
    },

    /** Stores a file and books its quota. Nothing is kept when it is refused. */
    async upload(
      caller: VaultCaller,
      { filename, contentType, content, size, terms }: FormUpload,
    ): Promise<DocumentDetail> {
      const arriving = inFlight.open(caller.userId);
      try {
        if (size !== undefined && size > uploadBytesMax) throw uploadTooLarge(uploadBytesMax);
        const backend = await findBackend(caller.userId);
        const metadata = {
          id: toDocumentId(newId()),
          userId: caller.userId,
          filename,
          contentType,
        };
        if (backend !== INTERNAL_BACKEND) {
          const file = { filename, contentType, content, size };
          let refusal: AppError | undefined;
          const stored = await deps.files.store(caller, backend, file, async (tx, where) => {
            refusal = await terms?.admit(tx, where.sizeBytes);
            // The file is deleted then.
            if (refusal !== undefined) return undefined;
            return record(tx, caller, { ...metadata, ...where }, terms);
          });
          if (stored === undefined) throw refusal ?? documentNotFound();
          return await documents.toDetail(stored);
        }
        const { free, limit } = await findRoom(db, caller.userId);
        if (size !== undefined && size > free) throw quotaExceeded();
        const object = await writeObject(store, content, (bytes) => {
          if (bytes > free || !arriving.set(bytes, limit)) return quotaExceeded();
          return bytes > uploadBytesMax ? uploadTooLarge(uploadBytesMax) : undefined;
        });
        const { size: sizeBytes, sha256 } = object;
        const document = await db.transaction(async (tx) => {
          const refusal = await terms?.admit(tx, sizeBytes);
          if (refusal !== undefined) throw refusal;
          return record(tx, caller, { ...metadata, sizeBytes, sha256, ...INTERNAL }, terms);
        });
        return await documents.toDetail(document);
      } finally {
        arriving.close();
        content.resume();
      }
    },

    /** Deletes uploads by address that expired; returns their number. For a scheduled task. */
    deleteExpired: (): Promise<number> => deleteExpiredUploads(db, clock()),

    /** Lets uploads by address that a killed daemon was receiving be repeated at once. For the start. */
    async recover(): Promise<void> {
      // Other daemons on one PostgreSQL may be receiving; there, claims expire.
      if (db.dialect === "sqlite") await releaseAllUploads(db);
    },
  };

  /** Returns the document of a repeated confirmation. A document that is shared with the caller is not one. */
  async function findConfirmed(caller: VaultCaller, id: DocumentId): Promise<DocumentDetail> {
    const detail = await documents.find(caller, id);
    if (detail.document.userId !== caller.userId) throw documentNotFound();
    return detail;
  }

  /**
   * Adds the document and, in the vault's own storage, books its quota. The bytes exist already; without the row the sweep
   * removes them.
   */
  async function record(
    tx: Transaction,
    caller: VaultCaller,
    added: NewDocument,
    terms?: UploadTerms,
  ): Promise<VaultDocument> {
    const isInternal = added.storageBackend === INTERNAL_BACKEND;
    if (isInternal && !(await bookBytes(tx, caller.userId, added.sizeBytes))) throw quotaExceeded();
    const document = await insertDocument(tx, added);
    await insertAudit(tx, {
      eventType: "document.uploaded",
      userId: caller.userId,
      actorId: caller.userId,
      resourceId: document.id,
      ipAddress: caller.address,
      metadata: {
        filename: document.filename,
        size_bytes: document.sizeBytes,
        storage_backend: document.storageBackend,
      },
    });
    // A search finds the name at once, and the text after its extraction.
    await putSearchEntry(tx, {
      userId: caller.userId,
      source: { documentId: document.id },
      title: document.filename,
      body: "",
      contentType: document.contentType,
      connectionId: document.connectionId,
    });
    await terms?.record(tx, document);
    await deps.enqueueProcessing(tx, document);
    return document;
  }

  /** Moves a received upload into connected storage and makes its document. The sweep removes the object. */
  async function move(
    caller: VaultCaller,
    backend: string,
    metadata: Pick<
      NewDocument,
      "id" | "userId" | "filename" | "contentType" | "sizeBytes" | "sha256"
    >,
  ): Promise<DocumentDetail> {
    const { id, filename, contentType, sizeBytes: size, sha256 } = metadata;
    const content = await store.open(sha256, size);
    if (content === undefined)
      throw new AppError("conflict", "The bytes of this upload are missing. Upload them again.");
    await using owner = createOwner();
    const file = { filename, contentType, content: owner.own(content), size };
    const document = await deps.files.store(caller, backend, file, async (tx, where) =>
      (await deleteUpload(tx, id)) ? record(tx, caller, { ...metadata, ...where }) : undefined,
    );
    // Another request has confirmed it meanwhile.
    return document === undefined
      ? await findConfirmed(caller, id)
      : await documents.toDetail(document);
  }

  async function findBackend(userId: AccountId): Promise<string> {
    return (await findVaultUser(db, userId))?.defaultStorageBackend ?? INTERNAL_BACKEND;
  }

  /**
   * Refuses a promise that exceeds the quota together with the other promises: their bytes wait on this server for their
   * confirmation. For uploads to connected storage, which has no quota here, these are bounded by the largest upload.
   */
  async function assertRoom(
    tx: Transaction,
    userId: AccountId,
    sizeBytes: number,
    isInternal: boolean,
  ): Promise<void> {
    if ((await countUploads(tx, userId)) >= UPLOADS_PER_USER_MAX)
      throw new AppError(
        "rate_limited",
        `An account has at most ${UPLOADS_PER_USER_MAX} uploads under way. Confirm some, or wait until they expire.`,
      );
    const promised = sizeBytes + (await sumUploadBytes(tx, userId, tx.now));
    if (isInternal) {
      if (promised > (await findRoom(tx, userId)).free) throw quotaExceeded();
    } else if (promised > uploadBytesMax)
      throw new AppError(
        "too_large",
        `Uploads under way may hold ${uploadBytesMax} bytes. Confirm some, or wait until they expire.`,
      );
  }
}

/** The refusal of an upload of more than `bytesMax`. */
export function uploadTooLarge(bytesMax: number): AppError {
  return new AppError("too_large", `The upload is larger than ${bytesMax} bytes.`);
}
