import {
  cutToBytes,
  NAME_BYTES_MAX,
  type DestinationFault,
  type Failure,
} from "../../../../storage/cloud/outcomes.ts";
import type { Expected, ProviderCapabilities } from "../../../../storage/cloud/provider.ts";
import type { ItemOutcome, ProviderItem } from "../../../../storage/cloud/item.ts";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { isWithin } from "../../../../storage/tables/vault/item-ancestors.ts";
import {
  findItemByName,
  findLiveItem,
  softDeleteItem,
  type CloudItem,
} from "../../../../storage/tables/vault/items.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import { findParent, recordNewItem, relocateItem, toItemOwner } from "../items/item-records.ts";
import type { CloudListings } from "../items/listings.service.ts";
import { readIfMatch } from "./if-match.ts";
import type { ChangeRecorder, RecordingFailed } from "./change-recorder.ts";
import type { ItemPlace, NameLocks } from "../items/item-place.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

export type CreateFolderResult =
  | { readonly kind: "folder"; readonly item: ProviderItem; readonly parentRef: string | null }
  | Failure
  | RecordingFailed;
/** A created folder, or `existing` for a folder that existed before. */
export type EnsureFolderResult =
  | CreateFolderResult
  | { readonly kind: "existing"; readonly folder: CloudItem; readonly parentRef: string | null };
export type RenameResult =
  | { readonly kind: "renamed"; readonly item: ProviderItem }
  | Failure
  | RecordingFailed;
export type MoveResult =
  | { readonly kind: "moved"; readonly itemId: string; readonly parentRef: string }
  | Failure
  | RecordingFailed;
export type DeleteResult =
  | {
      readonly kind: "deleted";
      readonly how: "trashed" | "permanent";
      readonly itemId: string;
      readonly itemKind: "file" | "folder";
    }
  | Failure
  | RecordingFailed;

export type CloudChanges = ReturnType<typeof createChanges>;

/** Maximum number of counters that are tried when a folder's name is taken. */
const NAME_RETRIES = 5;

export interface ChangesDeps {
  readonly db: Database;
  /** Creates ids of rows. */
  readonly newId: () => string;
}

/**
 * Changes items. The provider acts first; its change and the audit record are recorded in one transaction before the
 * response. After a failure, only the folder is marked stale, if the storage may have changed.
 */
