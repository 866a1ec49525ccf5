import { join } from "node:path";
import { Transform, type Readable } from "node:stream";
import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { SessionStore } from "../../../../storage/cloud/provider.ts";
import type { ProviderItem } from "../../../../storage/cloud/item.ts";
import { isDiskFull } from "../../../../storage/system-errors.ts";
import { spool, type Spooled } from "../../../../storage/spool.ts";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import {
  type CloudItem,
  findItemByName,
  findLiveItem,
} from "../../../../storage/tables/vault/items.ts";
import type { JobQueue } from "../../../jobs/queue.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import { findParent, recordNewItem, toItemOwner } from "../items/item-records.ts";
import type { NameLocks } from "../items/item-place.ts";
import type { ChangeRecorder, RecordingFailed } from "./change-recorder.ts";
import { toRelistJob } from "./relist-job.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";
import { pipeBody } from "../../../utilities/receive-body.ts";

/** A file that is being uploaded. The stream is consumed or drained in any case. */
export interface Upload {
  readonly parentRef: string | undefined;
  readonly name: string;
  readonly contentType: string | undefined;
  readonly content: Readable;
  /** Undefined when it is only known at the end. */
  readonly size: number | undefined;
  /** Continues the upload of an earlier attempt; with it `content` has all bytes and `size` is known. */
  readonly session?: SessionStore | undefined;
  /** Writes further rows in the transaction that records the file. */
  readonly record?: RecordStored;
}

export type UploadResult =
  | {
      readonly kind: "uploaded";
      readonly item: ProviderItem;
      readonly parentRef: string | null;
      readonly size: number;
    }
  | Failure
  | RecordingFailed;

/** The members of an uploaded file that its response has. */
export interface UploadedFile {
  readonly kind: "uploaded";
  readonly item: Pick<ProviderItem, "id" | "name"> & Partial<Pick<ProviderItem, "etag">>;
  readonly parentRef: string | null;
  readonly size: number;
}

export type CloudUploads = ReturnType<typeof createUploads>;

/** Writes the rows that belong to an uploaded file; gets its length in bytes. */
export type RecordStored = (tx: Transaction, item: CloudItem, size: number) => Promise<boolean>;

/** Bytes that are received while the provider is busy with earlier ones. */
const READ_AHEAD_BYTES = 1024 * 1024;

/**
 * Delay before the folder of an upload is listed again, in case the daemon dies between the provider's response and
 * the record.
 */
const RELIST_AFTER_MS = 15 * 60 * 1000;

export interface UploadsDeps {
  readonly db: Database;
  /** Creates ids of rows and names of temporary files. */
  readonly newId: () => string;
  readonly jobs: Pick<JobQueue, "enqueue">;
  /** Folder for uploads whose provider must know the length first. */
  readonly temporaryDirectory: string;
}

