import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  deleteDocument,
  findDocument,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  deleteTrashed,
  findTrashed,
  listOldestTrashed,
  listTrashed,
  listTrashedBefore,
  sumDocumentBytes,
  sumTrashedBytes,
  trashDocument,
  type TrashedDocument,
  untrashDocument,
} from "../../../storage/tables/vault/documents/trash.ts";
import type { AccountId, DocumentId } from "../../../storage/tables/vault/ids.ts";
import { bookBytes, findQuota, releaseBytes } from "../../../storage/tables/vault/quotas.ts";
import { putSearchEntry } from "../../../storage/tables/vault/search-entries.ts";
import { AppError } from "../../errors.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import type { StoredFiles } from "../cloud/stored-files/stored-files.service.ts";
import type { PageRequest } from "../page.ts";
import {
  type DocumentDetail,
  documentNotFound,
  type Documents,
  isInternal,
  quotaExceeded,
} from "./documents.service.ts";

/** A document in the trash, with the time of its permanent deletion in epoch milliseconds. */
export interface TrashedDetail {
  readonly detail: DocumentDetail;
  readonly deletedAt: number;
  readonly expiresAt: number;
}

export type DocumentTrash = ReturnType<typeof createDocumentTrash>;

export interface DocumentTrashDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** How long documents stay in the trash; with 0 a deletion is permanent. */
  readonly trashDays: number;
  readonly files: Pick<StoredFiles, "remove">;
  readonly documents: Pick<Documents, "toDetail" | "withTopics">;
  /** Starts extraction and classification once the transaction commits. */
  readonly enqueueProcessing: (tx: Transaction, document: VaultDocument) => Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
/** Documents that one statement deletes. */
const BATCH = 100;

/**
 * Deletes documents, and keeps those of the vault's own storage in a trash. The trash does not count towards the used
 * bytes; it holds at most as many bytes as the quota allows, and gives way to what is deleted later, oldest first.
 */
