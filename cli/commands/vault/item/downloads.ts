import { lstat, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun, usageError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { failedTask, type Outcome, type Task } from "../../../support/batch.ts";
import {
  type ItemAddress,
  toAddressText,
  toItemAddress,
  createItemFinder,
  type WireItem,
} from "../../../support/items.ts";
import {
  assertUnmoved,
  createLocalFiles,
  type LocalFolder,
  makeLocalFolder,
  openLocalFolder,
} from "./local-files.ts";
import { createFileNames } from "../../../support/file-names.ts";
import { assertFree } from "../../../support/save-stream.ts";
import { createFolderListings, type FolderListings } from "./remote-folders.ts";
import { findSource, isFolder } from "./lookup.ts";
import { type FileSource, streamItem, toFile } from "./receive-file.ts";
import {
  SMALL_DOWNLOAD_BYTES_MAX,
  createDownloadBatches,
  type DownloadBatches,
} from "./download-batch.ts";
import { saveBytes, saveItem } from "./save-file.ts";
import {
  createLimit,
  isSameFile,
  type Retries,
  trackTransfer,
  type TransferOptions,
} from "./transfer.ts";

/** The outcome of one file. `skipped` is the reason for skipping it. */
export interface Downloaded {
  /** Null when only the response has the name. */
  readonly path: string | null;
  readonly size: number | null;
  readonly skipped: string | null;
}

/** The target of the files of a run. */
type DownloadTarget =
  | { readonly kind: "folder"; readonly folder: LocalFolder }
  | { readonly kind: "new_folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly isSpecial: boolean };

interface DownloadsOptions extends TransferOptions {
  readonly progress: Progress;
  /** Set to fetch small files together in one request. */
  readonly batching: Retries | undefined;
  readonly target: DownloadTarget;
}

/** A remote folder in a walk. */
interface WalkedFolder {
  readonly listings: FolderListings;
  readonly connectionId: string;
  readonly id: string;
  /** Its address without a trailing slash. */
  readonly text: string;
  /** Relative to the downloaded folder; empty for the folder itself. */
  readonly path: string;
  /** Ids of the folders above, so that a folder that contains itself does not loop. */
  readonly above: readonly string[];
}

/** The downloads of one run. */
export function createDownloads(
  cli: CliContext,
  { recursive, skipExisting, transfers, progress, batching, target }: DownloadsOptions,
) {
  const { platform } = cli.system;
  const alone = createLimit(transfers);
  const batches = new Map<string, DownloadBatches>();
  const isPlan = cli.flags.dryRun;
  const files = createLocalFiles();
  const finder = createItemFinder(cli);
  const topNames = createFileNames(platform);
  let top: Promise<LocalFolder> | undefined;

  return {
    /**
     * One task for each file, in the order of the words and of the folders' own listings. Listing and creating folders
     * continues while files are transferred, so that work begins before a large tree is known.
     */
    tasks,
    /** The number of part files that were kept for resuming. */
    get resumableParts() {
      return files.resumableParts.size;
    },
    /** Prints the plan of a dry run. */
    showPlan(outcomes: readonly Outcome<Downloaded>[]): never {
      throw new DryRun({
        downloads: outcomes.map(({ item, value, failure }) => ({
          item,
          ...value,
          error: failure === undefined ? null : { code: failure.code, message: failure.message },
        })),
      });
    },
  };

  async function* tasks(words: readonly string[]): AsyncGenerator<Task<Downloaded>> {
    for (const word of words) {
      try {
        yield* tasksOf(word, toItemAddress(word));
      } catch (error) {
        yield failedTask(word, error);
      }
    }
    if (recursive) progress.expectNoMore();
  }

  async function* tasksOf(word: string, address: ItemAddress): AsyncGenerator<Task<Downloaded>> {
    const found = await findSource(cli, finder, address);
    if (!isFolder(found)) {
      const file = await toFile(cli, word, found);
      const place = await toPlace(file.name);
      yield { item: word, run: () => save(file, found.item, place, file.name) };
      return;
    }
    if (!recursive)
      throw usageError(`${word} is a folder`, "--recursive downloads it with everything in it");
    const folder = await openTop();
    const start = {
      listings: createFolderListings(cli, found.connection.id, { refresh: true }),
      connectionId: found.connection.id,
      id: found.id,
      text: toText(word, address),
      path: found.item?.name ?? "",
      above: [],
    };
    // The root of a connection has no name: its items go directly into the target.
    if (found.item === undefined) return yield* walk(start, folder, topNames);
    const [name = "_"] = topNames.takeAll([found.item.name]);
    yield* walk(start, await makeLocalFolder(folder, name, isPlan), createFileNames(platform));
  }

  async function* walk(
    place: WalkedFolder,
    folder: LocalFolder,
    names: ReturnType<typeof createFileNames>,
  ): AsyncGenerator<Task<Downloaded>> {
    const { items, failure } = await place.listings.read(place.id);
    // Parts of an earlier download may still be there.
    if (failure !== undefined) yield failedTask(`${place.text}/`, failure);
    const localNames = names.takeAll(items.map(({ name }) => name));
    for (const [index, item] of items.entries()) {
      const name = localNames[index] ?? "_";
      const text = `${place.text}/${item.name}`;
      const path = place.path === "" ? item.name : `${place.path}/${item.name}`;
      if (item.kind === "file") {
        const params = { connection_id: place.connectionId, item_id: item.provider_item_id };
        const source = { params, name: item.name, size: item.size };
        progress.expect(item.size);
        yield { item: text, run: () => save(source, item, { folder, name }, path) };
        continue;
      }
      try {
        const id = item.provider_item_id;
        if (id === place.id || place.above.includes(id))
          throw new CliError("unsupported", `${text} contains itself`);
        const inner = { ...place, id, text, path, above: [...place.above, place.id] };
        const made = await makeLocalFolder(folder, name, isPlan);
        yield* walk(inner, made, createFileNames(platform));
      } catch (error) {
        yield failedTask(`${text}/`, error);
      }
    }
  }

  /** Opens the target folder. The folder of a tree is created on first use. */
  function openTop(): Promise<LocalFolder> {
    top ??= (async () => {
      if (target.kind === "folder") return target.folder;
      if (isPlan) return { path: target.path, mark: undefined };
      await mkdir(target.path, { recursive: true });
      return openLocalFolder(target.path);
    })();
    return top;
  }

  async function toPlace(name: string): Promise<Place> {
    if (target.kind === "file") return target;
    return { folder: await openTop(), name: topNames.takeAll([name])[0] ?? "_" };
  }

  async function save(
    source: FileSource,
    item: WireItem | undefined,
    place: Place,
    title: string,
  ): Promise<Downloaded> {
    const path = "folder" in place ? join(place.folder.path, place.name) : place.path;
    if (skipExisting && item !== undefined) {
      const there = await lstat(path).catch(() => undefined);
      if (there !== undefined && isSameFile("remote", there, item)) {
        if (recursive) progress.leaveOut(item.size);
        return { path, size: item.size, skipped: "same" };
      }
    }
    if (isPlan) {
      source.opened?.stream.destroy();
      return { path, size: source.size, skipped: null };
    }
    const isSmall = (item?.size ?? Infinity) <= SMALL_DOWNLOAD_BYTES_MAX && !source.opened;
    if (batching !== undefined && isSmall && "folder" in place)
      return trackTransfer(progress, title, async (shown) => {
        const mayReplace = cli.flags.force;
        if (!mayReplace) await assertFree(path);
        shown.begin(item?.size ?? undefined);
        const { connection_id: connectionId, item_id: itemId } = source.params;
        const fetch = () => batchOf(connectionId).download(itemId);
        const bytes = await batching.repeat(connectionId, fetch);
        shown.update(bytes.byteLength);
        await assertUnmoved(place.folder);
        await saveBytes(cli, bytes, { path, mayReplace, files });
        return { path, size: bytes.byteLength, skipped: null };
      });
    return alone(() =>
      trackTransfer(progress, title, async (shown) => {
        if ("isSpecial" in place && place.isSpecial) return toSpecial(source, path, shown);
        if ("folder" in place) await assertUnmoved(place.folder);
        const size = await saveItem(cli, source, {
          path,
          mayReplace: !("folder" in place) || cli.flags.force,
          files,
          onBegin: shown.begin,
          onProgress: shown.update,
        });
        return { path, size, skipped: null };
      }),
    );
  }

  function batchOf(connectionId: string): DownloadBatches {
    const known = batches.get(connectionId) ?? createDownloadBatches(cli, connectionId);
    batches.set(connectionId, known);
    return known;
  }

  async function toSpecial(
    source: FileSource,
    path: string,
    shown: Parameters<Parameters<typeof trackTransfer>[2]>[0],
  ): Promise<Downloaded> {
    const file = await open(path, "w");
    try {
      const size = await streamItem(cli, source, (chunk) => file.writeFile(chunk), shown);
      return { path, size, skipped: null };
    } finally {
      await file.close();
    }
  }
}

/** A name in a folder, or a path that was typed. */
type Place =
  | { readonly folder: LocalFolder; readonly name: string }
  | { readonly path: string; readonly isSpecial: boolean };

/** Returns an address without its trailing slash, so that names can be appended. */
function toText(word: string, address: ItemAddress): string {
  if (address.kind === "id") return word;
  return toAddressText(address.connection, address.path).replace(/\/$/, "");
}
