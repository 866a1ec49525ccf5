import type { ProviderItem } from "../../../../storage/cloud/item.ts";
import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { insertAudit } from "../../../../storage/tables/vault/audit.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { findLiveItem, recordItem } from "../../../../storage/tables/vault/items.ts";
import type { JobQueue } from "../../../jobs/queue.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import { toItemMetadata, toItemOwner } from "../items/item-records.ts";
import type { CloudListings } from "../items/listings.service.ts";
import { markFolderStale, type StaleReason } from "../items/stale-folders.ts";
import { toRelistJob } from "./relist-job.ts";

/** The provider made a change that could not be recorded. */
export type RecordingFailed = { readonly kind: "recording_failed" };

/** One change of a storage: the provider call, and the records to write after its success. */
export interface Change<Done, Value> {
  readonly caller: VaultCaller;
  readonly connection: Connection;
  readonly eventType: string;
  readonly staleReason: StaleReason;
  /** The folder of the item; undefined when it is not known. Marked stale after a failure that may have changed it. */
  readonly parentRef: string | undefined;
  call(): Promise<Done | Failure>;
  /** The folders that the change touches. */
  listFolders(done: Done): readonly string[];
  /** Writes the rows of the items. Returns undefined, and writes nothing, when the item was deleted since. */
  write(tx: Transaction, done: Done): Promise<WrittenChange<Value> | undefined>;
}

export interface WrittenChange<Value> {
  readonly value: Value;
  /** The folders to mark stale; those of `listFolders` when absent. */
  readonly folders?: readonly string[];
  /** Metadata of the audit record. */
  readonly resourceId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export type RecordedChange<Done, Value> =
  /** `value` is undefined when `write` wrote nothing. */
  | { readonly kind: "recorded"; readonly done: Done; readonly value: Value | undefined }
  | Failure
  | RecordingFailed;

export type ChangeRecorder = ReturnType<typeof createChangeRecorder>;

export interface ChangeRecorderDeps {
  readonly db: Database;
  /** Creates ids of rows. */
  readonly newId: () => string;
  readonly jobs: Pick<JobQueue, "enqueue">;
  readonly log: Log;
}

/** Changes storages and keeps the records consistent with the changes that the provider made or may have made. */
export function createChangeRecorder(
  { db, newId, jobs, log }: ChangeRecorderDeps,
  listings: Pick<CloudListings, "markStale">,
  adapters: Pick<Adapters, "call">,
) {
  /**
   * Returns the unrecorded ones among the folders and the folders above them, as the provider has them now, because
   * another program may have moved them. If they stayed unrecorded, the deletion of a folder above would not reach a
   * new item in them.
   */
  async function findUnrecorded(
    connection: Connection,
    folders: readonly string[],
  ): Promise<readonly ProviderItem[]> {
    const found = new Map<string, ProviderItem>();
    const { signal } = new AbortController();
    for (const folder of folders)
      for (let id = folder; id !== "" && !found.has(id);) {
        if ((await findLiveItem(db, connection.id, id)) !== undefined) break;
        const at = id;
        const current = await adapters.call(connection, (provider) =>
          provider.stat({ id: at, signal }),
        );
        if (current.kind !== "ok" || current.item.id !== at || current.item.kind !== "folder")
          break;
        found.set(at, current.item);
        id = current.item.parent;
      }
    return [...found.values()];
  }

  async function relistLater(connection: Connection, folders: readonly string[]): Promise<void> {
    try {
      await db.transaction(async (tx) => {
        for (const parentRef of new Set(folders)) {
          await markFolderStale(tx, connection, parentRef, "stale_listing");
          await jobs.enqueue(tx, toRelistJob(connection.id, parentRef));
        }
      });
    } catch (error) {
      log.error({ err: error, connection_id: connection.id }, "failed to mark a folder stale");
      for (const parentRef of folders) listings.markStale(connection, parentRef);
    }
  }

  async function noteFailure(
    connection: Connection,
    failure: Failure,
    parentRef: string | undefined,
  ): Promise<void> {
    if (failure.kind !== "stale" && failure.kind !== "unknown_outcome") return;
    if (parentRef === undefined) return;
    await db.transaction((tx) => markFolderStale(tx, connection, parentRef, "stale_listing"));
  }

  return {
    /** Marks a folder stale after a failure by which the storage has, or may have, changed. */
    noteFailure,

    /**
     * Makes a change, then writes its rows, marks its folders stale and adds its audit record in one transaction. If that
     * fails, enqueues a re-listing of the folders; if that fails too, marks them stale in memory. After a failure of the
     * provider only the folder is marked stale, and only if the storage may have changed.
     */
    async make<Done extends { readonly kind: "ok" }, Value>(
      change: Change<Done, Value>,
    ): Promise<RecordedChange<Done, Value>> {
      const { caller, connection, eventType, staleReason } = change;
      const outcome = await change.call();
      if (outcome.kind !== "ok") {
        await noteFailure(connection, outcome, change.parentRef);
        return outcome;
      }
      const touched = change.listFolders(outcome);
      try {
        const above = await findUnrecorded(connection, touched);
        const value = await db.transaction(async (tx) => {
          const written = await change.write(tx, outcome);
          if (written === undefined) return undefined;
          const owner = toItemOwner(connection, newId);
          for (const folder of above) await recordItem(tx, owner, toItemMetadata(folder));
          const stale = [...(written.folders ?? touched), ...above.map(({ parent }) => parent)];
          for (const folder of new Set(stale))
            await markFolderStale(tx, connection, folder, staleReason);
          await insertAudit(tx, {
            eventType,
            userId: caller.userId,
            actorId: caller.userId,
            resourceId: written.resourceId,
            ipAddress: caller.address,
            metadata: { connection_id: connection.id, ...written.metadata },
          });
          return written.value;
        });
        return { kind: "recorded", done: outcome, value };
      } catch (error) {
        log.error({ err: error, connection_id: connection.id }, "failed to record a change");
        await relistLater(connection, touched);
        return { kind: "recording_failed" };
      }
    },
  };
}
