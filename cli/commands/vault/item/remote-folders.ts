import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun, toCliError } from "../../../errors.ts";
import { type WireItem, findListingFailure } from "../../../support/items.ts";
import type { FolderBatches, FolderCreation } from "./folder-batch.ts";
import { type BatchLine, readBatchLines, toLineFailure } from "./batch-lines.ts";
import { type FolderContent, readFolder } from "./lookup.ts";

/** A target folder of an upload or copy, in a connection. */
export interface RemoteFolder {
  readonly connectionId: string;
  /** Empty for the top. */
  readonly id: string;
  /** Its address without a trailing slash. */
  readonly text: string;
  /** This run created it, so it is empty. */
  readonly isNew: boolean;
  /** Its items by name, listed at the provider on first use. */
  items(): Promise<ReadonlyMap<string, WireItem>>;
}

/** A folder in a walk; its creation may be in progress. */
export interface OpenedFolder {
  readonly text: string;
  readonly opened: Promise<RemoteFolder>;
  readonly creation?: FolderCreation;
}

/** Opens the folder of this name in another one, or starts to create it. @throws CliError `name_collision` for a file's name */
export async function beginFolder(
  { folders, listings }: { readonly folders: FolderBatches; readonly listings: FolderListings },
  parent: OpenedFolder,
  name: string,
): Promise<OpenedFolder> {
  const text = `${parent.text}/${name}`;
  const above = parent.creation ?? (await parent.opened);
  const there = "items" in above ? await findIn(above, name) : undefined;
  const open = (id: string, isNew: boolean) =>
    parent.opened.then(({ connectionId }) =>
      openRemoteFolder({ connectionId, id, text, isNew }, listings),
    );
  if (there?.kind === "folder") return { text, opened: open(there.provider_item_id, false) };
  if (there !== undefined) throw new CliError("name_collision", `${text} is a file`);
  const creation = folders.create("items" in above ? above.id : above, name);
  const opened = creation.done.then(({ id, isNew }) => open(id, isNew));
  // The files of the folder report its failure.
  opened.catch(() => undefined);
  return { text, opened, creation };
}

/** Opens a folder. One that is not new is listed on first use. */
export function openRemoteFolder(
  folder: Omit<RemoteFolder, "items">,
  listings: FolderListings,
): RemoteFolder {
  let reading: Promise<ReadonlyMap<string, WireItem>> | undefined;
  return {
    ...folder,
    items: () => (reading ??= folder.isNew ? Promise.resolve(new Map()) : read()),
  };

  async function read(): Promise<ReadonlyMap<string, WireItem>> {
    const { items, failure } = await listings.read(folder.id);
    if (failure !== undefined) throw failure;
    return new Map(items.map((item) => [toKey(item.name), item]));
  }
}

/**
 * Returns the item of this name in a folder. Names are compared in one Unicode normalization, because disks use any.
 */
export async function findIn(folder: RemoteFolder, name: string): Promise<WireItem | undefined> {
  return (await folder.items()).get(toKey(name));
}

/** Opens the folder of this name in another one, or creates it. @throws CliError `name_collision` for a file's name */
async function enterRemoteFolder(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
  listings: FolderListings,
): Promise<RemoteFolder> {
  const { connectionId } = parent;
  const text = `${parent.text}/${name}`;
  const there = await findIn(parent, name);
  if (there?.kind === "folder")
    return openRemoteFolder(
      { connectionId, id: there.provider_item_id, text, isNew: false },
      listings,
    );
  if (there !== undefined) throw new CliError("name_collision", `${text} is a file`);
  const { body } = await cli.client.call(vault.createFolder, {
    params: { connection_id: connectionId },
    body: { parent_ref: parent.id, name },
  });
  if (body.kind !== "folder")
    throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
  // The vault appended a counter, so another client created a folder of this name meanwhile.
  if (toKey(body.name) !== toKey(name))
    throw new CliError("name_collision", `another client created ${text} meanwhile`, {
      hint: `an empty ${parent.text}/${body.name} was created beside it; repeat the upload`,
    });
  const { provider_item_id: id } = body;
  return openRemoteFolder({ connectionId, id, text, isNew: true }, listings);
}

/**
 * Opens or creates a folder. With `--dry-run` a missing folder is represented by its path, so that the plan can list
 * its content.
 */
export async function enterOrPlan(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
  listings: FolderListings,
): Promise<{ readonly folder: RemoteFolder; readonly plan: DryRun | undefined }> {
  try {
    return { folder: await enterRemoteFolder(cli, parent, name, listings), plan: undefined };
  } catch (error) {
    if (!(error instanceof DryRun)) throw error;
    const text = `${parent.text}/${name}`;
    const { connectionId } = parent;
    const folder = { connectionId, id: `(the id of ${text})`, text, isNew: true };
    return { folder: openRemoteFolder(folder, listings), plan: error };
  }
}

/** Returns a name in the Unicode normalization that comparisons use. */
export function toKey(name: string): string {
  return name.normalize("NFC");
}