export function createChanges(
  { db, newId }: ChangesDeps,
  adapters: Adapters,
  recorder: Pick<ChangeRecorder, "make">,
  listings: Pick<CloudListings, "relist">,
  newNames: NameLocks,
) {
  /** Runs one change of a connection while holding the connection's lock. */
  async function withConnection<T>(
    caller: VaultCaller,
    connectionId: ConnectionId,
    work: (
      connection: Connection,
      capabilities: ProviderCapabilities,
      signal: AbortSignal,
    ) => Promise<T>,
    withLock = adapters.withLock,
  ): Promise<T> {
    await adapters.own(caller.userId, connectionId);
    return withLock(connectionId, async () => {
      // The connection may have been deleted, or have new credentials, since this call began to wait.
      const connection = await adapters.own(caller.userId, connectionId);
      const { capabilities } = await adapters.open(connection);
      // A change continues when its client disconnects: half of it may have happened.
      const { signal } = new AbortController();
      return unlessDeleted(db, connection, () => work(connection, capabilities, signal));
    });
  }

  /** Creates a folder under the first of the names that is free. Requires the lock of the connection. */
  async function makeFolder(
    caller: VaultCaller,
    connection: Connection,
    { parentRef, names }: { readonly parentRef: string | null; readonly names: readonly string[] },
    signal: AbortSignal,
  ): Promise<CreateFolderResult> {
    const parent = parentRef ?? "";
    const folder = await findParent(db, connection.id, parent);
    const created = await recorder.make({
      caller,
      connection,
      eventType: "cloud.folder_created",
      staleReason: "create_folder_mutated",
      parentRef: parent,
      async call() {
        let outcome: ItemOutcome = { kind: "conflict" };
        for (const name of names) {
          outcome = await adapters.call(connection, (provider) =>
            provider.createFolder({ parent, name, signal }),
          );
          if (outcome.kind !== "conflict") break;
        }
        return outcome;
      },
      listFolders: () => [parent],
      async write(tx, { item }) {
        const row = await recordNewItem(tx, toItemOwner(connection, newId), item, folder);
        if (row === undefined) return undefined;
        const { id: resourceId, providerItemId, parentRef: where } = row;
        return {
          value: providerItemId,
          folders: [where],
          resourceId,
          metadata: { provider_item_id: providerItemId, name: item.name, parent_ref: parentRef },
        };
      },
    });
    if (created.kind !== "recorded") return created;
    // The folder above it was deleted meanwhile, and this one with it.
    if (created.value === undefined) return { kind: "stale" };
    return { kind: "folder", item: { ...created.done.item, id: created.value }, parentRef };
  }

  /** Returns the recorded folder of this name if the provider still has it there. */
  async function findKnownFolder(
    connection: Connection,
    parent: string,
    name: string,
    signal: AbortSignal,
  ): Promise<CloudItem | undefined> {
    const recorded = await findItemByName(db, connection.id, parent, name);
    if (recorded?.kind !== "folder") return undefined;
    const current = await adapters.call(connection, (provider) =>
      provider.stat({ id: recorded.providerItemId, signal }),
    );
    const isThere =
      current.kind === "ok" &&
      current.item.kind === "folder" &&
      current.item.parent === parent &&
      current.item.name === recorded.name;
    return isThere ? recorded : undefined;
  }

  return {
    /** Adds a counter to a taken name, and tries up to five counters. */
    createFolder: (
      caller: VaultCaller,
      connectionId: ConnectionId,
      {
        parent_ref: parentRef,
        name,
      }: { readonly parent_ref?: string | null | undefined; readonly name: string },
    ): Promise<CreateFolderResult> =>
      newNames.withName({ connectionId, parent: parentRef ?? "", name }, () =>
        withConnection(caller, connectionId, async (connection, _can, signal) => {
          const counters = Array.from({ length: NAME_RETRIES + 1 }, (_, counter) => counter);
          const names = counters.map((counter) => withCounter(name, counter));
          return makeFolder(caller, connection, { parentRef: parentRef ?? null, names }, signal);
        }),
      ),

    /**
     * Creates a folder under exactly this name, or returns the folder that has it, as the provider lists it. A file of
     * the
     * name is a conflict. Calls for different names run at the same time.
     */
    ensureFolder(
      caller: VaultCaller,
      connectionId: ConnectionId,
      {
        parent_ref: parentRef,
        name,
      }: { readonly parent_ref?: string | null | undefined; readonly name: string },
    ): Promise<EnsureFolderResult> {
      const parent = parentRef ?? "";
      const ensure = () =>
        withConnection(
          caller,
          connectionId,
          async (connection, _can, signal) => {
            const where = { parentRef: parentRef ?? null, names: [name] };
            const created = await makeFolder(caller, connection, where, signal);
            if (created.kind !== "conflict") return created;
            const existing = await findKnownFolder(connection, parent, name, signal);
            if (existing !== undefined)
              return { kind: "existing", folder: existing, parentRef: where.parentRef } as const;
            // The folder exists at the provider, but no listing has recorded it.
            if (!(await listings.relist(connection, parent)))
              return { kind: "offline", sent: true } as const;
            const found = await findItemByName(db, connection.id, parent, name);
            return found?.kind === "folder"
              ? ({ kind: "existing", folder: found, parentRef: where.parentRef } as const)
              : created;
          },
          adapters.withSharedLock,
        );
      return newNames.withName({ connectionId, parent, name }, ensure);
    },

    /** Without an etag the last recorded one is the precondition. */
    rename: (
      caller: VaultCaller,
      place: ItemPlace,
      {
        new_name: name,
        etag,
      }: { readonly new_name: string; readonly etag?: string | null | undefined },
    ): Promise<RenameResult> =>
      withConnection(caller, place.connection_id, async (connection, capabilities, signal) => {
        const id = place.item_id;
        const recorded = await findLiveItem(db, connection.id, id);
        const renamed = await recorder.make({
          caller,
          connection,
          eventType: "cloud.item_renamed",
          staleReason: "rename_mutated",
          parentRef: parentOf(id, recorded, capabilities.ids),
          call: () =>
            adapters.call(connection, (provider) =>
              provider.rename({ id, name, expected: toExpected(recorded, etag), signal }),
            ),
          listFolders: ({ item }) => [item.parent],
          async write(tx, { item }) {
            const row = await relocateItem(tx, toItemOwner(connection, newId), id, item);
            const metadata = { provider_item_id: item.id, new_name: item.name };
            return { value: item, resourceId: row.id, metadata };
          },
        });
        return renamed.kind === "recorded" ? { kind: "renamed", item: renamed.done.item } : renamed;
      }),

    /** Refuses another connection, the item itself and a folder below it before the connection is looked up. */
    async move(
      caller: VaultCaller,
      place: ItemPlace,
      input: {
        readonly destination_parent_ref: string;
        readonly destination_connection_id?: string | null | undefined;
        readonly etag?: string | null | undefined;
      },
    ): Promise<MoveResult> {
      const { destination_parent_ref: destination, destination_connection_id: other } = input;
      const fault = await findDestinationFault(db, caller, place, destination, other);
      if (fault !== undefined) return { kind: "invalid_destination", reason: fault };
      return withConnection(
        caller,
        place.connection_id,
        async (connection, capabilities, signal) => {
          const id = place.item_id;
          const recorded = await findLiveItem(db, connection.id, id);
          const source = parentOf(id, recorded, capabilities.ids);
          const expected = toExpected(recorded, input.etag);
          const moved = await recorder.make({
            caller,
            connection,
            eventType: "cloud.item_moved",
            staleReason: "move_mutated",
            parentRef: source,
            call: () =>
              adapters.call(connection, (provider) =>
                provider.move({ id, parent: destination, expected, signal }),
              ),
            listFolders: ({ item }) =>
              source === undefined ? [item.parent] : [source, item.parent],
            async write(tx, { item }) {
              const row = await relocateItem(tx, toItemOwner(connection, newId), id, item);
              return {
                value: item,
                resourceId: row.id,
                metadata: {
                  provider_item_id: item.id,
                  old_parent_ref: source === "" ? null : (source ?? null),
                  new_parent_ref: destination === "" ? null : destination,
                },
              };
            },
          });
          if (moved.kind !== "recorded") return moved;
          return { kind: "moved", itemId: moved.done.item.id, parentRef: destination };
        },
      );
    },

    /**
     * Deletes an item: to the trash where the storage has one, unless `permanently` and the storage can do that. `ifMatch` is
     * the header: without it, or with `*`, the last recorded etag is the precondition.
     */
    delete: (
      caller: VaultCaller,
      place: ItemPlace,
      { ifMatch, permanently = false }: DeleteOptions = {},
    ): Promise<DeleteResult> =>
      withConnection(caller, place.connection_id, async (connection, capabilities, signal) => {
        const id = place.item_id;
        const recorded = await findLiveItem(db, connection.id, id);
        const parent = parentOf(id, recorded, capabilities.ids);
        const itemKind = recorded?.kind ?? "file";
        const expected = toExpected(recorded, readIfMatch(ifMatch, recorded?.etag));
        const deleted = await recorder.make({
          caller,
          connection,
          eventType: "cloud.item_deleted",
          staleReason: "delete_mutated",
          parentRef: parent,
          call: () =>
            adapters.call(connection, (provider) =>
              provider.delete({
                id,
                expected,
                permanently: permanently && provider.capabilities.permanentDelete,
                signal,
              }),
            ),
          listFolders: () => (parent === undefined ? [] : [parent]),
          async write(tx, { how }) {
            if (recorded !== undefined) await softDeleteItem(tx, recorded);
            const metadata = { provider_item_id: id, delete_kind: how, item_kind: itemKind };
            return { value: how, resourceId: recorded?.id ?? connection.id, metadata };
          },
        });
        if (deleted.kind !== "recorded") return deleted;
        return { kind: "deleted", how: deleted.done.how, itemId: id, itemKind };
      }),
  };
}

