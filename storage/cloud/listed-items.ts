import type { Failure } from "./outcomes.ts";
import { LISTING_ITEMS_MAX, type ProviderItem } from "./provider.ts";

/** The items of a listing that is read page by page. */
export interface ListedItems<T> {
  /** Keeps a value by the id of its item; a later one replaces it. Returns a failure when the listing is too large. */
  add(item: ProviderItem, value: T): Failure | undefined;
  /** Call it after each page. Returns a failure when pages keep coming without anything new. */
  endPage(): Failure | undefined;
  readonly size: number;
  values(): readonly T[];
}

/** Characters of all items: a listing is held in memory until it is whole. */
const CHARACTERS_MAX = 256 * 1024 * 1024;
/** Pages in a row without anything new. Some services give empty ones now and then. */
const IDLE_PAGES_MAX = 1_000;

/** Accumulates at most `itemsMax` items, and gives up on a service whose pages never end. */
export function createListedItems<T>(itemsMax = LISTING_ITEMS_MAX): ListedItems<T> {
  const found = new Map<string, T>();
  let characters = 0;
  let sizeBefore = 0;
  let idlePages = 0;
  return {
    add(item, value) {
      found.set(item.id, value);
      characters += weigh(item);
      return found.size > itemsMax || characters > CHARACTERS_MAX
        ? { kind: "unsupported", reason: "folder_too_large" }
        : undefined;
    },

    endPage() {
      idlePages = found.size === sizeBefore ? idlePages + 1 : 0;
      sizeBefore = found.size;
      return idlePages > IDLE_PAGES_MAX
        ? { kind: "offline", sent: true, note: "listing_without_end" }
        : undefined;
    },

    get size() {
      return found.size;
    },
    values: () => [...found.values()],
  };
}

function weigh({ id, name, contentType = "", etag = "", version = "" }: ProviderItem): number {
  return id.length + name.length + contentType.length + etag.length + version.length;
}