export function createDocumentTrash({
  db,
  clock,
  trashDays,
  files,
  documents,
  ...deps
}: DocumentTrashDeps) {
  return {
    /**
     * Deletes a document. One of the vault's own storage goes to the trash unless `isPermanent`, and its bytes return to the
     * quota. In connected storage the file is deleted first, to the trash of the provider where it has one; returns false and
     * keeps the document when the provider failed, or has another version of the file than `fileEtag`. `removeOnly` leaves the
     * provider's file. Throws `precondition_failed` when
     * the content is another one than the header `ifMatch` names.
     */
    async remove(
      caller: VaultCaller,
      id: DocumentId,
      {
        removeOnly = false,
        isPermanent = false,
        ifMatch,
        fileEtag,
      }: {
        readonly removeOnly?: boolean;
        readonly isPermanent?: boolean;
        readonly ifMatch?: string | undefined;
        readonly fileEtag?: string | undefined;
      },
    ): Promise<boolean> {
      const document = await findDocument(db, id);
      if (document?.userId !== caller.userId) throw documentNotFound();
      assertSeen(document, ifMatch);
      const hasFile = !isInternal(document) && !removeOnly;
      const removal = { permanently: isPermanent, etag: fileEtag };
      if (hasFile && !(await files.remove(caller, document, removal))) return false;
      const keeps = isInternal(document) && !isPermanent && trashDays > 0;
      await db.transaction(async (tx) => {
        const present = await findDocument(tx, id);
        if (present !== undefined) assertSeen(present, ifMatch);
        // The present size: the content may have been replaced since.
        const bytes = await sumDocumentBytes(tx, id);
        const isGone = keeps ? await trashDocument(tx, id) : await removeLive(tx, id);
        if (!isGone) throw documentNotFound();
        if (isInternal(document)) await releaseBytes(tx, document.userId, bytes);
        await recordDeletion(tx, caller, document, keeps ? "trashed" : "permanent");
        if (keeps) await shrink(tx, document.userId);
      });
      return true;
    },

    /** Returns one page of the caller's trash, last deleted first. */
    async list(
      caller: VaultCaller,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly trashed: readonly TrashedDetail[]; readonly total: number }> {
      const found = await listTrashed(db, caller.userId, {
        limit: perPage,
        offset: (page - 1) * perPage,
      });
      const details = await documents.withTopics(found.documents);
      const trashed = details.map((detail) => {
        const deletedAt = detail.document.trashedAt ?? 0;
        return { detail, deletedAt, expiresAt: deletedAt + trashDays * DAY_MS };
      });
      return { trashed, total: found.total };
    },

    /**
     * Returns a document from the trash to where it was: with its topics, versions, shares and links. Refuses with
     * `too_large` one that the quota has no room for.
     */
    async restore(caller: VaultCaller, id: DocumentId): Promise<DocumentDetail> {
      const restored = await db.transaction(async (tx) => {
        const trashed = await findTrashed(tx, id);
        if (trashed?.userId !== caller.userId) throw documentNotFound();
        const bytes = await sumDocumentBytes(tx, id);
        if (!(await bookBytes(tx, caller.userId, bytes))) throw quotaExceeded();
        await untrashDocument(tx, id);
        const document = await findDocument(tx, id);
        if (document === undefined) throw documentNotFound();
        await putSearchEntry(tx, {
          userId: caller.userId,
          source: { documentId: id },
          title: document.filename,
          body: "",
          contentType: document.contentType,
          connectionId: undefined,
        });
        const metadata = { filename: document.filename, size_bytes: document.sizeBytes };
        await insertAudit(tx, toAudit(caller, "document.restored", id, metadata));
        await deps.enqueueProcessing(tx, document);
        return document;
      });
      return documents.toDetail(restored);
    },

    /** Deletes a document of the caller's trash permanently. */
    async purge(caller: VaultCaller, id: DocumentId): Promise<void> {
      await db.transaction(async (tx) => {
        const trashed = await findTrashed(tx, id);
        if (trashed?.userId !== caller.userId) throw documentNotFound();
        await deleteTrashed(tx, id);
        await recordDeletion(tx, caller, trashed, "permanent");
      });
    },

    /** Deletes everything in the caller's trash permanently; returns the number of documents. */
    async empty(caller: VaultCaller): Promise<number> {
      let removed = 0;
      for (;;) {
        const count = await db.transaction(async (tx) => {
          const batch = await listOldestTrashed(tx, caller.userId, BATCH);
          return purgeAll(tx, batch, caller);
        });
        if (count === 0) return removed;
        removed += count;
      }
    },

    /** Deletes what has been in the trash for too long; returns the number of documents. For a scheduled task. */
    async purgeExpired(signal: AbortSignal): Promise<number> {
      const before = clock() - trashDays * DAY_MS;
      let removed = 0;
      for (;;) {
        signal.throwIfAborted();
        const count = await db.transaction(async (tx) =>
          purgeAll(tx, await listTrashedBefore(tx, before, BATCH)),
        );
        if (count === 0) return removed;
        removed += count;
      }
    },
  };

  /** Deletes the first deleted documents of a trash that is larger than the quota; the last deleted one stays. */
  async function shrink(tx: Transaction, userId: AccountId): Promise<void> {
    const limit = (await findQuota(tx, userId))?.limitBytes ?? 0;
    let bytes = await sumTrashedBytes(tx, userId);
    while (bytes > limit) {
      const oldest = await listOldestTrashed(tx, userId, 2);
      const [first] = oldest;
      if (first === undefined || oldest.length < 2) return;
      await purgeAll(tx, [first]);
      bytes -= first.bytes;
    }
  }
}

/** Deletes documents of the trash, with an audit record for each. `caller` is undefined for the vault itself. */
async function purgeAll(
  tx: Transaction,
  batch: readonly TrashedDocument[],
  caller?: VaultCaller,
): Promise<number> {
  for (const { id, userId, filename, bytes } of batch) {
    await deleteTrashed(tx, id);
    await insertAudit(tx, {
      eventType: "document.deleted",
      userId,
      ...(caller === undefined ? {} : { actorId: caller.userId, ipAddress: caller.address }),
      resourceId: id,
      metadata: { filename, size_bytes: bytes, delete_kind: "permanent" },
    });
  }
  return batch.length;
}

/** Deletes a document that is not in the trash. Returns false when there is none. */
async function removeLive(tx: Transaction, id: DocumentId): Promise<boolean> {
  return (await findDocument(tx, id)) !== undefined && deleteDocument(tx, id);
}

/** Refuses a content that has changed since its SHA-256 was seen; no header and `*` match any. */
function assertSeen({ sha256 }: VaultDocument, ifMatch: string | undefined): void {
  const tags = ifMatch?.split(",").map((tag) => tag.trim().replace(/^"(.*)"$/, "$1"));
  if (tags === undefined || tags.includes("*") || tags.includes(sha256)) return;
  throw new AppError(
    "precondition_failed",
    "The content of the document has changed since. Look at it again before you delete it.",
  );
}

function recordDeletion(
  tx: Transaction,
  caller: VaultCaller,
  { id, filename, sizeBytes: size_bytes, storageBackend: storage_backend }: VaultDocument,
  delete_kind: "trashed" | "permanent",
): Promise<void> {
  const metadata = { filename, size_bytes, storage_backend, delete_kind };
  return insertAudit(tx, toAudit(caller, "document.deleted", id, metadata));
}
