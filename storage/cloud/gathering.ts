import type { Failure } from "./outcomes.ts";
import { LISTING_ITEMS_MAX, type ProviderItem } from "./provider.ts";

/** What has come of a listing so far, page by page. */
export interface Gathering<T> {
  /** Keeps a value under the id of its item, the last that has it. A failure when it has become too much. */
  add(item: ProviderItem, value: T): Failure | undefined;
  /** To be called behind each page. A failure when the listing goes on without bringing anything. */
  endPage(): Failure | undefined;
  readonly size: number;
  values(): readonly T[];
}

/** Characters of all items: a listing is held in memory until it is whole. */
const CHARACTERS_MAX = 256 * 1024 * 1024;
/** Pages in a row without anything new. Some services give empty ones now and then. */
const IDLE_PAGES_MAX = 1_000;

/** Gathers at most so many items; services that never come to an end are given up. */
export function createGathering<T>(itemsMax = LISTING_ITEMS_MAX): Gathering<T> {
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
