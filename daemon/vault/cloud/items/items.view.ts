import type { z } from "zod";
import type {
  item as itemSchema,
  itemDetail as detailSchema,
  listing as listingSchema,
} from "../../../contract/vault/cloud/shapes.ts";
import type { CloudItem, ItemCursor } from "../../../../storage/tables/vault/items.ts";
import { toFieldError } from "../field-error.ts";
import { toDownloadPath, type ItemPlace } from "./item-place.ts";
import type { ItemDetail } from "./items.service.ts";
import type { FolderPage } from "./listings.service.ts";

type WireItem = z.input<typeof itemSchema>;

/** An item of a listing on the wire. */
export function toItemView(item: CloudItem): WireItem {
  return {
    id: item.id,
    provider_item_id: item.providerItemId,
    name: item.name,
    kind: item.kind,
    parent_ref: item.parentRef === "" ? null : item.parentRef,
    content_type: item.contentType ?? null,
    size: item.size ?? null,
    modified_at: item.modifiedAt === undefined ? null : toTime(item.modifiedAt),
    etag: item.etag ?? null,
    analysis_status: item.analysisStatus,
    semantic_index_status: item.semanticIndexStatus,
  };
}

/**
 * The detail of an item on the wire. An allowlist of members: no credentials, keys or addresses of the provider.
 */
export function toDetailView(detail: ItemDetail): z.input<typeof detailSchema> {
  const { item, analysis, connection, folders } = detail;
  return {
    ...toItemView(item),
    provider: connection.provider,
    display_name: connection.displayName,
    location: folders.length === 0 ? "/" : folders.map((name) => `/${name}`).join(""),
    extracted_text: analysis.extractedText ?? null,
    topics: [...analysis.topics],
    capabilities: {},
    unsupported_analysis_reason: analysis.unsupportedReason ?? null,
    is_stale: analysis.isStale || item.semanticIndexStatus === "stale",
  };
}

export function toListingView({ state, items, next }: FolderPage): z.input<typeof listingSchema> {
  return {
    parent_ref: state.parentRef,
    refresh_state: state.refreshState,
    error_code: state.errorCode ?? null,
    error_message: state.errorMessage ?? null,
    listed_at: state.listedAt === undefined ? null : toTime(state.listedAt),
    items: items.map(toItemView),
    next_cursor: next === undefined ? null : toCursor(next),
  };
}

/** A cursor as text; opaque to clients. */
function toCursor({ sortKey, id }: ItemCursor): string {
  return `${id}.${Buffer.from(sortKey).toString("base64url")}`;
}

/** Parses the text of a cursor that `toCursor` made. Throws `unprocessable` for any other text. */
export function readCursor(text: string | undefined): ItemCursor | undefined {
  if (text === undefined || text === "") return undefined;
  const match = /^([0-9a-f-]{36})\.([\w-]*)$/.exec(text);
  if (match === null)
    throw toFieldError(["query", "cursor"], "This is not a cursor of a listing", "invalid_cursor");
  const [, id = "", key = ""] = match;
  return { id, sortKey: Buffer.from(key, "base64url") };
}

export function toOpenView(place: ItemPlace) {
  return { kind: "open", url: toDownloadPath(place), reason: "authorized" } as const;
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
