import type { Readable } from "node:stream";
import { type Failure, markName } from "../../../../storage/cloud/outcomes.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import {
  type Connection,
  findConnectionOfProvider,
} from "../../../../storage/tables/vault/connections.ts";
import {
  deleteStoredFileWrite,
  insertStoredFileWrite,
  type StoredFileWrite,
} from "../../../../storage/tables/vault/documents/stored-bytes.ts";
import { findLiveItem, findLiveItemByRow } from "../../../../storage/tables/vault/items.ts";
import { AppError } from "../../../errors.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudBytes, DownloadResult } from "../bytes/bytes.service.ts";
import type { RecordingFailed } from "../changes/change-recorder.ts";
import type {
  CloudReplacements,
  ReplaceInput,
  ReplaceResult,
} from "../changes/replacements.service.ts";
import type { CloudUploads, RecordStored } from "../changes/uploads.service.ts";
import type { ItemPlace } from "../items/item-place.ts";
import type { AbandonedWrites } from "./abandoned-writes.ts";
import type { DocumentFolder } from "./document-folder.ts";
import type { RemovalOptions, StoredFileRemoval } from "./remove-stored-file.ts";
import type { AccountId, ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** The location of a document's file. */
export interface StoredPlace {
  /** The owner of the document and of the connection. */
  readonly userId: AccountId;
  /** Undefined once the connection is deleted. */
  readonly connectionId: ConnectionId | undefined;
  /** The id of the file when it was written. */
  readonly providerItemId: string | undefined;
  /** The recorded item: it knows the present id of the file, which a rename may have changed. */
  readonly itemId: string | undefined;
}

/** A file to be kept in a connection. The stream is consumed or drained in any case. */
export interface NewStoredFile {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Readable;
  /** Undefined when it is known only at the end. */
  readonly size: number | undefined;
}

export type StoredFiles = ReturnType<typeof createStoredFiles>;

export interface StoredFilesDeps {
  readonly db: Database;
  readonly newId: () => string;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly log: Log;
}

/** Bytes of the random part of a file's name. */
const NAME_SALT_BYTES = 6;

/** Files that the vault keeps for a user in the user's own connected storage, in the folder `croft`. */
export function createStoredFiles(
  deps: StoredFilesDeps,
  cloud: {
    readonly uploads: Pick<CloudUploads, "store">;
    readonly replacements: Pick<CloudReplacements, "replace">;
    readonly bytes: Pick<CloudBytes, "download">;
    readonly folder: DocumentFolder;
    readonly removal: StoredFileRemoval;
    readonly abandoned: AbandonedWrites;
  },
) {
  const { db } = deps;

  return {
    /** Returns the user's oldest connection of a provider. Refuses with `conflict` without one. */
    async getConnection(userId: AccountId, provider: string): Promise<Connection> {
      const connection = await findConnectionOfProvider(db, userId, provider);
      if (connection === undefined)
        throw new AppError(
          "conflict",
          `Your default storage is ${provider}, and you have no such connection. Connect one, or choose another default storage.`,
        );
      return connection;
    },

    /**
     * Writes a file; `record` writes the rows that belong to it, in the transaction that records it. A failure leaves no
     * file, or one that `discardAbandoned` deletes. The error of a failing stream is thrown unchanged.
     */
    async store(
      caller: VaultCaller,
      connection: Connection,
      { filename, contentType, content, size }: NewStoredFile,
      record: RecordStored,
    ): Promise<{ readonly kind: "stored" } | Failure | RecordingFailed> {
      const write = await begin(caller, connection, filename).catch((error: unknown) => {
        content.resume();
        throw error;
      });
      if ("kind" in write) {
        content.resume();
        return write;
      }
      const { id, parentRef, name } = write;
      let result;
      try {
        result = await cloud.uploads.store(
          caller,
          connection,
          { parentRef, name, contentType, content, size },
          async (tx, item, bytes) => {
            if (!(await record(tx, item, bytes))) return false;
            await deleteStoredFileWrite(tx, id);
            return true;
          },
        );
      } catch (error) {
        await deleteStoredFileWrite(db, id);
        throw error;
      }
      if (result.kind === "uploaded") return { kind: "stored" };
      // In these cases the provider may have stored the file; in all others it has not.
      if (["recording_failed", "unknown_outcome", "stale"].includes(result.kind))
        await cloud.abandoned.discard(write).catch((error: unknown) => {
          deps.log.warn({ err: error, connection_id: connection.id }, "failed to discard a file");
        });
      else await deleteStoredFileWrite(db, id);
      return result;
    },

    /** Replaces the bytes of a file that still is as it was recorded. `no_connection` when the connection is deleted. */
    async replace(
      caller: VaultCaller,
      place: StoredPlace,
      input: Omit<ReplaceInput, "ifMatch">,
    ): Promise<
      Exclude<ReplaceResult, { kind: "precondition_required" }> | { readonly kind: "no_connection" }
    > {
      const found = await toItemPlace(place);
      if (found === undefined) {
        input.content.resume();
        return { kind: "no_connection" };
      }
      const item = await findLiveItem(db, found.connection_id, found.item_id);
      const ifMatch = item?.etag ?? "*";
      const result = await cloud.replacements.replace(caller, found, { ...input, ifMatch });
      if (result.kind === "precondition_required") throw new Error("the precondition was given");
      return result;
    },

    /** Opens the bytes through the byte cache. `no_connection` when the connection is deleted. */
    async open(place: StoredPlace): Promise<DownloadResult | { readonly kind: "no_connection" }> {
      const found = await toItemPlace(place);
      if (found === undefined) return { kind: "no_connection" };
      return cloud.bytes.download({ userId: place.userId }, found);
    },

    /**
     * Deletes the file at the provider: to its trash where it has one, unless `permanently`. Returns true when it no longer
     * exists, and false when it may still exist.
     */
    async remove(
      caller: VaultCaller,
      place: StoredPlace,
      options: RemovalOptions,
    ): Promise<boolean> {
      const found = await toItemPlace(place);
      return found !== undefined && cloud.removal.remove(caller, found, options);
    },

    /** Deletes files that were written before a moment and belong to no document; returns their number. */
    discardAbandoned: (before: number, signal: AbortSignal): Promise<number> =>
      cloud.abandoned.discardAll(before, signal),
  };

  /** Finds the folder and records the intended write, so that recovery after a crash finds the file. */
  async function begin(
    caller: VaultCaller,
    connection: Connection,
    filename: string,
  ): Promise<StoredFileWrite | Failure | RecordingFailed> {
    const folder = await cloud.folder.find(caller, connection);
    if (folder.kind !== "ok") return folder;
    const write: StoredFileWrite = {
      id: deps.newId(),
      connectionId: connection.id,
      parentRef: folder.id,
      name: toStoredName(filename, deps.randomBytes(NAME_SALT_BYTES)),
    };
    await db.transaction((tx) => insertStoredFileWrite(tx, write));
    return write;
  }

  async function toItemPlace(place: StoredPlace): Promise<ItemPlace | undefined> {
    const { connectionId, providerItemId, itemId } = place;
    if (connectionId === undefined || providerItemId === undefined) return undefined;
    const item = itemId === undefined ? undefined : await findLiveItemByRow(db, itemId);
    return { connection_id: connectionId, item_id: item?.providerItemId ?? providerItemId };
  }
}

/**
 * Returns the name of a document's file: the document's own with a random part before the extension, because a folder
 * may hold one file of a name, and a vault several documents.
 */
function toStoredName(filename: string, salt: Uint8Array): string {
  return markName(filename, ` ${Buffer.from(salt).toString("hex")}`);
}
