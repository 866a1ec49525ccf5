import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { CloudProvider } from "../../../../storage/cloud/provider.ts";
import type { ProviderItem } from "../../../../storage/cloud/item.ts";
import type { Trash, TrashedItem } from "../../../../storage/cloud/trash.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { listAncestors } from "../../../../storage/tables/vault/item-ancestors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { ChangeRecorder, RecordingFailed } from "../changes/change-recorder.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import { findParent, recordNewItem, toItemOwner } from "../items/item-records.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** A deleted item, and where it was. */
export interface LocatedTrashedItem {
  readonly item: TrashedItem;
  /** Names of the folders that it was in, outermost first; undefined when unknown. */
  readonly folders: readonly string[] | undefined;
}

export type TrashPage =
  | {
      readonly kind: "ok";
      readonly items: readonly LocatedTrashedItem[];
      readonly next: string | undefined;
    }
  | Failure;
export type RestoreResult =
  | { readonly kind: "restored"; readonly item: ProviderItem }
  | Failure
  | RecordingFailed;
export type EmptyResult =
  | { readonly kind: "emptied"; readonly removed: number | undefined; readonly isComplete: boolean }
  | Failure
  | RecordingFailed;

export type CloudTrash = ReturnType<typeof createTrash>;

export interface CloudTrashDeps {
  readonly db: Database;
  readonly newId: () => string;
}

const unsupported: Failure = { kind: "unsupported", reason: "no_trash" };

/** The trash of connected storages. Throws `unsupported` for a storage that cannot list deleted items. */
export function createTrash(
  { db, newId }: CloudTrashDeps,
  adapters: Adapters,
  recorder: Pick<ChangeRecorder, "make">,
) {
  function call<T extends { readonly kind: string }>(
    connection: Connection,
    work: (trash: Trash, provider: CloudProvider) => Promise<T | Failure>,
  ): Promise<T | Failure> {
    return adapters.call<T | Failure>(connection, async (provider) =>
      provider.trash === undefined ? unsupported : work(provider.trash, provider),
    );
  }

  /** Runs one change while holding the connection's lock; it continues when its client disconnects. */
  async function change<T>(
    caller: VaultCaller,
    connectionId: ConnectionId,
    work: (connection: Connection, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    await adapters.own(caller.userId, connectionId);
    return adapters.withLock(connectionId, async () => {
      const connection = await adapters.own(caller.userId, connectionId);
      const { signal } = new AbortController();
      return unlessDeleted(db, connection, () => work(connection, signal));
    });
  }

  return {
    async list(
      caller: VaultCaller,
      connectionId: ConnectionId,
      cursor: string | undefined,
    ): Promise<TrashPage> {
      const connection = await adapters.own(caller.userId, connectionId);
      const { signal } = new AbortController();
      const page = await call(connection, (trash) => trash.list({ cursor, signal }));
      if (page.kind !== "ok") return page;
      const folderNames = new Map<string, readonly string[] | undefined>();
      const items: LocatedTrashedItem[] = [];
      for (const item of page.items) {
        const { from } = item;
        if (from?.kind === "folder" && !folderNames.has(from.id))
          folderNames.set(from.id, await findFolderNames(connection, from.id));
        const folders = from?.kind === "folder" ? folderNames.get(from.id) : from?.names;
        items.push({ item, folders });
      }
      return { kind: "ok", items, next: page.next };
    },

    /** Restores an item and records it, with an audit record, in one transaction. */
    restore: (
      caller: VaultCaller,
      connectionId: ConnectionId,
      trashId: string,
    ): Promise<RestoreResult> =>
      change(caller, connectionId, async (connection, signal) => {
        const restored = await recorder.make({
          caller,
          connection,
          eventType: "cloud.item_restored",
          staleReason: "stale_listing",
          parentRef: undefined,
          call: () => call(connection, (trash) => trash.restore({ id: trashId, signal })),
          listFolders: ({ item }) => [item.parent],
          async write(tx, { item }) {
            const folder = await findParent(tx, connection.id, item.parent);
            const row = await recordNewItem(tx, toItemOwner(connection, newId), item, folder);
            if (row === undefined) return undefined;
            const { id: resourceId, parentRef } = row;
            const metadata = {
              provider_item_id: row.providerItemId,
              name: item.name,
              parent_ref: parentRef === "" ? null : parentRef,
            };
            // The records of a folder's content were deleted with it.
            const content = item.kind === "folder" ? [row.providerItemId] : [];
            return { value: item, folders: [parentRef, ...content], resourceId, metadata };
          },
        });
        return restored.kind === "recorded"
          ? { kind: "restored", item: restored.done.item }
          : restored;
      }),

    empty: (caller: VaultCaller, connectionId: ConnectionId): Promise<EmptyResult> =>
      change(caller, connectionId, async (connection, signal) => {
        const emptied = await recorder.make({
          caller,
          connection,
          eventType: "cloud.trash_emptied",
          staleReason: "stale_listing",
          parentRef: undefined,
          call: () => call(connection, async (trash) => trash.empty?.({ signal }) ?? unsupported),
          listFolders: () => [],
          write: async (_tx, { removed }) => ({
            value: removed,
            resourceId: connection.id,
            metadata: { removed: removed ?? null },
          }),
        });
        if (emptied.kind !== "recorded") return emptied;
        const { removed, isComplete } = emptied.done;
        return { kind: "emptied", removed, isComplete };
      }),
  };

  /** Undefined when the folder, or one above it, was never listed. */
  async function findFolderNames(
    connection: Connection,
    folderId: string,
  ): Promise<readonly string[] | undefined> {
    if (folderId === "") return [];
    const folder = await findParent(db, connection.id, folderId);
    if (folder === undefined) return undefined;
    const scope = { connectionId: connection.id, userId: connection.userId };
    const above = await listAncestors(db, scope, folderId);
    return [...above.map(({ name }) => name).reverse(), folder.name];
  }
}
