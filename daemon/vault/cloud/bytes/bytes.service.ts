import type { CachedBytes } from "../../../../storage/cache/cache-hits.ts";
import type { Fetched } from "../../../../storage/cache/fill.ts";
import { StreamAborted, type ReadFailure } from "../../../../storage/cloud/outcomes.ts";
import type { ProviderItem } from "../../../../storage/cloud/item.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import {
  findLiveItem,
  findOwnedItem,
  recordItem,
  softDeleteItem,
  type CloudItem,
} from "../../../../storage/tables/vault/items.ts";
import type { ByteCache } from "../../../../storage/cache/byte-cache.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import { markFolderStale } from "../items/stale-folders.ts";
import type { ItemPlace } from "../items/item-place.ts";
import { toItemOwner, toItemMetadata } from "../items/item-records.ts";
import type { CloudItems } from "../items/items.service.ts";
import { isPreviewable } from "./previewable.ts";
import { createVersionNames, type VersionNames } from "./version-key.ts";

/** Bytes of an item, ready to be sent. */
export interface ItemBytes {
  readonly kind: "bytes";
  readonly name: string;
  readonly contentType: string | undefined;
  /** Undefined if other bytes could get the same tag. */
  readonly entityTag: string | undefined;
  /** Also undefined if it could not distinguish these bytes from the next version. */
  readonly modifiedAt: number | undefined;
  readonly bytes: CachedBytes;
}

export type PreviewResult =
  | ItemBytes
  | {
      readonly kind: "unsupported_preview";
      readonly reason: "unsupported_format" | "provider_error";
    };

/** `wasRecorded`: the vault knew the file; its record has been deleted. */
export type DownloadFailure =
  | Exclude<ReadFailure, { kind: "not_found" }>
  | { readonly kind: "not_found"; readonly wasRecorded?: boolean };

export type DownloadResult = ItemBytes | DownloadFailure;

export type CloudBytes = ReturnType<typeof createBytes>;

/** Metadata of the bytes that were fetched. */
interface FetchedItem {
  readonly item: ProviderItem;
  readonly contentType: string | undefined;
  readonly names: VersionNames;
}

export interface BytesDeps {
  readonly db: Database;
  readonly cache: ByteCache;
  /** Creates ids of rows. */
  readonly newId: () => string;
}