/** Uploads to connected storage. */
export function createUploads(
  deps: UploadsDeps,
  adapters: Adapters,
  recorder: ChangeRecorder,
  newNames: NameLocks,
) {
  const { db } = deps;

  return {
    /**
     * As `upload`, for a file that belongs to other rows: `record` writes them in the transaction that records the file.
     * When it returns false the file is not reported as uploaded: the result is `stale`, and the file may be deleted.
     */
    async store(
      caller: VaultCaller,
      connection: Connection,
      upload: Upload,
      record: RecordStored,
    ): Promise<UploadResult> {
      try {
        return await unlessDeleted(db, connection, () =>
          send(caller, connection, upload.parentRef ?? "", upload, record),
        );
      } finally {
        upload.content.resume();
      }
    },

    /** Refuses, before any byte is read, an upload to a connection that is not the caller's or cannot be used. */
    async admit(caller: VaultCaller, connectionId: ConnectionId): Promise<void> {
      await adapters.open(await adapters.own(caller.userId, connectionId));
    },

    /**
     * Streams a file through to the provider; nothing is ever overwritten. An earlier file of that name is a `conflict`
     * before the provider is called. Uploads to one name, regardless of case, run one after the other, because not every
     * provider compares in one step. If the provider has stored the file but recording it fails, a job lists the folder
     * again.
     */
    async upload(
      caller: VaultCaller,
      connectionId: ConnectionId,
      upload: Upload,
    ): Promise<UploadResult> {
      try {
        const connection = await adapters.own(caller.userId, connectionId);
        const parent = upload.parentRef ?? "";
        const place = { connectionId, parent, name: upload.name };
        return await newNames.withName(place, async (): Promise<UploadResult> => {
          const existing = await findItemByName(db, connection.id, parent, upload.name);
          if (existing !== undefined) return { kind: "conflict", existingName: existing.name };
          return unlessDeleted(db, connection, () =>
            send(caller, connection, parent, upload, upload.record),
          );
        });
      } finally {
        // The rest of the body is discarded, so that the client gets to read its response.
        upload.content.resume();
      }
    },
  };

  async function send(
    caller: VaultCaller,
    connection: Connection,
    parent: string,
    upload: Upload,
    record?: RecordStored,
  ): Promise<UploadResult> {
    const { capabilities } = await adapters.open(connection);
    const folder = await findParent(db, connection.id, parent);
    await db.transaction((tx) =>
      deps.jobs.enqueue(tx, {
        ...toRelistJob(connection.id, parent),
        runAt: tx.now + RELIST_AFTER_MS,
      }),
    );
    const { stream, bytes } = passOn(upload.content);
    const spooled =
      capabilities.uploadNeedsSize && upload.size === undefined
        ? await spoolUpload(stream, join(deps.temporaryDirectory, `upload-${deps.newId()}`))
        : undefined;
    const sizeOf = (item: ProviderItem) => item.size ?? bytes();
    try {
      const uploaded = await recorder.make({
        caller,
        connection,
        eventType: "cloud.file_uploaded",
        staleReason: "upload_mutated",
        parentRef: parent,
        call: () =>
          adapters.call(connection, (provider) =>
            provider.upload({
              parent,
              name: upload.name,
              content: spooled?.stream ?? stream,
              size: spooled?.size ?? upload.size,
              contentType: upload.contentType,
              session: upload.session,
              signal: new AbortController().signal,
            }),
          ),
        listFolders: ({ item }) => [item.parent],
        async write(tx, { item }) {
          const contentType = item.contentType ?? upload.contentType ?? "application/octet-stream";
          const size = sizeOf(item);
          const owner = toItemOwner(connection, deps.newId);
          const row = await recordNewItem(tx, owner, { ...item, contentType, size }, folder);
          if (row === undefined) return undefined;
          if (record !== undefined && !(await record(tx, row, size))) return undefined;
          return {
            value: row,
            folders: [row.parentRef],
            resourceId: row.id,
            metadata: {
              provider_item_id: row.providerItemId,
              filename: item.name,
              size_bytes: size,
              parent_ref: upload.parentRef ?? null,
            },
          };
        },
      });
      if (uploaded.kind !== "recorded") return uploaded;
      const { done, value: row } = uploaded;
      if (row === undefined) return await withDeletedFolder(connection, done.item);
      const item = { ...done.item, id: row.providerItemId, parent: row.parentRef };
      const parentRef = upload.parentRef ?? null;
      return { kind: "uploaded", item, parentRef, size: sizeOf(done.item) };
    } finally {
      stream.destroy();
      spooled?.stream.destroy();
    }
  }

  /**
   * The folder was deleted during the upload, and the file with it. If ids are paths, another folder may have the
   * name by now. The records tell which after earlier changes are recorded.
   */
  async function withDeletedFolder(connection: Connection, item: ProviderItem): Promise<Failure> {
    const successor = await adapters.withLock(connection.id, () =>
      findLiveItem(db, connection.id, item.parent),
    );
    const failure: Failure = { kind: successor === undefined ? "stale" : "unknown_outcome" };
    await recorder.noteFailure(connection, failure, item.parent);
    return failure;
  }
}

/** Returns the stream that a provider reads, and the number of bytes that went through it. */
function passOn(content: Readable): { readonly stream: Readable; readonly bytes: () => number } {
  let bytes = 0;
  const stream = new Transform({
    highWaterMark: READ_AHEAD_BYTES,
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      done(null, chunk);
    },
  });
  pipeBody(content, stream);
  return { stream, bytes: () => bytes };
}

/** Writes the bytes to disk first. Refuses with `storage_full` when the server's own disk is full. */
async function spoolUpload(content: Readable, path: string): Promise<Spooled> {
  try {
    return await spool(content, path);
  } catch (error) {
    throw isDiskFull(error)
      ? new AppError("storage_full", "The server's disk is full.", { cause: error })
      : error;
  }
}
