import type { Database } from "../../../../storage/engine/database.ts";
import { findConnectionById } from "../../../../storage/tables/vault/connections.ts";
import { toRefKey } from "../../../../storage/tables/vault/refs.ts";
import type { JobQueue } from "../../../jobs/queue.ts";
import type { CloudListings } from "../items/listings.service.ts";

const RELIST_JOB = "cloud.relist";

/** A job that lists a folder again; one per folder. */
export function toRelistJob(connectionId: string, parentRef: string) {
  return {
    kind: RELIST_JOB,
    key: `${connectionId}/${toRefKey(parentRef)}`,
    payload: { connection_id: connectionId, parent_ref: parentRef },
  };
}

/** Has the queue run the jobs of `toRelistJob`; one whose provider cannot be asked is tried again. */
export function registerRelisting(
  { db, jobs }: { readonly db: Database; readonly jobs: Pick<JobQueue, "register"> },
  listings: Pick<CloudListings, "relist">,
): void {
  jobs.register({
    kind: RELIST_JOB,
    async run(payload) {
      const { connection_id: connectionId, parent_ref: parentRef } = payload as Record<
        string,
        string
      >;
      const connection = await findConnectionById(db, connectionId ?? "");
      // Disconnected meanwhile: nobody looks at that folder any more.
      if (connection === undefined || parentRef === undefined) return;
      if (!(await listings.relist(connection, parentRef)))
        throw new Error("the folder could not be listed");
    },
  });
}
