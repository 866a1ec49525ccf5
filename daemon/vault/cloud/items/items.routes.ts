import { getItemDetail, listItems, openItem } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { Cloud } from "../cloud.ts";
import { readCursor, toDetailView, toListingView, toOpenReply } from "./items.view.ts";

/** Routes that look at items and folders. */
export const itemRoutes = ({ items, listings }: Pick<Cloud, "items" | "listings">): Route[] => [
  handle(listItems, async ({ caller, params, query }) => {
    const { parent_ref: parentRef, cursor, limit, refresh, name } = query;
    const request = { parentRef, after: readCursor(cursor), limit, refresh, name };
    const page = await listings.browse(caller, params.connection_id, request);
    return { status: 200, body: toListingView(page) };
  }),
  handle(openItem, async ({ caller, params }) => {
    await items.open(caller, params);
    return toOpenReply(params);
  }),
  handle(getItemDetail, async ({ caller, params }) => ({
    status: 200,
    body: toDetailView(await items.detail(caller, params)),
  })),
];
