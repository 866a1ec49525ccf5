import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectFacts, ObjectStore } from "../../../storage/objects/object-store.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  insertDocument,
  type NewDocument,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  claimUpload,
  countUploads,
  deleteExpiredUploads,
  deleteUpload,
  type DocumentUpload,
  findUpload,
  findUploadByTicket,
  finishUpload,
  insertUpload,
  releaseUpload,
} from "../../../storage/tables/vault/documents/uploads.ts";
import { bookBytes, findQuota } from "../../../storage/tables/vault/quotas.ts";
import { putSearchEntry } from "../../../storage/tables/vault/search.ts";
import { AppError } from "../../errors.ts";
import { readChunks } from "../../utilities/receive-body.ts";
import type { VaultCaller } from "../caller.ts";
import { type DocumentDetail, documentNotFound, type Documents } from "./documents.service.ts";

/** A promised upload and the address that takes its bytes. */
export interface UploadAddress {
  readonly documentId: string;
  /** Secret: whoever has it may upload. */
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
  /** Undefined when it is known only at the end. */
  readonly size: number | undefined;
}

/** Uploads of documents into the vault's own storage. All refuse with `too_large` what exceeds the quota. */
export interface DocumentUploads {
  /** Reserves an id and an address for one upload of exactly `size_bytes`. Books nothing yet. */
  createAddress(
    caller: VaultCaller,
    promise: {
      readonly filename: string;
      readonly content_type: string;
      readonly size_bytes: number;
      readonly sha256?: string | null | undefined;
    },
  ): Promise<UploadAddress>;
  /**
   * Takes the bytes of a promised upload. Refuses with `not_found` an unknown or expired address, with `conflict` one that
   * was used or is in use, with `too_large` and `unprocessable` a body that is not what was promised; a refused body may be
   * sent again.
   */
  receive(
    ticket: string,
    body: { readonly headers: IncomingHttpHeaders; readonly stream: Readable },
  ): Promise<void>;
  /**
   * Makes the document of a received upload and books its quota, in one transaction. Idempotent: repeating it returns the
   * document. Refuses with `not_found` another user's upload, with `conflict` one whose bytes are missing.
   */
  confirm(caller: VaultCaller, documentId: string): Promise<DocumentDetail>;
  /** Stores a file and books its quota. Nothing is kept when it is refused. */
  upload(caller: VaultCaller, upload: FormUpload): Promise<DocumentDetail>;
  /** Deletes uploads by address that expired; returns their number. For a scheduled task. */
  deleteExpired(): Promise<number>;
}

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
}

const ADDRESS_LIFE_MS = 15 * 60_000;
/** An account with more uploads under way than this is a program gone wrong. */
const UPLOADS_PER_USER_MAX = 1_000;
const TICKET_BYTES = 32;

