import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import {
  getFolderState,
  markFolder,
  markListed,
  type FolderState,
} from "../../../../storage/tables/vault/folders.ts";
import {
  findItemByName,
  listItems,
  listItemsByName,
  replaceFolderItems,
  type CloudItem,
  type ItemCursor,
} from "../../../../storage/tables/vault/items.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { AppError } from "../../../errors.ts";
import type { JobQueue } from "../../../jobs/queue.ts";
import { enqueueAutoAnalysis } from "../analysis/auto-analysis.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import { markFolderStale } from "./stale-folders.ts";
import { findParent, toItemOwner, toItemMetadata } from "./item-records.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** One page of a folder. */
export interface FolderPage {
  readonly state: FolderState;
  readonly items: readonly CloudItem[];
  readonly next: ItemCursor | undefined;
}

export interface BrowseRequest {
  readonly parentRef: string;
  readonly after: ItemCursor | undefined;
  readonly limit: number;
  readonly refresh: boolean;
  /** Lists only items with exactly this name. */
  readonly name: string | undefined;
}

export type CloudListings = ReturnType<typeof createListings>;

/** Maximum number of repeats of a listing during which croft changed the folder. */
const ATTEMPTS_MAX = 3;

type ListingResult =
  | { readonly kind: "ok" }
  | { readonly kind: "unknown_folder" }
  /** The item is recorded, but no longer a folder. */
  | { readonly kind: "gone" }
  /** croft changed the folder during each attempt, so no listing was recorded. `names` are those of the last one. */
  | { readonly kind: "overtaken"; readonly names: ReadonlySet<string> }
  | { readonly kind: "failed" };

export interface ListingsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Creates ids of rows. */
  readonly newId: () => string;
  readonly jobs: Pick<JobQueue, "enqueue">;
  /** Age in milliseconds at which a listing is fetched again. */
  readonly listingMaxAgeMs: number;
}

