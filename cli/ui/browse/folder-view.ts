import { CliError } from "../../errors.ts";
import type { WireConnection } from "../../support/connection.ts";
import type { WireItem } from "../../support/items.ts";
import { createLoad, type LoadState } from "../load.ts";
import { atTop, type ListWindow } from "../scrolling.ts";

/** A place in a connection. */
export interface Place {
  readonly connection: WireConnection;
  /** The folder's id; empty for the top. */
  readonly ref: string;
  /** The names of the folders from the top to this one. */
  readonly path: readonly string[];
}

/** One page of a folder, and the state of its listing. */
export interface FolderPage {
  readonly items: readonly WireItem[];
  readonly next_cursor: string | null;
  readonly refresh_state: "never" | "fresh" | "warning" | "failed";
  readonly error_message: string | null;
  readonly listed_at: string | null;
}

export interface PageRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
  /** Request a new listing from the storage. */
  readonly refresh: boolean;
}

/** The loaded part of a folder of any size: pages are loaded as the cursor moves on. */
export interface FolderView extends LoadState {
  readonly place: Place;
  readonly items: readonly WireItem[];
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly state: Pick<FolderPage, "refresh_state" | "error_message" | "listed_at"> | undefined;
  /** Of the rows: the items that no filter hides. */
  window: ListWindow;
  /** Reloads the loaded part of the folder; the cursor stays on its item. */
  load(refresh: boolean): Promise<void>;
  /** Loads the next page, unless it is being loaded. */
  loadMore(): Promise<void>;
  /** Puts the cursor on the item of this id, if it is among the rows. */
  choose(id: string): void;
}

/** The first page is small so that it appears at once; the others have the vault's maximum size. */
const firstPageItems = 200;
const pageItems = 1000;

interface FolderViewDeps {
  readonly list: (place: Place, page: PageRequest) => Promise<FolderPage>;
  /** Returns those of the items that the view shows. */
  readonly filter: (view: FolderView) => readonly WireItem[];
  /** Called when there is something else to show. */
  readonly notify: () => void;
}

export function createFolderView(
  place: Place,
  { list, filter, notify }: FolderViewDeps,
): FolderView {
  let items: readonly WireItem[] = [];
  let cursor: string | null = null;
  const loading = createLoad(notify);
  let state: FolderView["state"];

  const view: FolderView = {
    place,
    window: atTop,
    get items() {
      return items;
    },
    get hasMore() {
      return cursor !== null;
    },
    get isLoading() {
      return loading.isLoading;
    },
    get wasLoaded() {
      return loading.wasLoaded;
    },
    get failure() {
      return loading.failure ?? toListingFailure(state);
    },
    get state() {
      return state;
    },
    load: (refresh) =>
      loading.run(async (isCurrent) => {
        const loadedCount = items.length;
        const limit = loadedCount > firstPageItems ? pageItems : firstPageItems;
        const first = await list(place, { cursor: undefined, limit, refresh });
        const found = [...first.items];
        let next = first.next_cursor;
        while (next !== null && found.length < loadedCount && isCurrent()) {
          const page = await list(place, { cursor: next, limit: pageItems, refresh: false });
          found.push(...page.items);
          next = page.next_cursor;
        }
        if (!isCurrent()) return;
        // The person may have moved meanwhile.
        const chosen = filter(view)[view.window.cursor]?.provider_item_id;
        items = found;
        cursor = next;
        state = first;
        if (chosen !== undefined) view.choose(chosen);
      }),
    async loadMore() {
      const from = cursor;
      if (loading.isLoading || from === null) return;
      await loading.run(async (isCurrent) => {
        const page = await list(place, { cursor: from, limit: pageItems, refresh: false });
        if (!isCurrent()) return;
        items = [...items, ...page.items];
        cursor = page.next_cursor;
      });
    },
    choose(id) {
      const found = filter(view).findIndex(({ provider_item_id: one }) => one === id);
      if (found >= 0) view.window = { ...view.window, cursor: found };
    },
  };
  return view;
}

/** The storage could not list the folder, so the items are those of its last listing. */
function toListingFailure(state: FolderView["state"]): CliError | undefined {
  if (state?.refresh_state !== "failed" && state?.refresh_state !== "never") return undefined;
  return new CliError(
    "provider_failed",
    state.error_message ?? "The storage could not list this folder.",
  );
}
