import type { Readable } from "node:stream";
import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { createLocks } from "../../../storage/locks.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { createOwner } from "../../../storage/owner.ts";
import type { PartFiles } from "../../../storage/part-files.ts";
import { isDiskFull } from "../../../storage/system-errors.ts";
import {
  INTERNAL_BACKEND,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  deleteSession,
  findOpenSession,
  findSameSession,
  insertSession,
  type UploadSession,
} from "../../../storage/tables/vault/documents/upload-sessions.ts";
import { type DocumentId, toDocumentId } from "../../../storage/tables/vault/ids.ts";
import { UPLOAD_EXPIRES_AFTER_MS } from "../../../storage/tables/vault/uploads.ts";
import { toMediaType } from "../../contract/media-type.ts";
import { AppError } from "../../errors.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import { BytesChanged, toVerified } from "../../utilities/receive-body.ts";
import type { VaultCaller } from "../caller.ts";
import { type DocumentRecords, INTERNAL, uploadTooLarge } from "./document-records.ts";
import type { DocumentDetail, Documents } from "./documents.service.ts";
import { writeObject } from "./write-object.ts";

/** An upload and its progress. */
export interface SessionProgress {
  readonly kind: "open";
  readonly session: UploadSession;
  readonly offset: number;
}

export type SessionAppendResult = SessionProgress | { readonly kind: "offset_mismatch" };
export type SessionCompleteResult =
  | { readonly kind: "created"; readonly detail: DocumentDetail }
  | { readonly kind: "incomplete" }
  | { readonly kind: "hash_mismatch" };

export type UploadSessions = ReturnType<typeof createUploadSessions>;

export interface UploadSessionsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly jobs: Pick<JobQueue, "enqueue">;
  readonly partFiles: PartFiles;
  readonly store: ObjectStore;
  /** Largest upload. */
  readonly uploadBytesMax: number;
  readonly documents: Pick<Documents, "find" | "toDetail">;
  readonly records: DocumentRecords;
}

/** Bytes of an account's open uploads to connected storage, in largest uploads; the quota bounds those to the vault's own. */
const LARGEST_UPLOADS_MAX = 8;
const EXPIRE_JOB = "documents.expire_upload";
const payloadSchema = z.object({ upload_id: z.string() });

/**
 * Uploads of documents in parts. The bytes are collected in a file of the daemon, which survives a lost connection and a
 * crash, and become a document when they are complete. An upload expires two days after its start.
 */
