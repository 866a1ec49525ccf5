import { createReadStream, createWriteStream } from "node:fs";
import { stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isDiskFull } from "../../../storage/disk-full.ts";
import type { Failure } from "../../../storage/cloud/outcomes.ts";
import type { ProviderItem } from "../../../storage/cloud/provider.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { findConnectionById, type Connection } from "../../../storage/tables/vault/connections.ts";
import { findItemByName } from "../../../storage/tables/vault/items.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import type { Adapters } from "./adapters.ts";
import { RELIST_JOB, toRelistJob, type RecordingFailed } from "./changes.service.ts";
import type { CloudDeps } from "./cloud.ts";
import { warnFolder } from "./folder-marks.ts";
import type { CloudListings } from "./listings.service.ts";
import { findParent, recordNewItem, type KnownParent } from "./new-items.ts";
import { unlessDeleted } from "./unless-deleted.ts";

/** A file on its way in. The stream is consumed or drained in any case. */
export interface Upload {
  readonly parentRef: string | undefined;
  readonly name: string;
  readonly contentType: string | undefined;
  readonly content: Readable;
  /** Undefined when it is only known at the end. */
  readonly size: number | undefined;
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

/** Uploads to connected storage. */
export interface CloudUploads {
  /**
   * Streams a file through to the provider; nothing is ever overwritten. An earlier file of that name is a `conflict`
   * before the provider is called. When the provider took the file and recording it fails, a job lists the folder again.
   */
  upload(caller: VaultCaller, connectionId: string, upload: Upload): Promise<UploadResult>;
}

/** An upload whose daemon died before it was recorded is looked for after this time. */
const LOOK_AFTER_MS = 15 * 60 * 1000;

export function createUploads(
  deps: CloudDeps,
  adapters: Adapters,
  listings: CloudListings,
): CloudUploads {
  const { db } = deps;

  deps.jobs.register({
    kind: RELIST_JOB,
    async run(payload) {
      const { connection_id: connectionId, parent_ref: parentRef } = payload as Record<
        string,
        string
      >;
      const connection = await findConnectionById(db, connectionId ?? "");
      // Disconnected meanwhile: nobody looks at that folder any more.
      if (connection === undefined || parentRef === undefined) return;
      if (!(await listings.relist(connection, parentRef)))
        throw new Error("the folder could not be listed");
    },
  });

  return {
    async upload(caller, connectionId, upload) {
      try {
        const connection = await adapters.own(caller.userId, connectionId);
        const parent = upload.parentRef ?? "";
        const taken = await findItemByName(db, connection.id, parent, upload.name);
        if (taken !== undefined) return { kind: "conflict", existingName: taken.name };
        return await unlessDeleted(db, connection, () => send(caller, connection, parent, upload));
      } finally {
        // What the client still sends is read and thrown away, so that it gets to read its answer.
        upload.content.resume();
      }
    },
  };

  async function send(
    caller: VaultCaller,
    connection: Connection,
    parent: string,
    upload: Upload,
  ): Promise<UploadResult> {
    const { can } = await adapters.open(connection);
    const folder = await findParent(db, connection.id, parent);
    // Written before the provider is called: if the daemon dies between its answer and the record, the folder is listed again.
    await db.transaction((tx) =>
      deps.jobs.enqueue(tx, {
        ...toRelistJob(connection.id, parent),
        runAt: tx.now + LOOK_AFTER_MS,
      }),
    );
    const { stream, bytes } = passOn(upload.content);
    const spooled =
      can.uploadNeedsSize && upload.size === undefined ? await spool(stream) : undefined;
    try {
      const outcome = await adapters.call(connection, (provider) =>
        provider.upload({
          parent,
          name: upload.name,
          content: spooled?.open() ?? stream,
          size: spooled?.size ?? upload.size,
          contentType: upload.contentType,
          signal: new AbortController().signal,
        }),
      );
      if (outcome.kind === "ok")
        return await record(caller, connection, folder, upload, outcome.item, bytes());
      if (outcome.kind === "stale" || outcome.kind === "unknown_outcome")
        await db.transaction((tx) => warnFolder(tx, ownerOf(connection), parent, "stale_listing"));
      return outcome;
    } finally {
      stream.destroy();
      await spooled?.remove();
    }
  }

  async function record(
    caller: VaultCaller,
    connection: Connection,
    folder: KnownParent,
    upload: Upload,
    item: ProviderItem,
    sentBytes: number,
  ): Promise<UploadResult> {
    const size = item.size ?? sentBytes;
    const contentType = item.contentType ?? upload.contentType ?? "application/octet-stream";
    try {
      const row = await db.transaction(async (tx) => {
        const owner = { ...ownerOf(connection), newId: deps.newId };
        const recorded = await recordNewItem(tx, owner, { ...item, contentType, size }, folder);
        if (recorded === undefined) return undefined;
        await warnFolder(tx, owner, recorded.parentRef, "upload_mutated");
        await insertAudit(tx, {
          eventType: "cloud.file_uploaded",
          userId: caller.userId,
          actorId: caller.userId,
          resourceId: recorded.id,
          ipAddress: caller.address,
          metadata: {
            connection_id: connection.id,
            provider_item_id: recorded.providerItemId,
            filename: item.name,
            size_bytes: size,
            parent_ref: upload.parentRef ?? null,
          },
        });
        return recorded;
      });
      // The folder was deleted while the bytes came, and the file with it.
      if (row === undefined) return { kind: "stale" };
      const uploaded = { ...item, id: row.providerItemId, parent: row.parentRef };
      return { kind: "uploaded", item: uploaded, parentRef: upload.parentRef ?? null, size };
    } catch (error) {
      deps.log.error(
        { err: error, connection_id: connection.id },
        "an upload could not be recorded",
      );
      await relistSoon(connection, item.parent);
      return { kind: "recording_failed" };
    }
  }

  /** The job waits already; this only makes it run at once. */
  async function relistSoon(connection: Connection, parent: string): Promise<void> {
    try {
      await db.transaction(async (tx) => {
        await warnFolder(tx, ownerOf(connection), parent, "stale_listing");
        await deps.jobs.enqueue(tx, toRelistJob(connection.id, parent));
      });
    } catch (error) {
      deps.log.warn({ err: error }, "the folder of an upload is listed again later");
      listings.distrust(connection, parent);
    }
  }

  /** A provider that must know the length first gets the bytes from a file, which is removed in any case. */
  async function spool(content: Readable) {
    const path = join(deps.temporaryDirectory, `upload-${deps.newId()}`);
    const remove = () =>
      unlink(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    try {
      await pipeline(content, createWriteStream(path, { flags: "wx", mode: 0o600 }));
      const { size } = await stat(path);
      return { size, open: () => createReadStream(path), remove };
    } catch (error) {
      await remove();
      throw isDiskFull(error)
        ? new AppError("storage_full", "The server's disk is full.", { cause: error })
        : error;
    }
  }
}

/**
 * The stream that a provider gets: it counts, and when the provider gives up in the middle what still comes from the
 * client is thrown away, so that the client gets to read its answer.
 */
function passOn(content: Readable): { readonly stream: Readable; readonly bytes: () => number } {
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      done(null, chunk);
    },
  });
  const fail = (error: Error) => stream.destroy(error);
  content.once("error", fail);
  content.once("close", () => {
    if (!content.readableEnded) fail(new Error("the upload broke off"));
  });
  stream.once("close", () => {
    content.unpipe(stream);
    content.resume();
  });
  // Its reader hears of an error; without one there is nobody to tell.
  stream.on("error", () => undefined);
  content.pipe(stream);
  return { stream, bytes: () => bytes };
}

function ownerOf(connection: Connection) {
  return { connectionId: connection.id, userId: connection.userId };
}
