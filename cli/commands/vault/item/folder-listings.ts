import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import { findListingFailure, type WireItem } from "../../../support/items.ts";
import { type BatchLine, readBatchLines, toLineFailure } from "./batch-lines.ts";
import { type FolderContent, readFolder } from "./lookup.ts";

/** Folders of one request. */
const FOLDERS_MAX = 100;
/** Folders that are listed before the walk reaches them. Bounds the memory of a large tree. */
const AHEAD_MAX = 1_000;

/** Lists the folders of a tree, many in one request. */
export interface FolderListings {
  /** Lists a folder, or returns its listing that was read ahead. */
  read(id: string): Promise<FolderContent>;
}

interface FolderListingsOptions {
  /** List folders at the provider, however fresh the last listing is. */
  readonly refresh: boolean;
  /** Levels of the tree that the walk reads; all without it. */
  readonly levels?: number;
  /** Returns the folders of a listing that the walk will read; all of them without it. */
  readonly follow?: Follow;
  /** Requests at one time. */
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
 * Creates the listings of one connection for a walk that reads a folder before those in it. The folders in each listing are
 * read ahead, so that a tree takes about one request a level, or one for 100 folders, and not one a folder.
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
): FolderListings {
  /** Requested or about to be; the last one is listed first, which follows a walk into the depth. */
  const queue: Entry[] = [];
  const ahead = new Map<string, Promise<FolderContent>>();
  const requested = new Set<string>();
  let running = 0;

  return {
    read(id) {
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
    while (running < requests && queue.length > 0) {
      running += 1;
      void fetchBatch(queue.splice(-FOLDERS_MAX).toReversed()).finally(() => {
        running -= 1;
        start();
      });
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