/** Listings of folders: kept in the database, fetched again when they are due. */
export function createListings(deps: ListingsDeps, adapters: Adapters) {
  const { db, clock } = deps;
  const underWay = new Map<string, Promise<ListingResult>>();
  const stale = new Set<string>();
  const keyOf = (connectionId: ConnectionId, parentRef: string) => `${connectionId}/${parentRef}`;

  /** Concurrent requests for one folder share one listing. */
  function listOnce(connection: Connection, parentRef: string): Promise<ListingResult> {
    const key = keyOf(connection.id, parentRef);
    const running = underWay.get(key);
    if (running !== undefined) return running;
    const listing = list(connection, parentRef).finally(() => underWay.delete(key));
    underWay.set(key, listing);
    return listing;
  }

  async function list(connection: Connection, parentRef: string): Promise<ListingResult> {
    for (let attempt = 1; ; attempt++) {
      const { mutations } = await getFolderState(db, connection.id, parentRef);
      const folder = await findParent(db, connection.id, parentRef);
      const signal = new AbortController().signal;
      const outcome = await adapters.call(connection, (provider) =>
        provider.list({ folder: parentRef, signal }),
      );
      if (outcome.kind !== "ok") return noteFailure(connection, parentRef, outcome);
      const listedItems = outcome.items.map(toItemMetadata);
      const { unknown } = outcome;
      const owner = toItemOwner(connection, deps.newId);
      const isCurrent = await db.transaction(async (tx) => {
        // A change that was recorded while the provider was listing may be missing in its response.
        const now = await getFolderState(tx, connection.id, parentRef);
        if (now.mutations !== mutations) return false;
        // The folder was renamed or deleted through the service meanwhile, so the id is no longer valid.
        if (folder !== undefined && (await findParent(tx, connection.id, parentRef)) === undefined)
          return false;
        await replaceFolderItems(tx, owner, parentRef, listedItems, unknown);
        await markListed(tx, { ...owner, parentRef });
        await enqueueAutoAnalysis(tx, deps.jobs, connection, parentRef);
        return true;
      });
      if (isCurrent) stale.delete(keyOf(connection.id, parentRef));
      if (isCurrent) return { kind: "ok" };
      if (attempt === ATTEMPTS_MAX)
        return { kind: "overtaken", names: new Set(listedItems.map(({ name }) => name)) };
    }
  }

  async function noteFailure(
    connection: Connection,
    parentRef: string,
    failure: Failure,
  ): Promise<ListingResult> {
    const { id: connectionId, userId } = connection;
    const folder = await findParent(db, connection.id, parentRef);
    if (failure.kind === "stale" && parentRef !== "" && folder === undefined)
      return { kind: "unknown_folder" };
    await db.transaction(async (tx) => {
      const [code, text] = errorOf(failure);
      await markFolder(tx, { connectionId, userId, parentRef }, "failed", code, text);
      // The folder itself was deleted or has changed, so the listing of its parent is stale.
      if (failure.kind === "stale" && folder !== undefined)
        await markFolderStale(tx, connection, folder.parentRef, "stale_listing");
    });
    return { kind: failure.kind === "stale" ? "gone" : "failed" };
  }

  function isDue(state: FolderState): boolean {
    return state.refreshState !== "fresh" || isOld(state);
  }

  function isOld({ listedAt }: FolderState): boolean {
    if (listedAt === undefined) return true;
    const age = clock() - listedAt;
    // If the clock was set back, a listing must not stay current for ever.
    return age > deps.listingMaxAgeMs || age < 0;
  }

  /** Returns whether a listing is current, or only older than changes that croft has recorded. */
  function holdsAllChanges(state: FolderState): boolean {
    const isRecorded = state.refreshState === "warning" && state.errorCode !== "stale_listing";
    return (state.refreshState === "fresh" || isRecorded) && !isOld(state);
  }

  return {
    /**
     * Returns a page of a folder. The first page lists the folder at the provider if it was never listed, is stale or
     * older
     * than the configured age, or if `refresh` is set. A failed listing keeps the recorded items and sets the state.
     * Refuses
     * an unknown folder with `not_found`.
     */
    async browse(
      caller: Pick<VaultCaller, "userId">,
      connectionId: ConnectionId,
      request: BrowseRequest,
    ): Promise<FolderPage> {
      const { parentRef, after, limit, refresh, name } = request;
      const connection = await adapters.own(caller.userId, connectionId);
      let state = await getFolderState(db, connection.id, parentRef);
      const mustRefresh = refresh || isDue(state) || stale.has(keyOf(connection.id, parentRef));
      if (after === undefined && mustRefresh) {
        await adapters.open(connection);
        const result = await unlessDeleted(db, connection, () => listOnce(connection, parentRef));
        if (result.kind === "unknown_folder")
          throw new AppError("not_found", "Cloud item not found");
        state = await getFolderState(db, connection.id, parentRef);
      }
      if (name !== undefined) {
        const items = await listItemsByName(db, { connectionId, parentRef }, name, limit);
        return { state, items, next: undefined };
      }
      const found = await listItems(db, { connectionId, parentRef }, { after, limit: limit + 1 });
      const items = found.slice(0, limit);
      const last = items.at(-1);
      return {
        state,
        items,
        next: found.length > limit && last !== undefined ? last.cursor : undefined,
      };
    },

    /**
     * Returns the item of a name. Lists the folder at the provider only where the records may lack changes that were made
     * elsewhere: unlike `browse`, not after each change that croft has recorded itself. Refuses with `unavailable` when
     * the folder cannot be listed and the item is not recorded.
     */
    async find(
      caller: Pick<VaultCaller, "userId">,
      connectionId: ConnectionId,
      { parentRef, name }: { readonly parentRef: string; readonly name: string },
    ): Promise<CloudItem | undefined> {
      const connection = await adapters.own(caller.userId, connectionId);
      const state = await getFolderState(db, connectionId, parentRef);
      if (holdsAllChanges(state) && !stale.has(keyOf(connectionId, parentRef)))
        return findItemByName(db, connectionId, parentRef, name);
      await adapters.open(connection);
      const listing = await unlessDeleted(db, connection, () => listOnce(connection, parentRef));
      const { kind } = listing;
      if (kind === "unknown_folder" || kind === "gone") return undefined;
      const item = await findItemByName(db, connectionId, parentRef, name);
      const isUnknown = kind === "failed" || (kind === "overtaken" && listing.names.has(name));
      if (item === undefined && isUnknown)
        throw new AppError("unavailable", "The storage could not list this folder. Try again.");
      return item;
    },

    /** Lists a folder at the provider now, for the owner of the connection. False when no listing was recorded. */
    async relist(connection: Connection, parentRef: string): Promise<boolean> {
      const { kind } = await listOnce(connection, parentRef);
      return kind !== "failed" && kind !== "overtaken";
    },

    /** Invalidates the listing of a folder in memory: for changes that the database failed to record. */
    markStale: ({ id }: Connection, parentRef: string): void => {
      stale.add(keyOf(id, parentRef));
    },
  };
}

/** The state of a folder after a failed listing. */
function errorOf(failure: Failure): readonly [code: string, text: string] {
  switch (failure.kind) {
    case "offline":
      return ["offline", "The storage cannot be reached at the moment."];
    case "reauth":
      return ["reauth_required", "The storage must be connected again."];
    default:
      return ["provider_error", "The storage could not list this folder."];
  }
}
