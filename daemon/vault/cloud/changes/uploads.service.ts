import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { ProviderItem } from "../../../../storage/cloud/provider.ts";
import { isDiskFull } from "../../../../storage/system-errors.ts";
import { spool, type Spooled } from "../../../../storage/spool.ts";
import { insertAudit } from "../../../../storage/tables/vault/audit.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { findItemByName, findLiveItem } from "../../../../storage/tables/vault/items.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudDeps } from "../cloud.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import { warnFolder } from "../items/folder-marks.ts";
import { findParent, recordNewItem, toItemOwner, type KnownParent } from "../items/item-records.ts";
import { auditOf, type Recording, type RecordingFailed } from "./recording.ts";
import { toRelistJob } from "./relisting.ts";
import { passOn } from "./upload-stream.ts";

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
  recording: Recording,
): CloudUploads {
  const { db } = deps;

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
      can.uploadNeedsSize && upload.size === undefined
        ? await spoolUpload(stream, join(deps.temporaryDirectory, `upload-${deps.newId()}`))
        : undefined;
    try {
      const outcome = await adapters.call(connection, (provider) =>
        provider.upload({
          parent,
          name: upload.name,
          content: spooled?.stream ?? stream,
          size: spooled?.size ?? upload.size,
          contentType: upload.contentType,
          signal: new AbortController().signal,
        }),
      );
      if (outcome.kind === "ok")
        return await record(caller, connection, folder, upload, outcome.item, bytes());
      await recording.noteFailure(connection, outcome, parent);
      return outcome;
    } finally {
      stream.destroy();
      spooled?.stream.destroy();
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
    const recorded = await recording.record(connection, [item.parent], async (tx) => {
      const owner = toItemOwner(connection, deps.newId);
      const row = await recordNewItem(tx, owner, { ...item, contentType, size }, folder);
      if (row === undefined) return undefined;
      await warnFolder(tx, connection, row.parentRef, "upload_mutated");
      await insertAudit(tx, {
        ...auditOf(caller, row.id),
        eventType: "cloud.file_uploaded",
        metadata: {
          connection_id: connection.id,
          provider_item_id: row.providerItemId,
          filename: item.name,
          size_bytes: size,
          parent_ref: upload.parentRef ?? null,
        },
      });
      return row;
    });
    if (recorded.kind !== "recorded") return recorded;
    const row = recorded.value;
    if (row === undefined) return withItsFolder(connection, item);
    const uploaded = { ...item, id: row.providerItemId, parent: row.parentRef };
    return { kind: "uploaded", item: uploaded, parentRef: upload.parentRef ?? null, size };
  }

  /**
   * The folder was deleted while the bytes came, and the file with it: unless, where ids are paths, another folder had got
   * its name by then, which is known once the changes before have been recorded.
   */
  async function withItsFolder(connection: Connection, item: ProviderItem): Promise<Failure> {
    const successor = await adapters.inTurn(connection.id, () =>
      findLiveItem(db, connection.id, item.parent),
    );
    const failure: Failure = { kind: successor === undefined ? "stale" : "unknown_outcome" };
    await recording.noteFailure(connection, failure, item.parent);
    return failure;
  }
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
