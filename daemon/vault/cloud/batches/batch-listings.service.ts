import { createSemaphore } from "../../../../storage/locks.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";
import { BATCH_ITEMS_MAX } from "../../../contract/vault/cloud/items.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import type { CloudListings, FolderPage } from "../items/listings.service.ts";
import { FILES_AT_ONCE, toRefused, type BeginBatch, type Refused } from "./batch-limits.ts";

/** The result of one folder. */
export interface ListingOutcome {
  readonly parentRef: string;
  readonly result: FolderPage | Refused;
}

/** A batch that is about to run. */
export interface ListingBatch {
  /** Lists the folders, several at a time, and reports each as it ends. Starts no further one once `signal` is aborted. */
  run(report: (outcome: ListingOutcome) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Call it once, after the batch. */
  release(): void;
}

/** Listings of many folders in one request. */
export type BatchListings = ReturnType<typeof createBatchListings>;

/** Creates the service. Each folder is browsed as by a single request. */
export function createBatchListings(
  { log, beginBatch }: { readonly log: Log; readonly beginBatch: BeginBatch },
  adapters: Pick<Adapters, "own" | "open">,
  listings: Pick<CloudListings, "browse">,
) {
  return {
    /** Refuses a missing connection, one that cannot be opened, and more batches of an account than may run at one time. */
    async begin(
      caller: VaultCaller,
      connectionId: ConnectionId,
      {
        parentRefs,
        refresh,
      }: { readonly parentRefs: readonly string[]; readonly refresh: boolean },
    ): Promise<ListingBatch> {
      await adapters.open(await adapters.own(caller.userId, connectionId));
      const release = beginBatch(caller.userId);
      const permit = createSemaphore({ permits: FILES_AT_ONCE });
      const browse = async (parentRef: string): Promise<FolderPage | Refused> => {
        const page = { parentRef, after: undefined, limit: BATCH_ITEMS_MAX, name: undefined };
        try {
          return await listings.browse(caller, connectionId, { ...page, refresh });
        } catch (error) {
          const refused = toRefused(error);
          if (refused.code === "internal")
            log.error({ err: error, connection_id: connectionId }, "failed to list a folder");
          return refused;
        }
      };
      return {
        release,
        async run(report, signal) {
          const listFolder = (parentRef: string) =>
            permit(async () => {
              if (signal.aborted) return;
              await report({ parentRef, result: await browse(parentRef) });
            });
          await Promise.all([...new Set(parentRefs)].map(listFolder));
        },
      };
    },
  };
}
