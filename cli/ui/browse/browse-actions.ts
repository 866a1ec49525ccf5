import { toCliError } from "../../errors.ts";
import type { WireItem } from "../../support/items.ts";
import type { TaskQueue } from "../task-queue.ts";
import type { Dialogs } from "../dialogs.ts";
import type { FolderView, Place } from "./folder-view.ts";
import type { TransferReport, Transfers } from "./transfers.ts";

/** Operations on the storage and the disk. */
export interface BrowseActionsDeps {
  /** Resolves to the name that the folder got. */
  readonly mkdir: (
    place: Place,
    name: string,
  ) => Promise<{ readonly id: string; readonly name: string }>;
  /** Resolves to the item's id, which may change. */
  readonly rename: (place: Place, item: WireItem, name: string) => Promise<string>;
  readonly move: (place: Place, item: WireItem, target: Place) => Promise<void>;
  /** Resolves to whether the storage's trash has it. */
  readonly remove: (place: Place, item: WireItem) => Promise<boolean>;
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
  /** Completes the path as far as it is unambiguous. */
  readonly completePath: (path: string) => Promise<string>;
}

interface ActionsOptions {
  readonly deps: BrowseActionsDeps;
  readonly tasks: TaskQueue;
  readonly dialogs: Dialogs;
  readonly transfers: Transfers;
  /** The folders from the top to the one that is shown. */
  readonly stack: () => readonly FolderView[];
  /** Clears the selection. */
  readonly unselect: () => void;
}

/** Actions that change local files and the storage. Each reports its own outcome. */
export function createBrowseActions({
  deps,
  tasks: { attempt, say },
  dialogs,
  transfers,
  stack,
  unselect,
}: ActionsOptions) {
  const complete = deps.completePath;

  return {
    makeFolder(view: FolderView) {
      const onEnter = (text: string) =>
        attempt(async () => {
          const made = await deps.mkdir(view.place, text.trim());
          await view.load(false);
          view.choose(made.id);
          return `Made ${made.name}.`;
        });
      dialogs.ask({ label: "New folder:", enter: "creates the folder", text: "", onEnter });
    },
    rename(view: FolderView, item: WireItem) {
      const onEnter = (name: string) =>
        attempt(async () => {
          if (name === item.name) return;
          const id = await deps.rename(view.place, item, name);
          await view.load(false);
          view.choose(id);
          return `Renamed ${item.name} to ${name}.`;
        });
      dialogs.ask({ label: "New name:", enter: "renames", text: item.name, onEnter });
    },
    move(items: readonly WireItem[], from: Place, to: Place) {
      if (from.ref === to.ref && from.connection.id === to.connection.id)
        return say("They are in this folder already.");
      attempt(async () => {
        const text = await forEach("Moved", items, (item) => deps.move(from, item, to));
        await loadAgain([from, to]);
        return text;
      });
    },
    /** Asks for confirmation. */
    remove(view: FolderView, items: readonly WireItem[]) {
      dialogs.confirm(`Delete ${nameAll(items)}?`, () =>
        attempt(async () => {
          let isTrashed = true;
          const text = await forEach("Deleted", items, async (item) => {
            isTrashed = (await deps.remove(view.place, item)) && isTrashed;
          }).finally(() => loadAgain([view.place]));
          unselect();
          return isTrashed ? `${text} It is in the storage's trash.` : text;
        }),
      );
    },
    /** Prompts for the destination; folders are left out. */
    download(place: Place, items: readonly WireItem[]) {
      const files = items.filter(({ kind }) => kind === "file");
      if (files.length === 0) return say("Only files can be downloaded.", true);
      const onEnter = (folder: string) => {
        unselect();
        for (const item of files)
          background(
            item.name,
            transfers.run("download", item.name, (report, signal) =>
              deps.download(place, item, folder, report, signal),
            ),
            async (path) => `Saved ${path}`,
          );
      };
      const label = files.length === 1 ? "Save into:" : `Save ${files.length} files into:`;
      dialogs.ask({ label, enter: "saves", text: "./", onEnter, complete });
    },
    upload(view: FolderView) {
      const onEnter = (path: string) =>
        background(
          path,
          transfers.run("upload", path, (report, signal) =>
            deps.upload(view.place, path, report, signal),
          ),
          async ({ id, name }) => {
            await loadAgain([view.place]);
            view.choose(id);
            return `Uploaded ${name}.`;
          },
        );
      dialogs.ask({ label: "Upload file:", enter: "uploads", text: "", onEnter, complete });
    },
    stopTransfers() {
      const running = transfers.list.length;
      if (running === 0) return say("No transfer is running.");
      const subject = running === 1 ? "the transfer" : `${running} transfers`;
      dialogs.confirm(`Stop ${subject}?`, () => void transfers.stop());
    },
  };

  /** Starts a background transfer, which reports its outcome when it ends. */
  function background<T>(
    name: string,
    running: Promise<T>,
    finish: (result: T) => Promise<string>,
  ): void {
    running.then(finish).then(say, (error: unknown) => {
      const { message } = toCliError(error);
      say(message.includes(name) ? message : `${name}: ${message}`, true);
    });
  }

  /** Reloads those of these places that are open. */
  async function loadAgain(places: readonly Place[]): Promise<void> {
    const refs = new Set(places.map(({ ref }) => ref));
    const open = stack().filter(({ place, wasLoaded }) => wasLoaded && refs.has(place.ref));
    await Promise.all(open.map((view) => view.load(false)));
  }
}

function nameAll(items: readonly WireItem[]): string {
  const [only] = items;
  if (only === undefined || items.length > 1) return `these ${items.length} items`;
  return only.kind === "folder" ? `${only.name}/ with all that is in it` : only.name;
}

/**
 * Runs `work` on each item until one fails. @throws the error of the first item; later errors become part of the result
 */
async function forEach(
  done: string,
  items: readonly WireItem[],
  work: (item: WireItem) => Promise<void>,
): Promise<string> {
  let count = 0;
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      if (count === 0) throw error;
      return `${done} ${count} of ${items.length}; ${item.name}: ${toCliError(error).message}.`;
    }
    count += 1;
  }
  return items.length === 1 ? `${done} ${items[0]?.name ?? ""}.` : `${done} ${count} items.`;
}
