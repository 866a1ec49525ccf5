import type { Database } from "../../../../storage/engine/database.ts";
import {
  type Connection,
  findConnectionById,
} from "../../../../storage/tables/vault/connections.ts";
import {
  deleteStoredFileWrite,
  listStoredFileWrites,
  type StoredFileWrite,
} from "../../../../storage/tables/vault/documents/stored-bytes.ts";
import { LEFTOVERS_OF_LISTING_MAX } from "../../../../storage/cloud/provider.ts";
import { findLiveItem, softDeleteItem } from "../../../../storage/tables/vault/items.ts";
import { AppError } from "../../../errors.ts";
import type { Adapters } from "../connections/adapters.ts";
import { markFolderStale } from "../items/stale-folders.ts";

export type AbandonedWrites = ReturnType<typeof createAbandonedWrites>;

/** A folder with the number of its abandoned writes, of which `write` is one. */
interface WrittenFolder {
  readonly write: StoredFileWrite;
  readonly count: number;
}

const BATCH = 100;

/** Files that were written for a document which was never added, because the daemon crashed or could not record it. */
export function createAbandonedWrites(db: Database, adapters: Adapters) {
  /** Returns the id of a file by its name, which is unique. */
  async function findFile(
    connection: Connection,
    { parentRef, name }: StoredFileWrite,
    signal: AbortSignal,
  ): Promise<
    { readonly kind: "found"; readonly id: string } | { readonly kind: "missing" | "failed" }
  > {
    const { capabilities } = await adapters.open(connection);
    if (capabilities.ids === "path") {
      const id = `${parentRef}/${name}`;
      const current = await adapters.call(connection, (provider) => provider.stat({ id, signal }));
      if (current.kind === "ok") return { kind: "found", id };
      return { kind: current.kind === "not_found" ? "missing" : "failed" };
    }
    const listing = await adapters.call(connection, (provider) =>
      provider.list({ folder: parentRef, signal }),
    );
    // The folder itself was deleted with its files.
    if (listing.kind === "stale") return { kind: "missing" };
    if (listing.kind !== "ok") return { kind: "failed" };
    const found = listing.items.find((item) => item.name === name);
    return found === undefined ? { kind: "missing" } : { kind: "found", id: found.id };
  }

  async function discard(write: StoredFileWrite): Promise<boolean> {
    const connection = await findConnectionById(db, write.connectionId);
    // Its rows went with the connection.
    if (connection === undefined) return true;
    const { signal } = new AbortController();
    const file = await findFile(connection, write, signal);
    if (file.kind === "failed") return false;
    if (file.kind === "found") {
      const { id } = file;
      const expected = { kind: "file", name: write.name, parent: write.parentRef } as const;
      const deleted = await adapters.call(connection, (provider) =>
        provider.delete({
          id,
          expected,
          permanently: provider.capabilities.permanentDelete,
          signal,
        }),
      );
      if (deleted.kind !== "ok") return false;
      await db.transaction(async (tx) => {
        const recorded = await findLiveItem(tx, connection.id, id);
        if (recorded !== undefined) await softDeleteItem(tx, recorded);
        await markFolderStale(tx, connection, write.parentRef, "delete_mutated");
      });
    }
    await deleteStoredFileWrite(db, write.id);
    return true;
  }

  /**
   * Lists a folder, so that the adapter deletes temporary files that interrupted uploads left there: at most one for each
   * of `count` writes.
   */
  async function cleanUp({ write, count }: WrittenFolder, signal: AbortSignal): Promise<void> {
    for (let listed = 0; listed < count; listed += LEFTOVERS_OF_LISTING_MAX) {
      signal.throwIfAborted();
      const connection = await findConnectionById(db, write.connectionId);
      if (connection === undefined) return;
      const folder = write.parentRef;
      await adapters.call(connection, (provider) => provider.list({ folder, signal }));
    }
  }

  return {
    /** Deletes the file of a write and its record. True when both are deleted; false when the provider failed. */
    discard,

    /**
     * Discards every write that started before a time, with its temporary files; returns the number of discarded ones.
     */
    async discardAll(before: number, signal: AbortSignal): Promise<number> {
      let count = 0;
      const folders = new Map<string, WrittenFolder>();
      let afterId = "";
      for (;;) {
        const batch = await listStoredFileWrites(db, { before, afterId, limit: BATCH });
        for (const write of batch) {
          signal.throwIfAborted();
          if (await discard(write).catch(toFailed)) count += 1;
          const key = JSON.stringify([write.connectionId, write.parentRef]);
          folders.set(key, { write, count: (folders.get(key)?.count ?? 0) + 1 });
        }
        const last = batch.at(-1);
        if (last === undefined) break;
        afterId = last.id;
      }
      for (const folder of folders.values()) await cleanUp(folder, signal).catch(toFailed);
      return count;
    },
  };
}

/** The next run tries a connection that cannot be opened again. */
function toFailed(error: unknown): false {
  if (error instanceof AppError) return false;
  throw error;
}