export function createUploadSessions(deps: UploadSessionsDeps) {
  const { db, clock, partFiles, records, documents } = deps;
  const locks = createLocks();

  /** Removes an upload that was not completed in time, and the bytes of one whose row is gone. */
  const expiry: JobKind = {
    kind: EXPIRE_JOB,
    async run(payload) {
      const id = toDocumentId(parsePayload(payloadSchema, payload).upload_id);
      await locks.withLocks([id], () => discard(id));
    },
  };

  /** Deletes the row last: until then the job finds the file again after a crash. */
  async function discard(id: DocumentId): Promise<void> {
    await partFiles.remove(id);
    await deleteSession(db, id);
  }

  async function refuseBytes(id: DocumentId): Promise<SessionCompleteResult> {
    await discard(id);
    return { kind: "hash_mismatch" };
  }

  /** Runs `work` with an open upload of the caller while holding its lock. */
  async function withSession<T>(
    caller: VaultCaller,
    id: DocumentId,
    work: (session: UploadSession) => Promise<T>,
  ): Promise<T> {
    return locks.withLocks([id], async () => {
      const session = await findOpenSession(db, { id, userId: caller.userId, now: clock() });
      if (session === undefined) throw uploadNotFound();
      return work(session);
    });
  }

  return {
    job: expiry,

    /** Returns the open upload of the same file, or begins one. Refuses with `too_large` what exceeds the quota. */
    async begin(
      caller: VaultCaller,
      file: {
        readonly filename: string;
        readonly content_type?: string | null | undefined;
        readonly size: number;
        readonly fingerprint: string;
      },
    ): Promise<SessionProgress> {
      if (file.size > deps.uploadBytesMax) throw uploadTooLarge(deps.uploadBytesMax);
      const backend = await records.findBackend(caller.userId);
      const session = await db.transaction(async (tx) => {
        const begun: UploadSession = {
          id: toDocumentId(deps.newId()),
          userId: caller.userId,
          filename: file.filename,
          contentType: toMediaType(file.content_type ?? undefined) ?? "application/octet-stream",
          sizeBytes: file.size,
          fingerprint: file.fingerprint,
          expiresAt: tx.now + UPLOAD_EXPIRES_AFTER_MS,
        };
        const same = await findSameSession(tx, begun);
        if (same !== undefined) return same;
        await records.assertRoom(tx, caller.userId, {
          sizeBytes: file.size,
          backend,
          bytesMax: LARGEST_UPLOADS_MAX * deps.uploadBytesMax,
        });
        await insertSession(tx, begun);
        await deps.jobs.enqueue(tx, {
          kind: EXPIRE_JOB,
          key: begun.id,
          payload: { upload_id: begun.id } satisfies z.input<typeof payloadSchema>,
          runAt: begun.expiresAt,
        });
        return begun;
      });
      return { kind: "open", session, offset: await partFiles.create(session.id) };
    },

    /**
     * Appends bytes that begin where the last ones ended. Bytes that arrive before the connection is closed early are kept.
     */
    async append(
      caller: VaultCaller,
      id: DocumentId,
      { offset, content }: { readonly offset: number | undefined; readonly content: Readable },
    ): Promise<SessionAppendResult> {
      try {
        return await withSession(caller, id, async (session): Promise<SessionAppendResult> => {
          if (offset !== (await partFiles.sizeOf(id))) return { kind: "offset_mismatch" };
          const part = { offset, sizeMax: session.sizeBytes };
          const size = await partFiles.append(id, content, part).catch(refuseFullDisk);
          if (size === "too_long")
            throw new AppError("unprocessable", "The file is longer than announced.");
          return { kind: "open", session, offset: size };
        });
      } finally {
        // The rest of a refused body is discarded, so that the client gets to read its response.
        content.resume();
      }
    },

    /**
     * Compares the hash, and makes the document and books its quota in one transaction. After a failure of the storage, or
     * without room in the quota, the bytes stay for another call; after a wrong hash they are discarded. Idempotent: a
     * repeated call returns the document.
     */
    async complete(
      caller: VaultCaller,
      id: DocumentId,
      sha256: string,
    ): Promise<SessionCompleteResult> {
      return locks.withLocks([id], async () => {
        const session = await findOpenSession(db, { id, userId: caller.userId, now: clock() });
        if (session === undefined) return findCompleted(caller, id, sha256);
        if ((await partFiles.sizeOf(id)) !== session.sizeBytes) return { kind: "incomplete" };
        // The file of an upload without bytes may be missing.
        if (session.sizeBytes === 0) await partFiles.create(id);
        let document: VaultDocument | undefined;
        try {
          document = await store(caller, session, sha256);
        } catch (error) {
          if (error instanceof BytesChanged) return refuseBytes(id);
          throw error;
        }
        // Another daemon was first.
        if (document === undefined) return findCompleted(caller, id, sha256);
        await partFiles.remove(id);
        return { kind: "created", detail: await documents.toDetail(document) };
      });
    },

    /** Discards an upload. */
    cancel: (caller: VaultCaller, id: DocumentId): Promise<void> =>
      withSession(caller, id, () => discard(id)),
  };

  /**
   * Makes the document of a whole file and ends its upload. Undefined when the upload has ended meanwhile. Throws
   * `BytesChanged` for bytes of another hash.
   */
  async function store(
    caller: VaultCaller,
    { id, userId, filename, contentType, sizeBytes }: UploadSession,
    sha256: string,
  ): Promise<VaultDocument | undefined> {
    const file = { id, userId, filename, contentType, sizeBytes, sha256 };
    const take = (tx: Transaction) => deleteSession(tx, id);
    const backend = await records.findBackend(userId);
    // A provider gets no byte of a wrong file.
    if (backend !== INTERNAL_BACKEND && (await partFiles.hash(id)) !== sha256)
      throw new BytesChanged();
    await using owner = createOwner();
    const bytes = owner.own(await partFiles.open(id));
    if (backend !== INTERNAL_BACKEND) {
      const content = toVerified(bytes, sha256);
      return await records.store(caller, backend, { ...file, content }, take);
    }
    // Hashed once, while it is copied.
    await writeObject(
      deps.store,
      bytes,
      () => undefined,
      (found) => {
        if (found.sha256 !== sha256) throw new BytesChanged();
      },
    );
    return await db.transaction(async (tx) =>
      (await take(tx)) ? records.record(tx, caller, { ...file, ...INTERNAL }) : undefined,
    );
  }

  /** Returns the document of an upload that was completed before. */
  async function findCompleted(
    caller: VaultCaller,
    id: DocumentId,
    sha256: string,
  ): Promise<SessionCompleteResult> {
    const detail = await documents.find(caller, id).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "not_found" ? uploadNotFound() : error;
    });
    const { document } = detail;
    if (document.userId !== caller.userId || document.sha256 !== sha256) throw uploadNotFound();
    // The daemon died between the record and the removal.
    await partFiles.remove(id);
    return { kind: "created", detail };
  }
}

function uploadNotFound(): AppError {
  return new AppError("not_found", "Upload not found");
}

function refuseFullDisk(error: unknown): never {
  if (!isDiskFull(error)) throw error;
  throw new AppError("storage_full", "The server's disk is full.", { cause: error });
}
