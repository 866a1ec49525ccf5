import type { Readable } from "node:stream";
import { z } from "zod";
import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import { createLocks } from "../../../../storage/locks.ts";
import type { PartFiles } from "../../../../storage/part-files.ts";
import { isDiskFull } from "../../../../storage/system-errors.ts";
import { type CloudItem, findItemByName } from "../../../../storage/tables/vault/items.ts";
import {
  deleteExpiredUploadResults,
  findUploadResult,
  insertUploadResult,
} from "../../../../storage/tables/vault/upload-results.ts";
import {
  countOpenUploads,
  deleteUpload,
  findOpenUpload,
  findSameUpload,
  findUpload,
  insertUpload,
  type OpenUpload,
  UPLOAD_EXPIRES_AFTER_MS,
} from "../../../../storage/tables/vault/uploads.ts";
import { toMediaType } from "../../../contract/media-type.ts";
import { AppError } from "../../../errors.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { JobQueue } from "../../../jobs/queue.ts";
import { BytesChanged, toVerified } from "../../../utilities/receive-body.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudUploads, UploadedFile, UploadResult } from "../changes/uploads.service.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";
import { claimCompletion } from "./completion-claim.ts";
import { createProviderSessions, type ProviderSessionsDeps } from "./provider-sessions.ts";

/** An upload and its progress. */
export interface UploadProgress {
  readonly kind: "open";
  readonly upload: OpenUpload;
  readonly offset: number;
}

export type BeginResult = UploadProgress | Extract<Failure, { kind: "conflict" }>;
export type AppendResult = UploadProgress | { readonly kind: "offset_mismatch" };
export type CompleteResult =
  | Exclude<UploadResult, { kind: "uploaded" }>
  | UploadedFile
  | { readonly kind: "incomplete" }
  | { readonly kind: "hash_mismatch" };

/** The destination of an upload. */
export interface UploadPlace {
  readonly connection_id: ConnectionId;
  readonly upload_id: string;
}

export type ResumableUploads = ReturnType<typeof createResumableUploads>;

export interface ResumableUploadsDeps extends ProviderSessionsDeps {
  readonly newId: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly jobs: Pick<JobQueue, "enqueue">;
  readonly partFiles: PartFiles;
  readonly uploadBytesMax: number;
}

/** Maximum number of open uploads of an account, because each may take `max_upload_bytes` of disk space. */
const OPEN_UPLOADS_MAX = 8;
const EXPIRE_JOB = "cloud.expire_upload";
const payloadSchema = z.object({ upload_id: z.string() });

/** Failures after which the same bytes may be stored by another attempt. */
const PASSING: ReadonlySet<string> = new Set([
  "offline",
  "rate_limited",
  "locked",
  "quota_exceeded",
  "reauth",
]);

/**
 * Uploads in parts. The bytes are collected in a file of the daemon, so that every kind of storage can be resumed, and
 * are stored at the provider in one upload when they are complete: nothing is visible before. When that upload fails or
 * the daemon dies, the next `complete` sends the bytes that the provider's session has not confirmed. An upload expires
 * two days after its start.
 */
