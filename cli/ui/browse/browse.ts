// cli/ui/browse: the browser of connected storages. This file is what the keys do, browse-actions.ts what they change,
// folder-view.ts a folder page by page, transfers.ts what runs meanwhile, browse-view.ts how it looks, and the command
// (cli/commands/vault/item/browse.ts) how the daemon and the disk are asked. May import: cli/ui, output, errors and the
// types of commands. Start here.
import type { WireConnection } from "../../commands/vault/connection/connection-columns.ts";
import type { WireItem } from "../../commands/vault/find-item.ts";
import { type CliError, toCliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { createChanges } from "../changes.ts";
import { createErrands } from "../errands.ts";
import type { Key } from "../keys.ts";
import { atTop, type ListWindow, moveOf, moveTo } from "../list-window.ts";
import { createOverlays } from "../overlays.ts";
import type { ScreenModel, Size } from "../screen.tsx";
import { createBrowseActions } from "./browse-actions.ts";
import {
  type BrowseState,
  drawBrowse,
  help,
  layOutPreview,
  listHeight,
  type Preview,
} from "./browse-view.ts";
import {
  createFolderView,
  type FolderPage,
  type FolderView,
  type PageRequest,
  type Place,
} from "./folder-view.ts";
import { createTransfers, type TransferReport } from "./transfers.ts";

/** How the browser reaches the daemon and the disk. */
export interface BrowseDeps {
  readonly connections: () => Promise<readonly WireConnection[]>;
  readonly list: (place: Place, page: PageRequest) => Promise<FolderPage>;
  /** Resolves to the name that the folder got. */
  readonly mkdir: (
    place: Place,
    name: string,
  ) => Promise<{ readonly id: string; readonly name: string }>;
  /** Resolves to the item's id, which may be another one. */
  readonly rename: (place: Place, item: WireItem, name: string) => Promise<string>;
  readonly move: (place: Place, item: WireItem, target: Place) => Promise<void>;
  /** Resolves to whether the storage's trash has it. */
  readonly remove: (place: Place, item: WireItem) => Promise<boolean>;
  readonly preview: (place: Place, item: WireItem) => Promise<Preview["text"]>;
  /** Saves an item into a local folder; resolves to the path. */
  readonly download: (
    place: Place,
    item: WireItem,
    folder: string,
    report: TransferReport,
    signal: AbortSignal,
  ) => Promise<string>;
  /** Resolves to the name and id that the file got. */
  readonly upload: (
    place: Place,
    path: string,
    report: TransferReport,
    signal: AbortSignal,
  ) => Promise<{ readonly id: string; readonly name: string }>;
  /** The path with as much added as is certain. */
  readonly completePath: (path: string) => Promise<string>;
  readonly style: Style;
  readonly clock: () => number;
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Where to begin: the places from the top of a connection to a folder; empty for the list of connections. */
  readonly start: readonly Place[];
  /** The item that the cursor begins on. */
  readonly startItem: string | undefined;
}

/** The browser as a screen. */
export interface Browse extends ScreenModel {
  /** Loads what is shown first; resolves when that is over, well or not. */
  reload(): Promise<void>;
  /** Stops all transfers, and resolves when nothing half is left of them. */
  stop(): Promise<void>;
  /** The time has gone on: ages are others. */
  tick(): void;
}

/** The next page is asked for when the cursor is so near to the end. */
const loadAheadRows = 50;
/** Items that a name is looked for in; the vault answers a hundred requests a minute. */
const lookThroughMax = 20_000;

export function createBrowse(deps: BrowseDeps): Browse {
  const { clock, style } = deps;
  const changes = createChanges();
  const errands = createErrands(changes.announce);
  const overlays = createOverlays(changes.announce);
  const transfers = createTransfers({ clock, pause: deps.pause, announce: changes.announce });
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>();
  let stack: readonly FolderView[] = deps.start.map(toView);
  let connections: readonly WireConnection[] | undefined;
  let connectionsFailure: CliError | undefined;
  let connectionsWindow: ListWindow = atTop;
  let selected: ReadonlySet<string> = new Set();
  let picked: { readonly place: Place; readonly items: readonly WireItem[] } | undefined;
  let words = "";
  let preview: Preview | undefined;
  let height = 10;
  let wasShown = false;
  const actions = createBrowseActions({
    deps,
    errands,
    overlays,
    transfers,
    stack: () => stack,
    unselect: () => {
      selected = new Set();
    },
  });

  return {
    left,
    subscribe: changes.subscribe,
    tick: changes.announce,
    stop: transfers.stop,
    async reload() {
      const view = stack.at(-1);
      if (view === undefined) return loadConnections();
      await view.load(false);
      if (deps.startItem !== undefined) view.choose(deps.startItem);
      changes.announce();
    },
    draw(size: Size) {
      const state = stateOf();
      height = listHeight(state, size);
      placeCursor(cursorWindow().cursor);
      if (preview !== undefined) preview = layOutPreview(preview, size, style, clock());
      overlays.limitHelp(help.lines(size, style).length - height);
      const { helpTop } = overlays;
      return drawBrowse(
        { ...state, window: cursorWindow(), preview, helpTop },
        size,
        style,
        clock(),
      );
    },
    press,
  };

  function toView(place: Place): FolderView {
    return createFolderView(place, deps.list, () => {
      lookFurther();
      changes.announce();
    });
  }

  function stateOf(): BrowseState {
    const view = stack.at(-1);
    return {
      connections,
      connectionsFailure,
      folder: view,
      rows: rows(),
      window: cursorWindow(),
      selected,
      picked: picked?.items.length ?? 0,
      words,
      transfers: transfers.list,
      message: errands.message,
      question: overlays.question,
      preview,
      helpTop: overlays.helpTop,
    };
  }

  /** The items that have every word of the filter in their names. */
  function rows(): readonly WireItem[] {
    const items = stack.at(-1)?.items ?? [];
    const wanted = words
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    if (wanted.length === 0) return items;
    return items.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)));
  }

  function cursorWindow(): ListWindow {
    return stack.at(-1)?.window ?? connectionsWindow;
  }

  function placeCursor(at: number): void {
    const view = stack.at(-1);
    const count = view === undefined ? (connections?.length ?? 0) : rows().length;
    const window = moveTo(cursorWindow(), at, count, height);
    if (view === undefined) connectionsWindow = window;
    else view.window = window;
  }

  async function loadConnections(): Promise<void> {
    try {
      connections = await deps.connections();
      connectionsFailure = undefined;
    } catch (error) {
      connectionsFailure = toCliError(error);
    }
    changes.announce();
  }

  function press(key: Key): void {
    wasShown ||= stack.at(-1)?.wasLoaded === true || connections !== undefined;
    if (!overlays.take(key, height)) {
      if (preview !== undefined) pressInPreview(key, preview);
      else pressInList(key);
    }
    changes.announce();
  }

  function pressInPreview(key: Key, shown: Preview): void {
    const name = key.kind === "key" ? key.name : key.text;
    const moved = moveOf(key, { cursor: shown.top, top: 0 }, height);
    if (moved !== undefined) preview = { ...shown, top: Math.max(0, moved) };
    else if (name === " ") preview = { ...shown, top: shown.top + height - 1 };
    else if (name === "d") actions.download(shown.place, [shown.item]);
    else if (name === "?") overlays.openHelp();
    else if (
      name === "left" ||
      name === "h" ||
      name === "escape" ||
      name === "q" ||
      name === "backspace"
    )
      preview = undefined;
  }

  function pressInList(key: Key): void {
    errands.hush();
    const name = key.kind === "key" ? key.name : key.text;
    const moved = moveOf(key, cursorWindow(), height);
    if (moved !== undefined) moveCursor(moved);
    else if (name === "q") askToLeave();
    else if (name === "?") overlays.openHelp();
    else if (name === "enter" || name === "right" || name === "l") enter();
    else if (name === "R" || name === "refresh") refresh();
    else if (name === "c") actions.stopTransfers();
    else {
      const view = stack.at(-1);
      if (view !== undefined) pressInFolder(name, view);
    }
  }

  function pressInFolder(name: string, view: FolderView): void {
    const { place } = view;
    const current = rows()[view.window.cursor];
    const marked = view.items.filter(({ provider_item_id: id }) => selected.has(id));
    const chosen = marked.length > 0 ? marked : current === undefined ? [] : [current];
    if (name === "left" || name === "h" || name === "backspace") goUp();
    else if (name === "escape") stepBack();
    else if (name === " ") toggle(current);
    else if (name === "/") find();
    else if (name === "n") actions.makeFolder(view);
    else if (name === "u") actions.upload(view);
    else if (name === "m") pickOrMove(place, chosen);
    else if (chosen.length === 0) return;
    else if (name === "d") actions.download(place, chosen);
    else if (name === "x" || name === "delete") actions.remove(view, chosen);
    else if (name === "r" && current !== undefined) actions.rename(view, current);
  }

  /** The first time it picks items up, the second time it puts them into the folder that is shown. */
  function pickOrMove(place: Place, chosen: readonly WireItem[]): void {
    const moving = picked;
    selected = new Set();
    picked = moving === undefined && chosen.length > 0 ? { place, items: chosen } : undefined;
    if (moving !== undefined) actions.move(moving.items, moving.place, place);
  }

  function moveCursor(to: number): void {
    placeCursor(to);
    const view = stack.at(-1);
    if (view !== undefined && cursorWindow().cursor >= rows().length - loadAheadRows)
      void view.loadMore();
  }

  function enter(): void {
    const view = stack.at(-1);
    if (view === undefined) {
      const connection = connections?.[connectionsWindow.cursor];
      if (connection !== undefined) open({ connection, ref: "", path: [] });
      return;
    }
    const item = rows()[view.window.cursor];
    if (item?.kind === "folder")
      open({
        connection: view.place.connection,
        ref: item.provider_item_id,
        path: [...view.place.path, item.name],
      });
    else if (item !== undefined) show(view.place, item);
  }

  function open(place: Place): void {
    const view = toView(place);
    stack = [...stack, view];
    narrowNothing();
    void view.load(false);
  }

  function goUp(): void {
    stack = stack.slice(0, -1);
    narrowNothing();
    const above = stack.at(-1);
    if (above === undefined && connections === undefined) void loadConnections();
    if (above?.wasLoaded === false) {
      const below = deps.start[stack.length];
      void above.load(false).then(() => {
        if (below !== undefined) above.choose(below.ref);
        changes.announce();
      });
    }
  }

  function narrowNothing(): void {
    selected = new Set();
    words = "";
  }

  function stepBack(): void {
    if (picked !== undefined) picked = undefined;
    else if (selected.size > 0) selected = new Set();
    else if (words !== "") words = "";
    else goUp();
  }

  function toggle(item: WireItem | undefined): void {
    if (item === undefined) return;
    const next = new Set(selected);
    if (!next.delete(item.provider_item_id)) next.add(item.provider_item_id);
    selected = next;
    moveCursor(cursorWindow().cursor + 1);
  }

  function find(): void {
    const onChange = (text: string) => {
      words = text.trim();
      placeCursor(0);
      lookFurther();
    };
    const onEscape = () => onChange("");
    overlays.ask({ label: "Find:", text: words, onEnter: onChange, onChange, onEscape });
  }

  /** Names are looked for in what is loaded: more is, until the screen is full or enough has been looked through. */
  function lookFurther(): void {
    const view = stack.at(-1);
    if (words === "" || view === undefined || view.isLoading) return;
    if (view.failure === undefined && rows().length < height && view.items.length < lookThroughMax)
      void view.loadMore();
  }

  function refresh(): void {
    const view = stack.at(-1);
    if (view === undefined) void loadConnections();
    else void view.load(true);
  }

  function askToLeave(): void {
    const { failure } = stack.at(-1) ?? { failure: connectionsFailure };
    const running = transfers.list.length;
    if (running > 0)
      overlays.confirm(
        `Leave, and stop ${running === 1 ? "a transfer" : `${running} transfers`}?`,
        leave,
      );
    // Somebody who never saw anything is told once more, on the terminal that stays, why.
    else if (!wasShown && failure !== undefined) fail(failure);
    else leave();
  }

  function show(place: Place, item: WireItem): void {
    preview = { place, item, text: undefined, problem: undefined, top: 0 };
    const update = (change: Partial<Preview>) => {
      if (preview?.item === item) preview = { ...preview, ...change };
      changes.announce();
    };
    deps.preview(place, item).then(
      (text) => update({ text }),
      (error: unknown) => update({ problem: toCliError(error) }),
    );
  }
}
