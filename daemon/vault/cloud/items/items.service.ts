import { listAncestors } from "../../../../storage/tables/vault/item-ancestors.ts";
import { insertAudit } from "../../../../storage/tables/vault/audit.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import {
  getItemAnalysis,
  type ItemAnalysis,
} from "../../../../storage/tables/vault/item-analysis.ts";
import { findLiveItem, type CloudItem } from "../../../../storage/tables/vault/items.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import type { ItemPlace } from "./item-place.ts";

/** The recorded details of an item. */
export interface ItemDetail {
  readonly item: CloudItem;
  readonly analysis: ItemAnalysis;
  readonly connection: Connection;
  /** Names of the folders above it, outermost first. */
  readonly folders: readonly string[];
}

export type CloudItems = ReturnType<typeof createItems>;

/** The recorded items, without requests to the provider. Refuses an item that is not recorded with `not_found`. */
export function createItems({ db }: { readonly db: Database }, adapters: Pick<Adapters, "own">) {
  async function get(caller: VaultCaller, place: ItemPlace) {
    const connection = await adapters.own(caller.userId, place.connection_id);
    const item = await findLiveItem(db, connection.id, place.item_id);
    if (item === undefined) throw new AppError("not_found", "Cloud item not found");
    return { connection, item };
  }

  return {
    get,

    /** Notes that an item was opened. */
    async open(caller: VaultCaller, place: ItemPlace): Promise<CloudItem> {
      const { connection, item } = await get(caller, place);
      await db.transaction((tx) =>
        insertAudit(tx, {
          eventType: "cloud.file_opened",
          userId: caller.userId,
          actorId: caller.userId,
          resourceId: item.id,
          ipAddress: caller.address,
          metadata: { connection_id: connection.id, provider_item_id: item.providerItemId },
        }),
      );
      return item;
    },

    async detail(caller: VaultCaller, place: ItemPlace): Promise<ItemDetail> {
      const { connection, item } = await get(caller, place);
      const scope = { connectionId: connection.id, userId: caller.userId };
      const [analysis, ancestors] = await Promise.all([
        getItemAnalysis(db, item.id),
        listAncestors(db, scope, item.providerItemId),
      ]);
      return { item, analysis, connection, folders: ancestors.map(({ name }) => name).reverse() };
    },
  };
}
