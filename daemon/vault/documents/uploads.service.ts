import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Database } from "../../../storage/engine/database.ts";
import { createOwner } from "../../../storage/owner.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { INTERNAL_BACKEND } from "../../../storage/tables/vault/documents/documents.ts";
import {
  claimUpload,
  deleteExpiredUploads,
  deleteUpload,
  findUpload,
  findUploadByTicket,
  finishUpload,
  insertUpload,
  releaseAllUploads,
  releaseUpload,
  renewUploadClaim,
} from "../../../storage/tables/vault/documents/uploads.ts";
import { findRoom } from "../../../storage/tables/vault/quotas.ts";
import { findVaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import { writeObject } from "./write-object.ts";
import type { DocumentFiles } from "./document-files.ts";
import {
  type ArrivedFile,
  type DocumentRecords,
  INTERNAL,
  type UploadTerms,
  uploadTooLarge,
} from "./document-records.ts";
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
import { type DocumentId, toDocumentId } from "../../../storage/tables/vault/ids.ts";

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
  readonly documents: Pick<Documents, "find" | "toDetail">;
  readonly records: DocumentRecords;
  readonly files: Pick<DocumentFiles, "store">;
}

const ADDRESS_LIFE_MS = 15 * 60_000;
/** How long a request that receives nothing keeps an upload for itself. */
const CLAIM_MS = 60_000;
const TICKET_BYTES = 32;

/**
 * Uploads of documents into the storage that their owner has chosen. All throw `too_large` when an upload exceeds the
 * quota, which only the vault's own storage has; connected storage may also refuse with `unavailable` and
 * `provider_failed`.
 */
export function createDocumentUploads(deps: DocumentUploadsDeps) {
  const { db, clock, newId, store, uploadBytesMax, documents } = deps;
  const { record, findBackend, assertRoom } = deps.records;
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
      const backend = await findBackend(caller.userId);
      const ticket = Buffer.from(deps.randomBytes(TICKET_BYTES)).toString("base64url");
      const documentId = toDocumentId(newId());
      const expiresAt = clock() + ADDRESS_LIFE_MS;
      const contentType = promise.content_type;
      await db.transaction(async (tx) => {
        await assertRoom(tx, caller.userId, { sizeBytes, backend, bytesMax: uploadBytesMax });
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

  /** Moves a received upload into connected storage and makes its document. The sweep removes the object. */
  async function move(
    caller: VaultCaller,
    backend: string,
    metadata: ArrivedFile,
  ): Promise<DocumentDetail> {
    const { id, sizeBytes, sha256 } = metadata;
    const content = await store.open(sha256, sizeBytes);
    if (content === undefined)
      throw new AppError("conflict", "The bytes of this upload are missing. Upload them again.");
    await using owner = createOwner();
    const file = { ...metadata, content: owner.own(content) };
    const document = await deps.records.store(caller, backend, file, (tx) => deleteUpload(tx, id));
    // Another request has confirmed it meanwhile.
    return document === undefined
      ? await findConfirmed(caller, id)
      : await documents.toDetail(document);
  }
}
