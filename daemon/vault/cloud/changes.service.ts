import type { DestinationFault, Failure } from "../../../storage/cloud/outcomes.ts";
import { NAME_BYTES_MAX } from "../../../storage/cloud/outcomes.ts";
import type { CloudProvider, Expected, ProviderItem } from "../../../storage/cloud/provider.ts";
import type { Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import type { Connection } from "../../../storage/tables/vault/connections.ts";
import { rekeyFolders } from "../../../storage/tables/vault/folders.ts";
import { isWithin } from "../../../storage/tables/vault/item-ancestors.ts";
import { rekeyItems } from "../../../storage/tables/vault/item-paths.ts";
import {
  findLiveItem,
  recordItem,
  softDeleteItem,
  type CloudItem,
} from "../../../storage/tables/vault/items.ts";
import { toRefKey } from "../../../storage/tables/vault/refs.ts";
import type { VaultCaller } from "../caller.ts";
import type { Adapters } from "./adapters.ts";
import type { ItemPlace } from "./bytes.service.ts";
import type { CloudDeps } from "./cloud.ts";
import { warnFolder } from "./folder-marks.ts";
import type { CloudListings } from "./listings.service.ts";
import { findParent, recordNewItem } from "./new-items.ts";
import { toSeenItem } from "./seen-item.ts";
import { unlessDeleted } from "./unless-deleted.ts";

/** A change that the provider made and that could not be recorded. */
export type RecordingFailed = { readonly kind: "recording_failed" };

export type CreateFolderResult =
  | { readonly kind: "folder"; readonly item: ProviderItem; readonly parentRef: string | null }
  | Failure
  | RecordingFailed;
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

/**
 * Changes of items. The provider acts first; what it did is recorded with its audit record in one transaction before the
 * answer. Of a failure nothing is recorded but that the folder must be listed again, where that is so.
 */
export interface CloudChanges {
  /** A taken name is tried again with a counter, five times. */
  createFolder(
    caller: VaultCaller,
    connectionId: string,
    input: { readonly parent_ref?: string | null | undefined; readonly name: string },
  ): Promise<CreateFolderResult>;
  /** Without an etag the last one that the service saw is the precondition. */
  rename(
    caller: VaultCaller,
    place: ItemPlace,
    input: { readonly new_name: string; readonly etag?: string | null | undefined },
  ): Promise<RenameResult>;
  /** Another connection, the item itself and what is below it are refused before anything is looked up. */
  move(
    caller: VaultCaller,
    place: ItemPlace,
    input: {
      readonly destination_parent_ref: string;
      readonly destination_connection_id?: string | null | undefined;
      readonly etag?: string | null | undefined;
    },
  ): Promise<MoveResult>;
  delete(caller: VaultCaller, place: ItemPlace): Promise<DeleteResult>;
}

/** How many counters are tried when a folder's name is taken (vault API, create folder). */
const NAME_RETRIES = 5;

export function createChanges(
  deps: CloudDeps,
  adapters: Adapters,
  listings: Pick<CloudListings, "distrust">,
): CloudChanges {
  const { db } = deps;

  /** Runs one change of a connection, in turn with its others. */
  async function change<T>(
    caller: VaultCaller,
    connectionId: string,
    work: (connection: Connection, can: CloudProvider["can"], signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    await adapters.own(caller.userId, connectionId);
    return adapters.inTurn(connectionId, async () => {
      // While others had their turn it may have been deleted, or have got other credentials.
      const connection = await adapters.own(caller.userId, connectionId);
      const { can } = await adapters.open(connection);
      // A change is never given up because its client went away: half of it may have happened.
      const { signal } = new AbortController();
      return unlessDeleted(db, connection, () => work(connection, can, signal));
    });
  }

  /** Records what the provider did. When that fails, the folders are at least marked, at once or by a job. */
  async function record<T>(
    connection: Connection,
    folders: readonly string[],
    write: (tx: Transaction) => Promise<T>,
  ): Promise<{ readonly kind: "recorded"; readonly value: T } | RecordingFailed> {
    try {
      return { kind: "recorded", value: await db.transaction(write) };
    } catch (error) {
      deps.log.error(
        { err: error, connection_id: connection.id },
        "a change could not be recorded",
      );
      await leaveRelisting(connection, folders);
      return { kind: "recording_failed" };
    }
  }

  async function leaveRelisting(connection: Connection, folders: readonly string[]): Promise<void> {
    try {
      await db.transaction(async (tx) => {
        for (const parentRef of new Set(folders)) {
          await warnFolder(tx, connectionOwner(connection), parentRef, "stale_listing");
          await deps.jobs.enqueue(tx, toRelistJob(connection.id, parentRef));
        }
      });
    } catch (error) {
      deps.log.error({ err: error, connection_id: connection.id }, "a folder could not be marked");
      for (const parentRef of folders) listings.distrust(connection, parentRef);
    }
  }

  async function noteStale(
    connection: Connection,
    failure: Failure,
    parentRef: string | undefined,
  ): Promise<void> {
    if (failure.kind !== "stale" && failure.kind !== "unknown_outcome") return;
    if (parentRef === undefined) return;
    await db.transaction((tx) =>
      warnFolder(tx, connectionOwner(connection), parentRef, "stale_listing"),
    );
  }

  /** Brings the rows of an item and of what is below it to where the provider has put it. */
  async function relocateRows(
    tx: Transaction,
    connection: Connection,
    itemId: string,
    item: ProviderItem,
  ): Promise<CloudItem> {
    if (item.id !== itemId) {
      await rekeyItems(tx, connection.id, itemId, item.id);
      await rekeyFolders(tx, connection.id, itemId, item.id);
    }
    const owner = { ...connectionOwner(connection), newId: deps.newId };
    return recordItem(tx, owner, toSeenItem(item));
  }

  return {
    createFolder: (caller, connectionId, input) =>
      change(caller, connectionId, async (connection, _can, signal) => {
        const parent = input.parent_ref ?? "";
        const folder = await findParent(db, connection.id, parent);
        let outcome: Awaited<ReturnType<CloudProvider["createFolder"]>> = { kind: "conflict" };
        for (let counter = 0; counter <= NAME_RETRIES && outcome.kind === "conflict"; counter++) {
          const name = withCounter(input.name, counter);
          outcome = await adapters.call(connection, (provider) =>
            provider.createFolder({ parent, name, signal }),
          );
        }
        if (outcome.kind !== "ok") {
          await noteStale(connection, outcome, parent);
          return outcome;
        }
        const { item } = outcome;
        const recorded = await record(connection, [parent], async (tx) => {
          const owner = { ...connectionOwner(connection), newId: deps.newId };
          const row = await recordNewItem(tx, owner, item, folder);
          if (row === undefined) return undefined;
          await warnFolder(tx, owner, row.parentRef, "create_folder_mutated");
          await insertAudit(tx, {
            ...auditOf(caller, row.id),
            eventType: "cloud.folder_created",
            metadata: {
              connection_id: connection.id,
              provider_item_id: row.providerItemId,
              name: item.name,
              parent_ref: input.parent_ref ?? null,
            },
          });
          return row;
        });
        if (recorded.kind !== "recorded") return recorded;
        // The folder above it was deleted meanwhile, and this one with it.
        if (recorded.value === undefined) return { kind: "stale" };
        const made = { ...item, id: recorded.value.providerItemId };
        return { kind: "folder", item: made, parentRef: input.parent_ref ?? null };
      }),

    rename: (caller, place, input) =>
      change(caller, place.connection_id, async (connection, can, signal) => {
        const known = await findLiveItem(db, connection.id, place.item_id);
        const outcome = await adapters.call(connection, (provider) =>
          provider.rename({
            id: place.item_id,
            name: input.new_name,
            expected: toExpected(known, input.etag),
            signal,
          }),
        );
        if (outcome.kind !== "ok") {
          await noteStale(connection, outcome, parentOf(place.item_id, known, can.ids));
          return outcome;
        }
        const { item } = outcome;
        const recorded = await record(connection, [item.parent], async (tx) => {
          const row = await relocateRows(tx, connection, place.item_id, item);
          await warnFolder(tx, connectionOwner(connection), item.parent, "rename_mutated");
          await insertAudit(tx, {
            ...auditOf(caller, row.id),
            eventType: "cloud.item_renamed",
            metadata: {
              connection_id: connection.id,
              provider_item_id: item.id,
              new_name: item.name,
            },
          });
        });
        return recorded.kind === "recorded" ? { kind: "renamed", item } : recorded;
      }),

    async move(caller, place, input) {
      const { destination_parent_ref: destination, destination_connection_id: other } = input;
      const fault = await findDestinationFault(caller, place, destination, other);
      if (fault !== undefined) return { kind: "invalid_destination", reason: fault };
      return change(caller, place.connection_id, async (connection, can, signal) => {
        const known = await findLiveItem(db, connection.id, place.item_id);
        const source = parentOf(place.item_id, known, can.ids);
        const outcome = await adapters.call(connection, (provider) =>
          provider.move({
            id: place.item_id,
            parent: destination,
            expected: toExpected(known, input.etag),
            signal,
          }),
        );
        if (outcome.kind !== "ok") {
          await noteStale(connection, outcome, source);
          return outcome;
        }
        const { item } = outcome;
        const folders = source === undefined ? [item.parent] : [source, item.parent];
        const recorded = await record(connection, folders, async (tx) => {
          const row = await relocateRows(tx, connection, place.item_id, item);
          for (const folder of new Set(folders))
            await warnFolder(tx, connectionOwner(connection), folder, "move_mutated");
          await insertAudit(tx, {
            ...auditOf(caller, row.id),
            eventType: "cloud.item_moved",
            metadata: {
              connection_id: connection.id,
              provider_item_id: item.id,
              old_parent_ref: source === "" ? null : (source ?? null),
              new_parent_ref: destination === "" ? null : destination,
            },
          });
        });
        if (recorded.kind !== "recorded") return recorded;
        return { kind: "moved", itemId: item.id, parentRef: destination };
      });
    },

    delete: (caller, place) =>
      change(caller, place.connection_id, async (connection, can, signal) => {
        const known = await findLiveItem(db, connection.id, place.item_id);
        const parent = parentOf(place.item_id, known, can.ids);
        const outcome = await adapters.call(connection, (provider) =>
          provider.delete({ id: place.item_id, expected: toExpected(known, undefined), signal }),
        );
        if (outcome.kind !== "ok") {
          await noteStale(connection, outcome, parent);
          return outcome;
        }
        const itemKind = known?.kind ?? "file";
        const recorded = await record(
          connection,
          parent === undefined ? [] : [parent],
          async (tx) => {
            if (known !== undefined) await softDeleteItem(tx, known);
            if (parent !== undefined)
              await warnFolder(tx, connectionOwner(connection), parent, "delete_mutated");
            await insertAudit(tx, {
              ...auditOf(caller, known?.id ?? connection.id),
              eventType: "cloud.item_deleted",
              metadata: {
                connection_id: connection.id,
                provider_item_id: place.item_id,
                delete_kind: outcome.how,
                item_kind: itemKind,
              },
            });
          },
        );
        if (recorded.kind !== "recorded") return recorded;
        return { kind: "deleted", how: outcome.how, itemId: place.item_id, itemKind };
      }),
  };

  /** The three checks of a move, in the document's order, before the connection is looked up. */
  async function findDestinationFault(
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
}

/** The kind of the job that lists a folder again. */
export const RELIST_JOB = "cloud.relist";

/** A job that lists a folder again; one per folder. */
export function toRelistJob(connectionId: string, parentRef: string) {
  return {
    kind: RELIST_JOB,
    key: `${connectionId}/${toRefKey(parentRef)}`,
    payload: { connection_id: connectionId, parent_ref: parentRef },
  };
}

/** The name with its counter; the stem is shortened where both would be too long (vault API, create folder). */
function withCounter(name: string, counter: number): string {
  if (counter === 0) return name;
  const suffix = ` (${counter})`;
  let stem = name;
  while (Buffer.byteLength(stem + suffix) > NAME_BYTES_MAX) stem = [...stem].slice(0, -1).join("");
  return stem + suffix;
}

/** What the caller believes the item to be. An empty etag counts as none. */
function toExpected(known: CloudItem | undefined, etag: string | null | undefined): Expected {
  return {
    etag: etag ? etag : known?.etag,
    kind: known?.kind,
    name: known?.name,
    parent: known?.parentRef,
  };
}

/** The folder of an item: as recorded, or from a path. */
function parentOf(
  itemId: string,
  known: CloudItem | undefined,
  ids: "stable" | "path",
): string | undefined {
  if (known !== undefined) return known.parentRef;
  return ids === "path" ? itemId.split("/").slice(0, -1).join("/") : undefined;
}

function connectionOwner(connection: Connection) {
  return { connectionId: connection.id, userId: connection.userId };
}

function auditOf(caller: VaultCaller, resourceId: string) {
  return {
    userId: caller.userId,
    actorId: caller.userId,
    resourceId,
    ipAddress: caller.address,
  };
}
