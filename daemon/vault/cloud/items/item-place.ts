import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** The connection and id of a route's item. */
export interface ItemPlace {
  readonly connection_id: ConnectionId;
  readonly item_id: string;
}

/** The service's own address of an item's bytes. */
export function toDownloadPath({ connection_id, item_id }: ItemPlace): string {
  const segments = item_id.split("/");
  const isPlain = segments.every(
    (segment) => segment !== "" && segment !== "." && segment !== "..",
  );
  // Clients and proxies would normalize away an empty or dot segment, so slashes are encoded, too.
  const item = isPlain ? segments.map(encodeURIComponent).join("/") : encodeURIComponent(item_id);
  return `/api/cloud/connections/${connection_id}/items/${item}/download`;
}
