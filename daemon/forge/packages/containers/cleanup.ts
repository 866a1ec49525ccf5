import type { Database } from "../../../../storage/engine/database.ts";
import {
  deleteOldContainerUploads,
  deleteUnusedContainerBlobs,
} from "../../../../storage/tables/forge/packages/container-blobs.ts";
import type { CronTask } from "../../../jobs/cron-task.ts";
import { forgeTasks } from "../../tasks.ts";

const DAY_MS = 24 * 3_600_000;
/** A client uploads blobs before the manifest that names them, and may take days over both. */
const GRACE_MS = DAY_MS;
/** Blobs that one statement deletes: a statement keeps other writers waiting. */
const BATCH = 500;

/**
 * Returns the task that ends uploads to which nothing was added for a day, and removes blobs that no manifest has named for as
 * long. Their bytes go with the next sweep of the object store. Manifests are never removed, with or without a tag: others
 * may name them by their digest.
 */
export function createContainerCleanup({
  db,
  clock,
}: {
  readonly db: Database;
  readonly clock: () => number;
}): CronTask {
  return {
    ...forgeTasks.cleanup_containers,
    async run(signal) {
      const before = clock() - GRACE_MS;
      await deleteOldContainerUploads(db, before);
      for (;;) {
        signal.throwIfAborted();
        if ((await deleteUnusedContainerBlobs(db, { before, limit: BATCH })) === 0) return;
      }
    },
  };
}
