import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { Transaction } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudDeps } from "../cloud.ts";
import { warnFolder } from "../items/folder-marks.ts";
import type { CloudListings } from "../items/listings.service.ts";
import { toRelistJob } from "./relisting.ts";

/** A change that the provider made and that could not be recorded. */
export type RecordingFailed = { readonly kind: "recording_failed" };

/** Keeps the records true to what a provider did, or may have done. */
export interface Recording {
  /**
   * Writes what the provider did in one transaction. When that fails, the folders are listed again: by a job, or with the
   * next look at them where not even the job could be kept.
   */
  record<T>(
    connection: Connection,
    folders: readonly string[],
    write: (tx: Transaction) => Promise<T>,
  ): Promise<{ readonly kind: "recorded"; readonly value: T } | RecordingFailed>;
  /** Has the folder, if it is known, listed again after a failure that tells of a change that nobody recorded. */
  noteFailure(
    connection: Connection,
    failure: Failure,
    parentRef: string | undefined,
  ): Promise<void>;
}

export function createRecording(
  { db, jobs, log }: Pick<CloudDeps, "db" | "jobs" | "log">,
  listings: Pick<CloudListings, "distrust">,
): Recording {
  async function leaveRelisting(connection: Connection, folders: readonly string[]): Promise<void> {
    try {
      await db.transaction(async (tx) => {
        for (const parentRef of new Set(folders)) {
          await warnFolder(tx, connection, parentRef, "stale_listing");
          await jobs.enqueue(tx, toRelistJob(connection.id, parentRef));
        }
      });
    } catch (error) {
      log.error({ err: error, connection_id: connection.id }, "a folder could not be marked");
      for (const parentRef of folders) listings.distrust(connection, parentRef);
    }
  }

  return {
    async record(connection, folders, write) {
      try {
        return { kind: "recorded", value: await db.transaction(write) };
      } catch (error) {
        log.error({ err: error, connection_id: connection.id }, "a change could not be recorded");
        await leaveRelisting(connection, folders);
        return { kind: "recording_failed" };
      }
    },

    async noteFailure(connection, failure, parentRef) {
      if (failure.kind !== "stale" && failure.kind !== "unknown_outcome") return;
      if (parentRef === undefined) return;
      await db.transaction((tx) => warnFolder(tx, connection, parentRef, "stale_listing"));
    },
  };
}

/** Who made a change and of what, for its audit record. */
export function auditOf(caller: VaultCaller, resourceId: string) {
  return {
    userId: caller.userId,
    actorId: caller.userId,
    resourceId,
    ipAddress: caller.address,
  };
}