interface DeleteOptions {
  readonly ifMatch?: string | undefined;
  readonly permanently?: boolean;
}

/** Runs the three checks of a move, in the order that clients know, before the connection is looked up. */
async function findDestinationFault(
  db: Queries,
  caller: VaultCaller,
  place: ItemPlace,
  destination: string,
  otherConnection: string | null | undefined,
): Promise<DestinationFault | undefined> {
  if (otherConnection && otherConnection !== place.connection_id) return "cross_connection";
  if (destination === place.item_id) return "self_destination";
  if (destination === "") return undefined;
  const scope = { connectionId: place.connection_id, userId: caller.userId };
  const isBelow = await isWithin(db, scope, destination, place.item_id);
  return isBelow ? "descendant_destination" : undefined;
}

/** The name with its counter; the stem is shortened where both would be too long. */
function withCounter(name: string, counter: number): string {
  if (counter === 0) return name;
  const suffix = ` (${counter})`;
  return cutToBytes(name, NAME_BYTES_MAX - suffix.length) + suffix;
}

/**
 * The precondition of a change: the recorded item, with the caller's etag if there is one. An empty etag counts as
 * absent.
 */
function toExpected(recorded: CloudItem | undefined, etag: string | null | undefined): Expected {
  return {
    etag: etag ? etag : recorded?.etag,
    kind: recorded?.kind,
    name: recorded?.name,
    parent: recorded?.parentRef,
  };
}

/** The folder of an item: as recorded, or from a path. */
function parentOf(
  itemId: string,
  recorded: CloudItem | undefined,
  ids: "stable" | "path",
): string | undefined {
  if (recorded !== undefined) return recorded.parentRef;
  return ids === "path" ? itemId.split("/").slice(0, -1).join("/") : undefined;
}
