import type { WireConnection } from "../../support/connection.ts";
import type { WireItem } from "../../support/items.ts";
import { createLoad } from "../load.ts";
import { atTop, type ListWindow, moveTo } from "../scrolling.ts";
import {
  createFolderView,
  type FolderPage,
  type FolderView,
  type PageRequest,
  type Place,
} from "./folder-view.ts";

/** Access to the connections and folders, and where to start. */
export interface LocationDeps {
  readonly connections: () => Promise<readonly WireConnection[]>;
  readonly list: (place: Place, page: PageRequest) => Promise<FolderPage>;
  /** The start: the folders from the root of a connection downwards; empty for the list of connections. */
  readonly start: readonly Place[];
  /** The item that the cursor begins on. */
  readonly startItem: string | undefined;
}

/** The next page is loaded when the cursor is this near to the end. */
const loadAheadRows = 50;
/** Maximum number of items that are loaded for a filter; the vault allows a hundred requests a minute. */
const lookThroughMax = 20_000;

/**
 * The current location: the list of connections or a folder, its visible rows, and the selected row.
 * @param notify is called when there is something else to show
 */
export function createLocation(deps: LocationDeps, notify: () => void) {
  let stack: readonly FolderView[] = deps.start.map(toView);
  const connectionsLoad = createLoad(notify);
  let connections: readonly WireConnection[] = [];
  let connectionsWindow: ListWindow = atTop;
  let selected: ReadonlySet<string> = new Set();
  let words = "";
  let height = 10;

  return {
    /** Empty until they are loaded. */
    get connections() {
      return connections;
    },
    /** Of the shown folder, or of the connections. */
    get load() {
      return stack.at(-1) ?? connectionsLoad;
    },
    /** The folders from the top to the one that is shown; empty in the list of connections. */
    get stack() {
      return stack;
    },
    /** The folder that is shown; undefined in the list of connections. */
    get folder() {
      return stack.at(-1);
    },
    /** The items of the folder that have every word of the filter in their names. */
    get rows() {
      return rows();
    },
    get window() {
      return cursorWindow();
    },
    /** The filter. */
    get words() {
      return words;
    },
    /** Ids of items of the folder. */
    get selected() {
      return selected;
    },
    /** Sets the number of visible rows and scrolls as little as possible. */
    fitInto(rowsMax: number) {
      height = rowsMax;
      placeCursor(cursorWindow().cursor);
    },
    /** Loads the first page; resolves when the load has succeeded or failed. */
    async loadFirst() {
      const view = stack.at(-1);
      if (view === undefined) return loadConnections();
      await view.load(false);
      if (deps.startItem !== undefined) view.choose(deps.startItem);
      notify();
    },
    /** Reloads the folder or the connections. */
    refresh() {
      const view = stack.at(-1);
      if (view === undefined) void loadConnections();
      else void view.load(true);
    },
    moveCursor,
    /** Goes into the connection or folder under the cursor. Returns the file if the cursor is on one. */
    enter(): WireItem | undefined {
      const view = stack.at(-1);
      if (view === undefined) {
        const connection = connections[connectionsWindow.cursor];
        if (connection !== undefined) open({ connection, ref: "", path: [] });
        return undefined;
      }
      const item = rows()[view.window.cursor];
      if (item?.kind !== "folder") return item;
      const { connection, path } = view.place;
      showAll();
      open({ connection, ref: item.provider_item_id, path: [...path, item.name] });
      return undefined;
    },
    goUp() {
      showAll();
      stack = stack.slice(0, -1);
      const above = stack.at(-1);
      if (above === undefined && !connectionsLoad.wasLoaded) void loadConnections();
      if (above?.wasLoaded === false) {
        const below = deps.start[stack.length];
        void above.load(false).then(() => {
          if (below !== undefined) above.choose(below.ref);
          notify();
        });
      }
    },
    /** Shows the items with these words in their names only. */
    narrow(text: string) {
      words = text;
      placeCursor(0);
      lookFurther();
    },
    /** Toggles the selection of the item and moves to the next one. */
    toggle(item: WireItem | undefined) {
      if (item === undefined) return;
      const next = new Set(selected);
      if (!next.delete(item.provider_item_id)) next.add(item.provider_item_id);
      selected = next;
      moveCursor(cursorWindow().cursor + 1);
    },
    unselect() {
      selected = new Set();
    },
    /** Shows all items and clears the selection; the cursor stays on its item. */
    showAll,
  };

  function toView(place: Place): FolderView {
    return createFolderView(place, {
      list: deps.list,
      filter: (view) => (view === stack.at(-1) ? rows() : view.items),
      notify: () => {
        lookFurther();
        notify();
      },
    });
  }

  function open(place: Place): void {
    const view = toView(place);
    stack = [...stack, view];
    void view.load(false);
  }

  function showAll(): void {
    const view = stack.at(-1);
    const chosen = view === undefined ? undefined : rows()[view.window.cursor];
    selected = new Set();
    words = "";
    if (chosen !== undefined) view?.choose(chosen.provider_item_id);
  }

  function rows(): readonly WireItem[] {
    const items = stack.at(-1)?.items ?? [];
    const filterWords = words
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    if (filterWords.length === 0) return items;
    return items.filter(({ name }) =>
      filterWords.every((word) => name.toLowerCase().includes(word)),
    );
  }

  function cursorWindow(): ListWindow {
    return stack.at(-1)?.window ?? connectionsWindow;
  }

  function placeCursor(at: number): void {
    const view = stack.at(-1);
    const count = view === undefined ? connections.length : rows().length;
    const window = moveTo(cursorWindow(), at, count, height);
    if (view === undefined) connectionsWindow = window;
    else view.window = window;
  }

  function moveCursor(to: number): void {
    placeCursor(to);
    const view = stack.at(-1);
    if (view !== undefined && cursorWindow().cursor >= rows().length - loadAheadRows)
      void view.loadMore();
  }

  /** The filter searches loaded items only: load more until the screen is full or enough items have been searched. */
  function lookFurther(): void {
    const view = stack.at(-1);
    if (words === "" || view === undefined || view.isLoading) return;
    if (view.failure === undefined && rows().length < height && view.items.length < lookThroughMax)
      void view.loadMore();
  }

  function loadConnections(): Promise<void> {
    return connectionsLoad.run(async (isCurrent) => {
      const found = await deps.connections();
      if (isCurrent()) connections = found;
    });
  }
}
