import {
  NAME_BYTES_MAX,
  type DestinationFault,
  type Failure,
} from "../../../../storage/cloud/outcomes.ts";
import type { CloudProvider, Expected, ProviderItem } from "../../../../storage/cloud/provider.ts";
import type { Queries } from "../../../../storage/engine/database.ts";
import { insertAudit } from "../../../../storage/tables/vault/audit.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { isWithin } from "../../../../storage/tables/vault/item-ancestors.ts";
import {
  findLiveItem,
  softDeleteItem,
  type CloudItem,
} from "../../../../storage/tables/vault/items.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudDeps } from "../cloud.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import { warnFolder } from "../items/folder-marks.ts";
import type { ItemPlace } from "../items/item-place.ts";
import { findParent, recordNewItem, relocateItem, toItemOwner } from "../items/item-records.ts";
import { auditOf, type Recording, type RecordingFailed } from "./recording.ts";

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
  recording: Recording,
): CloudChanges {
  const { db, newId } = deps;

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
          await recording.noteFailure(connection, outcome, parent);
          return outcome;
        }
        const { item } = outcome;
        const recorded = await recording.record(connection, [parent], async (tx) => {
          const row = await recordNewItem(tx, toItemOwner(connection, newId), item, folder);
          if (row === undefined) return undefined;
          await warnFolder(tx, connection, row.parentRef, "create_folder_mutated");
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
          await recording.noteFailure(connection, outcome, parentOf(place.item_id, known, can.ids));
          return outcome;
        }
        const { item } = outcome;
        const recorded = await recording.record(connection, [item.parent], async (tx) => {
          const row = await relocateItem(tx, toItemOwner(connection, newId), place.item_id, item);
          await warnFolder(tx, connection, item.parent, "rename_mutated");
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
      const fault = await findDestinationFault(db, caller, place, destination, other);
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
          await recording.noteFailure(connection, outcome, source);
          return outcome;
        }
        const { item } = outcome;
        const folders = source === undefined ? [item.parent] : [source, item.parent];
        const recorded = await recording.record(connection, folders, async (tx) => {
          const row = await relocateItem(tx, toItemOwner(connection, newId), place.item_id, item);
          for (const folder of new Set(folders))
            await warnFolder(tx, connection, folder, "move_mutated");
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
          await recording.noteFailure(connection, outcome, parent);
          return outcome;
        }
        const itemKind = known?.kind ?? "file";
        const recorded = await recording.record(
          connection,
          parent === undefined ? [] : [parent],
          async (tx) => {
            if (known !== undefined) await softDeleteItem(tx, known);
            if (parent !== undefined) await warnFolder(tx, connection, parent, "delete_mutated");
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
}

/** The three checks of a move, in the document's order, before the connection is looked up. */
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
