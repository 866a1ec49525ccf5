import type { Database } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import {
  findLiveItem,
  recordItem,
  softDeleteItem,
} from "../../../../storage/tables/vault/items.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudChanges } from "../changes/changes.service.ts";
import type { Adapters } from "../connections/adapters.ts";
import type { ItemPlace } from "../items/item-place.ts";
import { toItemMetadata, toItemOwner } from "../items/item-records.ts";

export interface RemovalOptions {
  readonly permanently: boolean;
  /** The only version that is deleted; undefined for whatever version there is. */
  readonly etag?: string | undefined;
}

export type StoredFileRemoval = ReturnType<typeof createStoredFileRemoval>;

/** Deletes the files of documents at their providers. */
export function createStoredFileRemoval(
  { db, newId }: { readonly db: Database; readonly newId: () => string },
  adapters: Adapters,
  changes: Pick<CloudChanges, "delete">,
) {
  async function remove(
    caller: VaultCaller,
    place: ItemPlace,
    { permanently, etag }: RemovalOptions,
  ): Promise<boolean> {
    const { kind } = await changes.delete(caller, place, { permanently, ifMatch: etag });
    if (kind !== "stale") return kind === "deleted";
    // The file has changed since it was listed, or is missing. The owner wants it deleted in both cases, unless by its version.
    const connection = await adapters.own(caller.userId, place.connection_id);
    const state = await refresh(connection, place.item_id);
    if (state !== "present" || etag !== undefined) return state === "missing";
    return (await changes.delete(caller, place, { permanently })).kind === "deleted";
  }

  /** Records the present version of a file, to delete it with that version as the precondition. */
  async function refresh(
    connection: Connection,
    id: string,
  ): Promise<"present" | "missing" | "unknown"> {
    const { signal } = new AbortController();
    const current = await adapters.call(connection, (provider) => provider.stat({ id, signal }));
    if (current.kind !== "ok" && current.kind !== "not_found") return "unknown";
    if (current.kind === "ok" && current.item.kind !== "file") return "unknown";
    await db.transaction(async (tx) => {
      const recorded = await findLiveItem(tx, connection.id, id);
      if (recorded === undefined) return;
      if (current.kind === "ok")
        await recordItem(tx, toItemOwner(connection, newId), toItemMetadata(current.item));
      else await softDeleteItem(tx, recorded);
    });
    return current.kind === "ok" ? "present" : "missing";
  }

  return {
    /** Idempotent. Returns true when the file no longer exists, false when the provider failed, or has another version than `etag`. */
    async remove(caller: VaultCaller, place: ItemPlace, options: RemovalOptions): Promise<boolean> {
      try {
        return await remove(caller, place, options);
      } catch (error) {
        // The connection cannot be opened, or was deleted at this moment.
        if (error instanceof AppError) return false;
        throw error;
      }
    },
  };
}
