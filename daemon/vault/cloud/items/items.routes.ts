import { cloudItemEndpoints } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { serveSome } from "../../handle.ts";
import type { CloudItems } from "./items.service.ts";
import type { CloudListings } from "./listings.service.ts";
import { readCursor, toDetailView, toListingView, toOpenView } from "./items.view.ts";

/** Routes that read items and folders. */
export const itemRoutes = ({
  items,
  listings,
}: {
  readonly items: CloudItems;
  readonly listings: CloudListings;
}): Route[] => [
  ...serveSome(cloudItemEndpoints, {
    listItems: async ({ caller, params, query }) => {
      const { parent_ref: parentRef, cursor, limit, refresh, name } = query;
      const request = { parentRef, after: readCursor(cursor), limit, refresh, name };
      const page = await listings.browse(caller, params.connection_id, request);
      return toListingView(page);
    },
    openItem: async ({ caller, params }) => {
      await items.open(caller, params);
      return toOpenView(params);
    },
    getItemDetail: async ({ caller, params }) => toDetailView(await items.detail(caller, params)),
  }),
];
