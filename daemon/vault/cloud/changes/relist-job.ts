import { z } from "zod";
import type { Database } from "../../../../storage/engine/database.ts";
import { findConnectionById } from "../../../../storage/tables/vault/connections.ts";
import { toRefKey } from "../../../../storage/tables/vault/refs.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { CloudListings } from "../items/listings.service.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

const RELIST_JOB = "cloud.relist";
const payloadSchema = z.object({ connection_id: z.string(), parent_ref: z.string() });

/** Returns a job that lists a folder again. Waiting jobs of one folder are deduplicated. */
export function toRelistJob(connectionId: ConnectionId, parentRef: string) {
  return {
    kind: RELIST_JOB,
    key: `${connectionId}/${toRefKey(parentRef)}`,
    payload: { connection_id: connectionId, parent_ref: parentRef } satisfies z.input<
      typeof payloadSchema
    >,
  };
}

/** Returns the kind of `toRelistJob`. A job whose provider is unreachable is retried. */
export function createRelistJob(
  { db }: { readonly db: Database },
  listings: Pick<CloudListings, "relist">,
): JobKind {
  return {
    kind: RELIST_JOB,
    async run(payload) {
      const { connection_id: id, parent_ref: parentRef } = parsePayload(payloadSchema, payload);
      const connection = await findConnectionById(db, id);
      // The connection was deleted since: there is nothing to list.
      if (connection === undefined) return;
      if (!(await listings.relist(connection, parentRef)))
        throw new Error("the folder could not be listed");
    },
  };
}
