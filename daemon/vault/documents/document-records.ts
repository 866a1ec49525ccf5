import type { Readable } from "node:stream";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  INTERNAL_BACKEND,
  insertDocument,
  type NewDocument,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import { countUploads, sumUploadBytes } from "../../../storage/tables/vault/documents/uploads.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { bookBytes, findRoom } from "../../../storage/tables/vault/quotas.ts";
import { putSearchEntry } from "../../../storage/tables/vault/search-entries.ts";
import { findVaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import type { DocumentFiles } from "./document-files.ts";
import { quotaExceeded } from "./documents.service.ts";

/** The conditions and further rows of an upload that another feature accepts for its owner. */
export interface UploadTerms {
  /** Returns the refusal of a file of this size, else undefined; before its document is added, in its transaction. */
  admit(tx: Transaction, bytes: number): Promise<AppError | undefined>;
  /** Writes what belongs to the document, in its transaction. */
  record(tx: Transaction, document: VaultDocument): Promise<void>;
}

export interface DocumentRecordsDeps {
  readonly db: Database;
  /** Starts extraction and classification once the transaction commits. */
  readonly enqueueProcessing: (tx: Transaction, document: VaultDocument) => Promise<void>;
  readonly files: Pick<DocumentFiles, "store">;
}

/** A file whose bytes have arrived, before it is known where they stay. */
export type ArrivedFile = Pick<
  NewDocument,
  "id" | "userId" | "filename" | "contentType" | "sizeBytes" | "sha256"
>;

/** An announced upload. */
interface PromisedBytes {
  readonly sizeBytes: number;
  readonly backend: string;
  readonly bytesMax: number;
}

/** The place of a document in the vault's own storage. */
export const INTERNAL = {
  storageBackend: INTERNAL_BACKEND,
  connectionId: undefined,
  providerItemId: undefined,
} as const;

/** Maximum number of unfinished uploads of an account; only a faulty program has more. */
const UPLOADS_PER_USER_MAX = 1_000;

export type DocumentRecords = ReturnType<typeof createDocumentRecords>;

/** Documents of uploads, however their bytes arrive. */
export function createDocumentRecords(deps: DocumentRecordsDeps) {
  const { db } = deps;

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

  return {
    record,

    /** Stores a file in connected storage. `take` ends the upload, and returns false when another request was first: then undefined. */
    store(
      caller: VaultCaller,
      backend: string,
      file: ArrivedFile & { readonly content: Readable },
      take: (tx: Transaction) => Promise<boolean>,
    ): Promise<VaultDocument | undefined> {
      const { content, ...metadata } = file;
      const { filename, contentType, sizeBytes: size } = metadata;
      return deps.files.store(
        caller,
        backend,
        { filename, contentType, content, size },
        async (tx, where) =>
          (await take(tx)) ? record(tx, caller, { ...metadata, ...where }) : undefined,
      );
    },

    /** The storage that a user has chosen for new documents. */
    async findBackend(userId: AccountId): Promise<string> {
      return (await findVaultUser(db, userId))?.defaultStorageBackend ?? INTERNAL_BACKEND;
    },

    /**
     * Refuses a promise that exceeds the quota together with the other promises: their bytes wait on this server. For uploads to
     * connected storage, which has no quota here, `bytesMax` bounds them.
     */
    async assertRoom(
      tx: Transaction,
      userId: AccountId,
      { sizeBytes, backend, bytesMax }: PromisedBytes,
    ): Promise<void> {
      if ((await countUploads(tx, userId)) >= UPLOADS_PER_USER_MAX)
        throw new AppError(
          "rate_limited",
          `An account has at most ${UPLOADS_PER_USER_MAX} uploads under way. Complete some, or wait until they expire.`,
        );
      const promised = sizeBytes + (await sumUploadBytes(tx, userId, tx.now));
      if (backend === INTERNAL_BACKEND) {
        if (promised > (await findRoom(tx, userId)).free) throw quotaExceeded();
      } else if (promised > bytesMax)
        throw new AppError(
          "too_large",
          `Uploads under way may hold ${bytesMax} bytes. Complete some, or wait until they expire.`,
        );
    },
  };
}

/** The refusal of an upload of more than `bytesMax`. */
export function uploadTooLarge(bytesMax: number): AppError {
  return new AppError("too_large", `The upload is larger than ${bytesMax} bytes.`);
}
