import type { Failure } from "./outcomes.ts";
import { LISTING_ITEMS_MAX } from "./provider.ts";
import type { ProviderItem } from "./item.ts";

/** The texts of an item that count towards `CHARACTERS_MAX`. */
type Weighed = Pick<ProviderItem, "id" | "name"> &
  Partial<Pick<ProviderItem, "contentType" | "etag" | "version">>;

/** Maximum number of characters of all items, because a listing is in memory until it is complete. */
const CHARACTERS_MAX = 64 * 1024 * 1024;
/** Pages in a row without a new item. Some services return empty ones now and then. */
const IDLE_PAGES_MAX = 1_000;

/**
 * Accumulates at most `itemsMax` items, and fails for a service whose pages never end. Accumulates the items of a
 * paginated listing.
 */
export function createListedItems<T>(itemsMax = LISTING_ITEMS_MAX) {
  const found = new Map<string, T>();
  let added = 0;
  let characters = 0;
  let sizeBefore = 0;
  let idlePages = 0;
  return {
    /** Stores a value by the id of its item and replaces an earlier one. Returns a failure when the listing is too large. */
    add(item: Weighed, value: T): Failure | undefined {
      found.set(item.id, value);
      added += 1;
      characters += weigh(item);
      // A server that repeats items without end costs time as well. Pages may overlap while a folder changes.
      return added > 2 * itemsMax || found.size > itemsMax || characters > CHARACTERS_MAX
        ? { kind: "unsupported", reason: "folder_too_large" }
        : undefined;
    },

    /** Call it after each page. Returns a failure when too many pages in a row bring no new item. */
    endPage(): Failure | undefined {
      idlePages = found.size === sizeBefore ? idlePages + 1 : 0;
      sizeBefore = found.size;
      return idlePages > IDLE_PAGES_MAX
        ? { kind: "offline", sent: true, note: "listing_without_end" }
        : undefined;
    },

    get size() {
      return found.size;
    },
    values: (): readonly T[] => [...found.values()],
  };
}

function weigh({ id, name, contentType = "", etag = "", version = "" }: Weighed): number {
  return id.length + name.length + contentType.length + etag.length + version.length;
}
