// cli/ui/browse: the storage browser. browse.ts handles keys, browse-actions.ts changes items, location.ts holds the folder
// and selected row, search-results.ts searches documents and items, folder-view.ts pages through a folder, transfers.ts runs
// uploads and downloads, browse-view.ts and preview.ts draw. cli/commands/vault/item/browse.ts connects it to the daemon and
// the disk. Start here.
import { toCliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import type { WireItem } from "../../support/items.ts";
import { createTaskQueue, createChangeListeners } from "../task-queue.ts";
import type { Key } from "../keys.ts";
import { moveOf } from "../scrolling.ts";
import { createDialogs } from "../dialogs.ts";
import type { ScreenModel, Size } from "../screen.tsx";
import { type BrowseActionsDeps, createBrowseActions } from "./browse-actions.ts";
import { type BrowseState, drawBrowse, help, listHeight, textHeight } from "./browse-view.ts";
import type { FolderView, Place } from "./folder-view.ts";
import { layOutPreview, type Preview } from "./preview.ts";
import { createTransfers } from "./transfers.ts";
import { createLocation, type LocationDeps } from "./location.ts";
import { createSearchResults, type SearchDeps } from "./search-results.ts";

/** Access to the daemon and the disk. */
export interface BrowseDeps extends LocationDeps, BrowseActionsDeps, SearchDeps {
  readonly preview: (place: Place, item: WireItem) => Promise<Preview["text"]>;
  readonly style: Style;
  readonly clock: () => number;
  readonly pause: (milliseconds: number) => Promise<void>;
}

/** The browser as a screen. */
export interface Browse extends ScreenModel {
  /** Reloads the shown place; resolves when the load has succeeded or failed. */
  reload(): Promise<void>;
  /** Stops all transfers, and resolves when their partial files are removed. */
  stop(): Promise<void>;
  /** Updates the displayed ages. */
  tick(): void;
}

export function createBrowse(deps: BrowseDeps): Browse {
  const { clock, style } = deps;
  const changes = createChangeListeners();
  const tasks = createTaskQueue(changes.notify);
  const dialogs = createDialogs(changes.notify);
  const transfers = createTransfers({ clock, pause: deps.pause, notify: changes.notify });
  const at = createLocation(deps, changes.notify);
  const results = createSearchResults(deps, changes.notify);
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>();
  let picked: { readonly place: Place; readonly items: readonly WireItem[] } | undefined;
  let preview: Preview | undefined;
  let height = 10;
  let wasShown = false;
  const actions = createBrowseActions({
    deps,
    tasks,
    dialogs,
    transfers,
    stack: () => at.stack,
    unselect: () => at.unselect(),
  });

  return {
    left,
    subscribe: changes.subscribe,
    tick: changes.notify,
    stop: transfers.stop,
    reload: () => at.loadFirst(),
    draw(size: Size) {
      const state = stateOf();
      height = listHeight(state, size);
      at.fitInto(height);
      if (preview !== undefined)
        preview = layOutPreview(preview, size, textHeight(state, size), style, clock());
      dialogs.limitHelp(help.lines(size, style).length - height);
      const { helpTop, question } = dialogs;
      if (results.isOpen && helpTop === undefined)
        return results.draw({ question, message: tasks.message }, size, style);
      return drawBrowse({ ...state, window: at.window, preview, helpTop }, size, style, clock());
    },
    press,
  };

  function stateOf(): BrowseState {
    return {
      connections: at.connections,
      load: at.load,
      folder: at.folder,
      rows: at.rows,
      window: at.window,
      selected: at.selected,
      picked: picked?.items.length ?? 0,
      words: at.words,
      transfers: transfers.list,
      message: tasks.message,
      question: dialogs.question,
      preview,
      helpTop: dialogs.helpTop,
    };
  }

  function press(key: Key): void {
    wasShown ||= at.load.wasLoaded;
    if (!dialogs.take(key, height)) {
      if (results.isOpen) pressInResults(key);
      else if (preview !== undefined) pressInPreview(key, preview);
      else pressInList(key);
    }
    changes.notify();
  }

  function pressInPreview(key: Key, shown: Preview): void {
    tasks.clearMessage();
    const name = key.kind === "key" ? key.name : key.text;
    const moved = moveOf(key, { cursor: shown.top, top: 0 }, height);
    if (moved !== undefined) preview = { ...shown, top: Math.max(0, moved) };
    else if (name === " ") preview = { ...shown, top: shown.top + height - 1 };
    else if (name === "d") actions.download(shown.place, [shown.item]);
    else if (name === "R" || name === "refresh") show(shown.place, shown.item);
    else if (name === "?") dialogs.openHelp();
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
    tasks.clearMessage();
    const name = key.kind === "key" ? key.name : key.text;
    const moved = moveOf(key, at.window, height);
    if (moved !== undefined) at.moveCursor(moved);
    else if (name === "q") askToLeave();
    else if (name === "?") dialogs.openHelp();
    else if (name === "enter" || name === "right" || name === "l") enter();
    else if (name === "R" || name === "refresh") at.refresh();
    else if (name === "c") actions.stopTransfers();
    else if (name === "/") askToSearch();
    else if (at.folder !== undefined) pressInFolder(name, at.folder);
  }

  function pressInFolder(name: string, view: FolderView): void {
    const { place } = view;
    const current = at.rows[view.window.cursor];
    const marked = view.items.filter(({ provider_item_id: id }) => at.selected.has(id));
    const chosen = marked.length > 0 ? marked : current === undefined ? [] : [current];
    if (name === "left" || name === "h" || name === "backspace") at.goUp();
    else if (name === "escape") stepBack();
    else if (name === " ") at.toggle(current);
    else if (name === "f") find();
    else if (name === "n") actions.makeFolder(view);
    else if (name === "u") actions.upload(view);
    else if (name === "m") pickOrMove(place, chosen);
    else if (chosen.length === 0) return;
    else if (name === "d") actions.download(place, chosen);
    else if (name === "x" || name === "delete") actions.remove(view, chosen);
    else if (name === "r" && current !== undefined) actions.rename(view, current);
  }

  /** The first call picks items up, the second one moves them into the shown folder. */
  function pickOrMove(place: Place, chosen: readonly WireItem[]): void {
    const moving = picked;
    at.unselect();
    picked = moving === undefined && chosen.length > 0 ? { place, items: chosen } : undefined;
    if (moving !== undefined) actions.move(moving.items, moving.place, place);
  }

  function enter(): void {
    const { folder } = at;
    const file = at.enter();
    if (folder !== undefined && file !== undefined) show(folder.place, file);
  }

  function stepBack(): void {
    if (picked !== undefined) picked = undefined;
    else if (at.selected.size > 0) at.unselect();
    else if (at.words !== "") at.showAll();
    else at.goUp();
  }

  function pressInResults(key: Key): void {
    if (results.press(key)) return;
    const name = key.kind === "key" ? key.name : key.text;
    if (name === "/") askToSearch();
    else if (name === "?") dialogs.openHelp();
  }

  function askToSearch(): void {
    const onEnter = (text: string) => results.search(text.trim());
    dialogs.ask({ label: "Search:", enter: "searches", text: results.words, onEnter });
  }

  function find(): void {
    const onChange = (text: string) => at.narrow(text.trim());
    const onEscape = () => onChange("");
    dialogs.ask({
      ...{ label: "Find:", enter: "filters", text: at.words },
      ...{ onEnter: onChange, onChange, onEscape },
    });
  }

  function askToLeave(): void {
    const { failure } = at.load;
    const running = transfers.list.length;
    if (running > 0)
      dialogs.confirm(
        `Leave, and stop ${running === 1 ? "a transfer" : `${running} transfers`}?`,
        leave,
      );
    // When nothing was ever shown, the failure is reported again on the terminal, which stays visible.
    else if (!wasShown && failure !== undefined) fail(failure);
    else leave();
  }

  function show(place: Place, item: WireItem): void {
    preview = { place, item, text: undefined, problem: undefined, top: 0 };
    const update = (change: Partial<Preview>) => {
      if (preview?.item === item) preview = { ...preview, ...change };
      changes.notify();
    };
    deps.preview(place, item).then(
      (text) => update({ text }),
      (error: unknown) => update({ problem: toCliError(error) }),
    );
  }
}
