import type { ProviderItem } from "../../../storage/cloud/provider.ts";
import type { SeenItem } from "../../../storage/tables/vault/items.ts";

/** What a provider says of an item, as the tables take it. */
export function toSeenItem(item: ProviderItem): SeenItem {
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