export function createDocumentUploads(deps: DocumentUploadsDeps): DocumentUploads {
  const { db, clock, newId, store, uploadBytesMax, documents } = deps;

  return {
    async createAddress(caller, promise) {
      const sizeBytes = promise.size_bytes;
      if (sizeBytes > uploadBytesMax) throw uploadTooLarge(uploadBytesMax);
      if (sizeBytes > (await freeBytes(caller.userId))) throw quotaExceeded();
      if ((await countUploads(db, caller.userId)) >= UPLOADS_PER_USER_MAX)
        throw new AppError(
          "rate_limited",
          `An account has at most ${UPLOADS_PER_USER_MAX} uploads under way. Confirm some, or wait until they expire.`,
        );
      const ticket = Buffer.from(deps.randomBytes(TICKET_BYTES)).toString("base64url");
      const documentId = newId();
      const expiresAt = clock() + ADDRESS_LIFE_MS;
      const contentType = promise.content_type;
      await db.transaction((tx) =>
        insertUpload(tx, {
          id: documentId,
          userId: caller.userId,
          ticketHash: hash("sha256", ticket),
          filename: promise.filename,
          contentType,
          sizeBytes,
          promisedSha256: promise.sha256 ?? undefined,
          expiresAt,
        }),
      );
      return { documentId, ticket, contentType, expiresAt };
    },

    async receive(ticket, { headers, stream }) {
      try {
        const upload = await findUploadByTicket(db, hash("sha256", ticket));
        if (upload === undefined || upload.expiresAt <= clock()) throw unknownAddress();
        assertPromised(upload, headers);
        if (!(await claimUpload(db, upload.id)))
          throw new AppError("conflict", "This upload address was used already, or is in use.");
        try {
          const facts = await writeObject(
            stream,
            (size) => (size > upload.sizeBytes ? biggerThanPromised(upload) : undefined),
            (received) => assertKept(upload, received),
          );
          if (!(await finishUpload(db, upload.id, facts.sha256))) throw unknownAddress();
        } catch (error) {
          await releaseUpload(db, upload.id);
          throw error;
        }
      } finally {
        stream.resume();
      }
    },

    async confirm(caller, documentId) {
      const upload = await findUpload(db, documentId);
      // Confirmed before: the answer to the first request may have been lost.
      if (upload === undefined) return documents.find(caller, documentId);
      if (upload.userId !== caller.userId) throw documentNotFound();
      const { objectSha256 } = upload;
      if (objectSha256 === undefined)
        throw new AppError("conflict", "The bytes of this upload have not arrived.");
      const document = await db.transaction(async (tx) => {
        if (!(await deleteUpload(tx, documentId))) throw documentNotFound();
        return record(tx, caller, {
          id: documentId,
          userId: caller.userId,
          filename: upload.filename,
          contentType: upload.contentType,
          sizeBytes: upload.sizeBytes,
          sha256: objectSha256,
        });
      });
      return documents.toDetail(document);
    },

    async upload(caller, { filename, contentType, content, size }) {
      try {
        const room = await freeBytes(caller.userId);
        if (size !== undefined && size > room) throw quotaExceeded();
        const facts = await writeObject(content, (bytes) =>
          bytes > room
            ? quotaExceeded()
            : bytes > uploadBytesMax
              ? uploadTooLarge(uploadBytesMax)
              : undefined,
        );
        const document = await db.transaction((tx) =>
          record(tx, caller, {
            id: newId(),
            userId: caller.userId,
            filename,
            contentType,
            sizeBytes: facts.size,
            sha256: facts.sha256,
          }),
        );
        return await documents.toDetail(document);
      } finally {
        content.resume();
      }
    },

    deleteExpired: () => deleteExpiredUploads(db, clock()),
  };

  /** Writes a body as an object. `refuse` is asked before each chunk is kept, `check` before the object exists. */
  async function writeObject(
    body: Readable,
    refuse: (size: number) => AppError | undefined,
    check?: (facts: ObjectFacts) => void,
  ): Promise<ObjectFacts> {
    const writer = await store.create();
    try {
      for await (const chunk of readChunks(body)) {
        const refusal = refuse(writer.size + chunk.byteLength);
        if (refusal !== undefined) throw refusal;
        await writer.write(chunk);
      }
      const facts = await writer.seal();
      check?.(facts);
      await writer.publish();
      return facts;
    } finally {
      await writer.discard();
    }
  }

  /** Books the quota and adds the document. The object exists already; without the row the sweep removes it. */
  async function record(
    tx: Transaction,
    caller: VaultCaller,
    facts: Omit<NewDocument, "storageBackend" | "connectionId" | "providerItemId">,
  ): Promise<VaultDocument> {
    if (!(await bookBytes(tx, caller.userId, facts.sizeBytes))) throw quotaExceeded();
    const document = await insertDocument(tx, {
      ...facts,
      storageBackend: "internal",
      connectionId: undefined,
      providerItemId: undefined,
    });
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
    // The name can be found at once, the text once it is extracted.
    await putSearchEntry(tx, {
      userId: caller.userId,
      source: { documentId: document.id },
      title: document.filename,
      body: "",
      contentType: document.contentType,
      connectionId: undefined,
    });
    await deps.enqueueProcessing(tx, document);
    return document;
  }

  async function freeBytes(userId: string): Promise<number> {
    const quota = await findQuota(db, userId);
    return quota === undefined ? 0 : Math.max(0, quota.limitBytes - quota.usedBytes);
  }
}

/** Compares what the head of a request says with what was promised, before any byte is read. */
function assertPromised(upload: DocumentUpload, headers: IncomingHttpHeaders): void {
  const length = headers["content-length"];
  if (length !== undefined && Number(length) > upload.sizeBytes) throw biggerThanPromised(upload);
  if (length !== undefined && Number(length) < upload.sizeBytes)
    throw new AppError(
      "unprocessable",
      `The body has ${length} bytes; ${upload.sizeBytes} were promised.`,
    );
  const type = headers["content-type"];
  if (type !== undefined && type !== upload.contentType)
    throw new AppError(
      "unprocessable",
      `The content type must be ${upload.contentType}, as promised.`,
    );
}

/** Compares the bytes that arrived with what was promised, before they become an object. */
function assertKept({ sizeBytes, promisedSha256 }: DocumentUpload, facts: ObjectFacts): void {
  if (facts.size !== sizeBytes)
    throw new AppError(
      "unprocessable",
      `The body has ${facts.size} bytes; ${sizeBytes} were promised.`,
    );
  if (promisedSha256 !== undefined && promisedSha256 !== facts.sha256)
    throw new AppError("unprocessable", "The body does not match the promised SHA-256.");
}

function unknownAddress(): AppError {
  return new AppError(
    "not_found",
    "This upload address is unknown or has expired. Request another one.",
  );
}

function biggerThanPromised({ sizeBytes }: DocumentUpload): AppError {
  return new AppError("too_large", `The body is larger than the promised ${sizeBytes} bytes.`);
}

function quotaExceeded(): AppError {
  return new AppError("too_large", "Storage quota exceeded");
}

function uploadTooLarge(bytesMax: number): AppError {
  return new AppError("too_large", `The upload is larger than ${bytesMax} bytes.`);
}
