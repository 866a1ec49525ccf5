import { vault } from "../../../client/operations.ts";
import { CliError, toCliError } from "../../../errors.ts";
import { type BatchLine, readBatchLines, toLineFailure } from "./batch-lines.ts";
import type { Retries } from "./transfer.ts";
import type { CliContext } from "../../../context.ts";
import {
  type ItemAddress,
  noSuchItem,
  type FoundItem,
  type ItemFinder,
} from "../../../support/items.ts";

/** Folders of one request. */
const FOLDERS_MAX = 100;

/** A request that is not full waits this long for the next folder of a walk. */
const IDLE_MS = 25;

/** A folder at the provider. */
interface CreatedFolder {
  readonly id: string;
  /** False when it existed before. */
  readonly isNew: boolean;
}

/** A folder whose creation is in progress. It can already be used as a parent. */
export interface FolderCreation {
  readonly done: Promise<CreatedFolder>;
}

/** Creates folders, many in one request. */
export type FolderBatches = ReturnType<typeof createFolderBatches>;

interface Entry {
  readonly creation: FolderCreation;
  /** The id of its parent, or the creation of its parent. */
  readonly parent: string | FolderCreation;
  readonly name: string;
  readonly sent: PromiseWithResolvers<CreatedFolder>;
}

/** The parent failed in the same request. */
class ParentFailed extends Error {}

/** Creates the batches of one connection. One request runs at a time; the folders that arrive meanwhile go into the next one. */
export function createFolderBatches({ cli, repeat }: Retries, connectionId: string) {
  const queue: Entry[] = [];
  const ids = new Map<FolderCreation, string>();
  let isRunning = false;

  return {
    /**
     * Creates a folder in `parent`: the id of an existing folder, or a creation in progress. Uses an existing folder of
     * that name.
     */
    create(parent: string | FolderCreation, name: string): FolderCreation {
      const { promise: done, resolve, reject } = Promise.withResolvers<CreatedFolder>();
      // The tasks that need the folder report its failure.
      done.catch(() => undefined);
      const creation = { done };
      make(creation, parent, name).then(resolve, reject);
      return creation;
    },
  };

  async function make(
    creation: FolderCreation,
    parent: string | FolderCreation,
    name: string,
  ): Promise<CreatedFolder> {
    for (;;) {
      try {
        return await repeat(connectionId, () => enqueue(creation, parent, name));
      } catch (error) {
        if (!(error instanceof ParentFailed) || typeof parent === "string") throw error;
        // The creation of the parent may be retried after a pause.
        await parent.done.catch((cause: unknown) => {
          throw new CliError("conflict", "the folder above it is missing", { cause });
        });
      }
    }
  }

  function enqueue(
    creation: FolderCreation,
    parent: string | FolderCreation,
    name: string,
  ): Promise<CreatedFolder> {
    const sent = Promise.withResolvers<CreatedFolder>();
    queue.push({ creation, parent, name, sent });
    // The folders of all tasks that run in the same turn go into one request.
    setImmediate(() => run().catch(sent.reject));
    return sent.promise;
  }

  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    while (queue.length > 0) {
      await waitForMore();
      await sendBatch(queue.splice(0, FOLDERS_MAX));
    }
    isRunning = false;
  }

  async function waitForMore(): Promise<void> {
    for (let before = 0; before < queue.length && queue.length < FOLDERS_MAX;) {
      before = queue.length;
      // After a stop signal the request itself fails.
      await cli.system.sleep(IDLE_MS, cli.signal).catch(() => undefined);
    }
  }

  async function sendBatch(taken: readonly Entry[]): Promise<void> {
    const entries: Entry[] = [];
    const folders: object[] = [];
    for (const entry of taken) {
      const { parent, name } = entry;
      const id = typeof parent === "string" ? parent : ids.get(parent);
      const at = entries.findIndex(({ creation }) => creation === parent);
      if (id === undefined && at < 0) entry.sent.reject(new ParentFailed());
      else {
        folders.push(id === undefined ? { parent_index: at, name } : { parent_ref: id, name });
        entries.push(entry);
      }
    }
    if (entries.length === 0) return;
    const waiting = new Map(entries.entries());
    try {
      const answer = await cli.client.exchange(
        vault.createFolderBatch,
        { params: { connection_id: connectionId } },
        { contentType: "application/json", body: () => JSON.stringify({ folders }) },
      );
      for await (const line of readBatchLines<Line>(answer.stream)) {
        const entry = waiting.get(line.index);
        waiting.delete(line.index);
        if (entry === undefined) continue;
        try {
          const created = toCreated(line);
          ids.set(entry.creation, created.id);
          entry.sent.resolve(created);
        } catch (error) {
          entry.sent.reject(error);
        }
      }
      if (waiting.size > 0)
        throw new CliError("unexpected_answer", "the daemon left out folders of a batch");
    } catch (error) {
      const failure = cli.signal.aborted ? toCliError(cli.signal.reason) : toCliError(error);
      for (const { sent } of waiting.values()) sent.reject(failure);
    }
  }
}

/** The body of a single creation, with its status and position. */
interface Line extends BatchLine {
  readonly index: number;
  readonly kind?: string;
  readonly provider_item_id?: string;
}

function toCreated(line: Line): CreatedFolder {
  if (line.status === 424) throw new ParentFailed();
  const refusal = toLineFailure(line);
  if (refusal !== undefined) throw refusal;
  const { kind, provider_item_id: id } = line;
  if (kind === "unsupported_operation")
    throw new CliError("unsupported", "the target storage has no folders");
  if ((kind === "folder" || kind === "existing_folder") && id !== undefined)
    return { id, isNew: kind === "folder" };
  throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
}

type PathAddress = Extract<ItemAddress, { readonly kind: "path" }>;

/** The vault's response to a creation. */
interface WireFolder {
  readonly kind: "folder";
  readonly provider_item_id: string;
  readonly name: string;
}

/** A path whose last folders do not exist yet. */
export interface MissingFolder {
  /** The deepest folder that exists. */
  readonly parent: FoundItem;
  /** The missing folders below it, outermost first. */
  readonly names: readonly string[];
}

/** Finds where the folders of a missing path begin. @throws CliError `not_found` when one of them is a file */
export async function findMissingFolder(
  finder: ItemFinder,
  address: PathAddress,
): Promise<MissingFolder> {
  let depth = address.path.length;
  let parent: FoundItem | undefined;
  while (parent === undefined)
    parent = await finder.findIfThere({
      ...address,
      path: address.path.slice(0, --depth),
      isFolder: false,
    });
  if (parent.item?.kind === "file")
    throw noSuchItem(address.connection, address.path.slice(0, depth));
  return { parent, names: address.path.slice(depth) };
}

/** Creates the folders of a path, outermost first, and returns the last one. */
export async function makeFolders(
  cli: CliContext,
  { parent, names }: MissingFolder,
): Promise<WireFolder> {
  let made: WireFolder | undefined;
  for (const name of names) {
    const { body } = await cli.client.call(vault.createFolder, {
      params: { connection_id: parent.connection.id },
      body: { parent_ref: made?.provider_item_id ?? parent.id, name },
    });
    if (body.kind !== "folder")
      throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
    made = body;
  }
  if (made === undefined) throw new Error("no folder is missing");
  return made;
}
