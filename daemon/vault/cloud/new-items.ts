import type { ProviderItem } from "../../../storage/cloud/provider.ts";
import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  findLiveItem,
  findLiveItemByRow,
  recordItem,
  type CloudItem,
  type ItemOwner,
} from "../../../storage/tables/vault/items.ts";
import { toSeenItem } from "./seen-item.ts";

/** The folder that something is made in, as it was known before; undefined for the root and for one that nobody listed. */
export type KnownParent = CloudItem | undefined;

/** What is known of a folder before something is made in it. */
export async function findParent(
  db: Queries,
  connectionId: string,
  parentRef: string,
): Promise<KnownParent> {
  return parentRef === "" ? undefined : findLiveItem(db, connectionId, parentRef);
}

/**
 * Records what a provider has made in a folder. While it did, the folder may have been renamed or deleted through the
 * service: then the item is recorded where it is by now, or not at all (undefined).
 */
export async function recordNewItem(
  tx: Transaction,
  owner: ItemOwner,
  made: ProviderItem,
  parent: KnownParent,
): Promise<CloudItem | undefined> {
  if (parent === undefined) return recordItem(tx, owner, toSeenItem(made));
  const now = await findLiveItemByRow(tx, parent.id);
  if (now === undefined) return undefined;
  if (now.providerItemId === made.parent) return recordItem(tx, owner, toSeenItem(made));
  // Only ids that are paths change with their folder.
  const id = `${now.providerItemId}/${made.name}`;
  return recordItem(tx, owner, {
    ...toSeenItem(made),
    providerItemId: id,
    parentRef: now.providerItemId,
  });
}
