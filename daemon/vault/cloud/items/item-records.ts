import type { ProviderItem } from "../../../../storage/cloud/item.ts";
import type { Queries, Transaction } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { rekeyFolders } from "../../../../storage/tables/vault/folders.ts";
import { rekeyItems } from "../../../../storage/tables/vault/item-paths.ts";
import {
  findLiveItem,
  findLiveItemByRow,
  recordItem,
  type CloudItem,
  type ItemOwner,
  type ItemMetadata,
} from "../../../../storage/tables/vault/items.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** Converts an item of a provider for the tables. */
export function toItemMetadata(item: ProviderItem): ItemMetadata {
  return {
    providerItemId: item.id,
    name: item.name,
    kind: item.kind,
    parentRef: item.parent,
    contentType: item.contentType,
    size: item.size,
    modifiedAt: item.modifiedAt,
    etag: item.etag,
    version: item.version,
  };
}

/** Returns the owner of a connection's items for the tables. */
export function toItemOwner(connection: Connection, newId: () => string): ItemOwner {
  return { connectionId: connection.id, userId: connection.userId, newId };
}

/** The recorded parent folder of a new item; undefined for the root and for a folder that was never listed. */
export type KnownParent = CloudItem | undefined;

/** The records of a folder before an item is created in it. */
export async function findParent(
  db: Queries,
  connectionId: ConnectionId,
  parentRef: string,
): Promise<KnownParent> {
  return parentRef === "" ? undefined : findLiveItem(db, connectionId, parentRef);
}

/**
 * Records an item that a provider has created in a folder. If the folder was renamed or deleted through the service
 * meanwhile, the item is recorded at its present path, or not at all (undefined).
 */
export async function recordNewItem(
  tx: Transaction,
  owner: ItemOwner,
  created: ProviderItem,
  parent: KnownParent,
): Promise<CloudItem | undefined> {
  if (parent === undefined) return recordItem(tx, owner, toItemMetadata(created));
  const now = await findLiveItemByRow(tx, parent.id);
  if (now === undefined) return undefined;
  if (now.providerItemId === created.parent) return recordItem(tx, owner, toItemMetadata(created));
  // Only ids that are paths change with their folder.
  const id = `${now.providerItemId}/${created.name}`;
  return recordItem(tx, owner, {
    ...toItemMetadata(created),
    providerItemId: id,
    parentRef: now.providerItemId,
  });
}

/** Moves the rows of an item and its descendants to the path at the provider. */
export async function relocateItem(
  tx: Transaction,
  owner: ItemOwner,
  itemId: string,
  item: ProviderItem,
): Promise<CloudItem> {
  if (item.id !== itemId) {
    await rekeyItems(tx, owner.connectionId, itemId, item.id);
    await rekeyFolders(tx, owner.connectionId, itemId, item.id);
  }
  return recordItem(tx, owner, toItemMetadata(item));
}