/** Reads the bytes of items. */
export function createBytes(deps: BytesDeps, adapters: Adapters, items: Pick<CloudItems, "get">) {
  const { db, cache } = deps;
  const toNames = createVersionNames();

  /**
   * Bytes in memory are returned after one query, which checks the owner, that the item is live, and that its
   * connection is open with its present credentials.
   */
  async function readFromMemory(
    caller: Pick<VaultCaller, "userId">,
    place: ItemPlace,
    isAcceptable: (item: CloudItem) => boolean,
  ): Promise<ItemBytes | undefined> {
    const { connection_id: connectionId, item_id: itemId } = place;
    const found = await findOwnedItem(db, caller.userId, connectionId, itemId);
    if (found === undefined || !adapters.isOpen(connectionId, found.generation)) return undefined;
    const { item } = found;
    if (item.kind === "folder" || !isAcceptable(item)) return undefined;
    const { cacheKey, entityTag } = toNames({ userId: caller.userId, connectionId }, item);
    const bytes = cache.openFromMemory(cacheKey);
    return bytes && toItemBytes(itemId, item, entityTag, bytes);
  }

  /** Through the cache. On a miss the provider may return a newer version than the recorded one. */
  async function read(
    connection: Connection,
    itemId: string,
    item: CloudItem | undefined,
  ): Promise<DownloadResult> {
    const { userId, id: connectionId } = connection;
    const owner = { userId, connectionId };
    const recordedNames = item && toNames(owner, item);
    const key = recordedNames?.cacheKey;
    let outcome;
    try {
      outcome = await cache.open<FetchedItem, ReadFailure>({
        userId,
        connectionId,
        key,
        flight: `${connectionId}/${key ?? ""}/${itemId}`,
        fetch: (from, signal) => fetch(connection, itemId, item, from, signal),
      });
    } catch (error) {
      if (error instanceof StreamAborted) return error.failure;
      throw error;
    }
    if (outcome.kind !== "ok") {
      if (outcome.kind !== "not_found" || item === undefined) return outcome;
      await deleteMissing(connection, item);
      return { kind: "not_found", wasRecorded: true };
    }
    const { bytes, meta } = outcome;
    if (meta === undefined) return toItemBytes(itemId, item, recordedNames?.entityTag, bytes);
    const { contentType, names } = meta;
    const { modifiedAt, unsettled } = meta.item;
    const name = item?.name;
    // A change within the same tick of the provider's clock could not be distinguished from this version.
    if (unsettled === true)
      return toItemBytes(itemId, { name, contentType, modifiedAt: undefined }, undefined, bytes);
    return toItemBytes(itemId, { name, contentType, modifiedAt }, names.entityTag, bytes);
  }

  async function fetch(
    connection: Connection,
    itemId: string,
    recorded: CloudItem | undefined,
    from:
      | { readonly start: number; readonly end: number | undefined; readonly meta: FetchedItem }
      | undefined,
    signal: AbortSignal,
  ): Promise<Fetched<FetchedItem> | ReadFailure> {
    const outcome = await adapters.call(connection, (provider) =>
      provider.read({
        id: itemId,
        range: from && { start: from.start, end: from.end },
        version: from?.meta.item.version,
        signal,
      }),
    );
    if (outcome.kind !== "ok") return outcome;
    const { item, stream, length, send } = outcome;
    // The reader handles errors; an error of a stream that is closed before it is read must not end the process.
    stream.on("error", () => undefined);
    const contentType = item.contentType ?? recorded?.contentType;
    const owner = { userId: connection.userId, connectionId: connection.id };
    const names = toNames(owner, { ...toItemMetadata(item), providerItemId: itemId, contentType });
    const isNewer = recorded !== undefined && names.cacheKey !== toNames(owner, recorded).cacheKey;
    if (from === undefined && isNewer) {
      // The recorded version has been replaced. The new bytes are cached under their own key, never under the old one.
      await updateItem(connection, { ...item, id: itemId }).catch((error: unknown) => {
        stream.destroy();
        throw error;
      });
    }
    return {
      kind: "ok",
      key: item.unsettled === true ? undefined : names.cacheKey,
      size: from === undefined ? (length ?? item.size) : undefined,
      meta: { item, contentType, names },
      stream,
      send,
    };
  }

  async function updateItem(connection: Connection, item: ProviderItem): Promise<void> {
    const owner = toItemOwner(connection, deps.newId);
    await unlessDeleted(db, connection, () =>
      db.transaction(async (tx) => {
        // The service may have renamed or deleted the item meanwhile: then its row is newer than the provider's answer.
        const still = await findLiveItem(tx, connection.id, item.id);
        if (still === undefined || item.kind !== "file") return;
        await recordItem(tx, owner, {
          ...toItemMetadata(item),
          name: still.name,
          parentRef: still.parentRef,
        });
      }),
    );
  }

  /** Deletes the record of a file that the provider no longer has, unless it has changed meanwhile. */
  async function deleteMissing(connection: Connection, item: CloudItem): Promise<void> {
    await unlessDeleted(db, connection, () =>
      db.transaction(async (tx) => {
        const now = await findLiveItem(tx, connection.id, item.providerItemId);
        if (now?.id === item.id && now.version === item.version && now.etag === item.etag)
          await softDeleteItem(tx, now);
        await markFolderStale(tx, connection, item.parentRef, "stale_listing");
      }),
    );
  }

  return {
    /** The bytes, if their type may be shown inline; otherwise the reason. */
    async preview(caller: VaultCaller, place: ItemPlace): Promise<PreviewResult> {
      const hasPreview = ({ contentType }: CloudItem) => isPreviewable(contentType);
      const atHand = await readFromMemory(caller, place, hasPreview);
      if (atHand !== undefined) return atHand;
      const { connection, item } = await items.get(caller, place);
      if (item.kind === "folder" || !isPreviewable(item.contentType))
        return { kind: "unsupported_preview", reason: "unsupported_format" };
      // Unreadable credentials and missing adapters have their own refusals.
      await adapters.open(connection);
      const result = await read(connection, item.providerItemId, item);
      if (result.kind !== "bytes") return { kind: "unsupported_preview", reason: "provider_error" };
      if (isPreviewable(result.contentType)) return result;
      result.bytes.release();
      return { kind: "unsupported_preview", reason: "unsupported_format" };
    },

    /**
     * Returns the bytes, or the provider's failure. Also looks up items that were never listed. The record of a file that
     * the provider no longer has is deleted.
     */
    async download(caller: Pick<VaultCaller, "userId">, place: ItemPlace): Promise<DownloadResult> {
      const atHand = await readFromMemory(caller, place, () => true);
      if (atHand !== undefined) return atHand;
      const connection = await adapters.own(caller.userId, place.connection_id);
      const item = await findLiveItem(db, connection.id, place.item_id);
      if (item?.kind === "folder") return { kind: "unsupported", reason: "folder" };
      await adapters.open(connection);
      return read(connection, place.item_id, item);
    },
  };
}

function toItemBytes(
  itemId: string,
  item:
    | {
        readonly name: string | undefined;
        readonly contentType: string | undefined;
        readonly modifiedAt: number | undefined;
      }
    | undefined,
  entityTag: string | undefined,
  bytes: CachedBytes,
): ItemBytes {
  return {
    kind: "bytes",
    name: item?.name ?? itemId,
    contentType: item?.contentType,
    entityTag,
    modifiedAt: item?.modifiedAt,
    bytes,
  };
}