export function createResumableUploads(
  deps: ResumableUploadsDeps,
  adapters: Pick<Adapters, "open" | "own">,
  uploads: Pick<CloudUploads, "upload">,
) {
  const { db, clock, partFiles } = deps;
  const locks = createLocks();
  const sessions = createProviderSessions(deps, adapters);
  const completing = new Map<string, Promise<CompleteResult>>();
  const owner = deps.newId();

  /** Removes an upload that was not completed in time. */
  const expiry: JobKind = {
    kind: EXPIRE_JOB,
    async run(payload) {
      const { upload_id: id } = parsePayload(payloadSchema, payload);
      await locks.withLocks([id], () => discard(id));
      await deleteExpiredUploadResults(db, clock());
    },
  };

  /** Ends an upload that did not become a file. */
  async function discard(id: string): Promise<void> {
    const upload = await findUpload(db, id);
    if (upload !== undefined) await sessions.discard(upload);
    await remove(id);
  }

  /** Deletes the row last: until then the job finds the file again after a crash. */
  async function remove(id: string): Promise<void> {
    await partFiles.remove(id);
    await deleteUpload(db, id);
  }

  /** Runs `work` with an open upload of the caller while holding its lock. */
  async function withUpload<T>(
    caller: VaultCaller,
    place: UploadPlace,
    work: (upload: OpenUpload) => Promise<T>,
  ): Promise<T> {
    const { connection_id: connectionId, upload_id: id } = place;
    const connection = await adapters.own(caller.userId, connectionId);
    return locks.withLocks([id], async () => {
      const upload = await findOpenUpload(db, { id, connectionId: connection.id, now: clock() });
      if (upload === undefined) throw new AppError("not_found", "Upload not found");
      return work(upload);
    });
  }

  return {
    job: expiry,
    /** Returns the open upload of the same file, or begins one. A taken name is a `conflict`. */
    async begin(
      caller: VaultCaller,
      connectionId: ConnectionId,
      file: {
        readonly parent_ref?: string | null | undefined;
        readonly name: string;
        readonly content_type?: string | null | undefined;
        readonly size: number;
        readonly fingerprint: string;
      },
    ): Promise<BeginResult> {
      if (file.size > deps.uploadBytesMax) throw tooLarge(deps.uploadBytesMax);
      const connection = await adapters.own(caller.userId, connectionId);
      const parentRef = file.parent_ref ?? "";
      const existing = await findItemByName(db, connection.id, parentRef, file.name);
      if (existing !== undefined) return { kind: "conflict", existingName: existing.name };
      const upload = await unlessDeleted(db, connection, () =>
        db.transaction(async (tx) => {
          const newUpload = {
            id: deps.newId(),
            connectionId: connection.id,
            userId: caller.userId,
            parentRef,
            name: file.name,
            contentType: toMediaType(file.content_type ?? undefined),
            size: file.size,
            fingerprint: file.fingerprint,
            expiresAt: tx.now + UPLOAD_EXPIRES_AFTER_MS,
          };
          const same = await findSameUpload(tx, newUpload);
          if (same !== undefined) return same;
          if ((await countOpenUploads(tx, caller.userId)) >= OPEN_UPLOADS_MAX)
            throw new AppError(
              "conflict",
              `Only ${OPEN_UPLOADS_MAX} uploads may be open. Complete or cancel one of them.`,
            );
          await insertUpload(tx, newUpload);
          await deps.jobs.enqueue(tx, {
            kind: EXPIRE_JOB,
            key: newUpload.id,
            payload: { upload_id: newUpload.id } satisfies z.input<typeof payloadSchema>,
            runAt: newUpload.expiresAt,
          });
          return { ...newUpload, sealedSession: undefined };
        }),
      );
      return { kind: "open", upload, offset: await partFiles.create(upload.id) };
    },

    /**
     * Appends bytes that begin where the last ones ended. Bytes that arrive before the connection is closed early are kept.
     */
    async append(
      caller: VaultCaller,
      place: UploadPlace,
      { offset, content }: { readonly offset: number | undefined; readonly content: Readable },
    ): Promise<AppendResult> {
      try {
        return await withUpload(caller, place, async (upload): Promise<AppendResult> => {
          if (offset !== (await partFiles.sizeOf(upload.id))) return { kind: "offset_mismatch" };
          const size = await appendTo(upload, offset, content);
          if (size === "too_long")
            throw new AppError("unprocessable", "The file is longer than announced.");
          return { kind: "open", upload, offset: size };
        });
      } finally {
        // The rest of a refused body is discarded, so that the client gets to read its response.
        content.resume();
      }
    },

    /**
     * Compares the hash and uploads the file. After a transient failure the bytes stay for another call; after a wrong
     * hash they are discarded. A client that lost the response of a stored file gets it again until the upload would
     * have expired, also from a restarted daemon.
     */
    async complete(
      caller: VaultCaller,
      place: UploadPlace,
      sha256: string,
    ): Promise<CompleteResult> {
      const connection = await adapters.own(caller.userId, place.connection_id);
      // A client whose connection closed early repeats the request and gets the result of the one that still runs.
      const key = `${connection.id} ${place.upload_id} ${sha256}`;
      const running =
        completing.get(key) ??
        completeOnce(caller, place, sha256).finally(() => completing.delete(key));
      completing.set(key, running);
      return running;
    },

    /** Discards an upload. */
    cancel: (caller: VaultCaller, place: UploadPlace): Promise<void> =>
      withUpload(caller, place, ({ id }) => discard(id)),
  };

  /** Completes an upload, or returns the result of an earlier request, whose file would otherwise be a taken name. */
  async function completeOnce(
    caller: VaultCaller,
    place: UploadPlace,
    sha256: string,
  ): Promise<CompleteResult> {
    const { connection_id: connectionId, upload_id: uploadId } = place;
    const earlier = await findUploadResult(db, { uploadId, connectionId, sha256, now: clock() });
    if (earlier === undefined) return complete(caller, place, sha256);
    // The daemon died between the record and the removal.
    if ((await findUpload(db, uploadId)) !== undefined) await remove(uploadId);
    const { providerItemId: id, name, parentRef = null, size } = earlier;
    if (id === undefined) return { kind: "recording_failed" };
    return { kind: "uploaded", item: { id, name }, parentRef, size };
  }

  function complete(
    caller: VaultCaller,
    place: UploadPlace,
    sha256: string,
  ): Promise<CompleteResult> {
    return withUpload(caller, place, async (upload): Promise<CompleteResult> => {
      await using claim = await claimCompletion(deps, owner, upload.id);
      // Another daemon sends these bytes to the provider, for an earlier request whose client is gone.
      if (claim === undefined) return { kind: "locked" };
      if ((await partFiles.sizeOf(upload.id)) !== upload.size) return { kind: "incomplete" };
      // The file of an upload without bytes may be missing.
      if (upload.size === 0) await partFiles.create(upload.id);
      if ((await partFiles.hash(upload.id)) !== sha256) {
        await discard(upload.id);
        return { kind: "hash_mismatch" };
      }
      const bytes = await partFiles.open(upload.id);
      try {
        const content = toVerified(bytes, sha256);
        const { parentRef, name, contentType, size } = upload;
        const parent = parentRef === "" ? undefined : parentRef;
        const session = sessions.keep(upload);
        const toRow = (item?: CloudItem) => ({
          uploadId: upload.id,
          connectionId: upload.connectionId,
          sha256,
          providerItemId: item?.providerItemId,
          name: item?.name ?? name,
          parentRef: parent,
          size,
          expiresAt: upload.expiresAt,
        });
        const result = await uploads.upload(caller, place.connection_id, {
          parentRef: parent,
          name,
          contentType,
          content,
          size,
          session,
          async record(tx, item) {
            await insertUploadResult(tx, toRow(item));
            return true;
          },
        });
        if (result.kind === "recording_failed")
          await insertUploadResult(db, toRow()).catch((error: unknown) =>
            deps.log.warn(
              { err: error, upload_id: upload.id },
              "failed to store an upload's result",
            ),
          );
        if (result.kind === "uploaded" || result.kind === "recording_failed")
          await remove(upload.id);
        else if (!PASSING.has(result.kind)) await discard(upload.id);
        return result.kind === "conflict" ? { existingName: name, ...result } : result;
      } catch (error) {
        if (!(error instanceof BytesChanged)) throw error;
        await discard(upload.id);
        return { kind: "hash_mismatch" };
      } finally {
        bytes.destroy();
      }
    });
  }

  async function appendTo({ id, size }: OpenUpload, offset: number, content: Readable) {
    try {
      return await partFiles.append(id, content, { offset, sizeMax: size });
    } catch (error) {
      throw isDiskFull(error)
        ? new AppError("storage_full", "The server's disk is full.", { cause: error })
        : error;
    }
  }
}

function tooLarge(bytesMax: number): AppError {
  return new AppError("too_large", `A file may have at most ${bytesMax} bytes.`);
}