/** Folders of one request. */
const FOLDERS_MAX = 100;
/** Folders that are listed before the walk reaches them. Bounds the memory of a large tree. */
const AHEAD_MAX = 1_000;

/** Lists the folders of a tree, many in one request. */
export type FolderListings = ReturnType<typeof createFolderListings>;

interface FolderListingsOptions {
  /** List folders at the provider, however fresh the last listing is. */
  readonly refresh: boolean;
  /** Levels of the tree that the walk reads; all without it. */
  readonly levels?: number;
  /** Returns the folders of a listing that the walk will read; all of them without it. */
  readonly follow?: Follow;
  /** Maximum number of concurrent requests. */
  readonly requests?: number;
}

/** Selects the folders to read ahead among the items of the folder `id`. */
export type Follow = (id: string, items: readonly WireItem[]) => Promise<readonly WireItem[]>;

interface Entry {
  readonly id: string;
  /** Levels of the tree from this folder on. */
  readonly levels: number;
  readonly done: PromiseWithResolvers<FolderContent>;
}

/**
 * Creates the listings of one connection for a walk that reads a folder before those in it. The folders in each
 * listing are read ahead, so that a tree takes about one request for each level or each 100 folders, instead of one for
 * each folder.
 */
export function createFolderListings(
  cli: CliContext,
  connectionId: string,
  {
    refresh,
    levels: allLevels = Number.POSITIVE_INFINITY,
    follow = async (_id, items) => items,
    requests = 2,
  }: FolderListingsOptions,
) {
  /** Folders to request. The last one is listed first, because the walk is depth-first. */
  const queue: Entry[] = [];
  const ahead = new Map<string, Promise<FolderContent>>();
  const requested = new Set<string>();
  let running = 0;

  return {
    /** Lists a folder, or returns its listing that was read ahead. */
    read(id: string): Promise<FolderContent> {
      const known = ahead.get(id);
      ahead.delete(id);
      const content = known ?? enqueue(id, allLevels);
      const at = queue.findIndex((entry) => entry.id === id);
      if (at >= 0) queue.push(...queue.splice(at, 1));
      return content;
    },
  };

  function enqueue(id: string, levels: number): Promise<FolderContent> {
    requested.add(id);
    const done = Promise.withResolvers<FolderContent>();
    // A failed walk discards the listings that were read ahead for it.
    done.promise.catch(() => undefined);
    queue.push({ id, levels, done });
    // The folders of all listings that arrive in the same turn go into one request.
    setImmediate(start);
    return done.promise;
  }

  function readAhead(items: readonly WireItem[], levels: number): void {
    if (levels <= 0) return;
    for (const { kind, provider_item_id: id } of items.toReversed())
      if (kind === "folder" && !requested.has(id) && ahead.size < AHEAD_MAX)
        ahead.set(id, enqueue(id, levels));
  }

  function start(): void {
    const ended = () => {
      running -= 1;
      start();
    };
    while (running < requests && queue.length > 0) {
      running += 1;
      // A failed batch has rejected its entries.
      fetchBatch(queue.splice(-FOLDERS_MAX).toReversed()).then(ended, ended);
    }
  }

  async function fetchBatch(entries: readonly Entry[]): Promise<void> {
    const waiting = new Map(entries.map((entry) => [entry.id, entry]));
    try {
      const answer = await cli.client.exchange(
        vault.listBatch,
        { params: { connection_id: connectionId } },
        {
          contentType: "application/json",
          onlyReads: true,
          body: () => JSON.stringify({ parent_refs: [...waiting.keys()], refresh }),
        },
      );
      for await (const line of readBatchLines<Line>(answer.stream)) {
        const entry = waiting.get(line.parent_ref);
        waiting.delete(line.parent_ref);
        if (entry === undefined) continue;
        try {
          const content = await toContent(line);
          readAhead(await follow(entry.id, content.items), entry.levels - 1);
          entry.done.resolve(content);
        } catch (error) {
          entry.done.reject(toCliError(error));
        }
      }
      if (waiting.size > 0)
        throw new CliError("unexpected_answer", "the daemon left out folders of a batch");
    } catch (error) {
      const failure = cli.signal.aborted ? toCliError(cli.signal.reason) : toCliError(error);
      for (const { done } of waiting.values()) done.reject(failure);
    }
  }

  async function toContent(line: Line): Promise<FolderContent> {
    const refusal = toLineFailure(line);
    if (refusal !== undefined) throw refusal;
    const failure = findListingFailure(line);
    if (line.next_cursor === null) return { items: line.items, failure };
    const rest = await readFolder(cli, connectionId, line.parent_ref, false, line.next_cursor);
    return { items: [...line.items, ...rest.items], failure: failure ?? rest.failure };
  }
}

/** A listing; with a status other than 200 it has only `parent_ref` and the body of a refusal. */
interface Line extends BatchLine {
  readonly parent_ref: string;
  readonly refresh_state: "never" | "fresh" | "warning" | "failed";
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly items: readonly WireItem[];
  readonly next_cursor: string | null;
}
