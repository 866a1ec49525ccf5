import { z } from "zod";
import type { Database, Queries, Transaction } from "../../../../storage/engine/database.ts";
import { findAnalysisSettings } from "../../../../storage/tables/vault/analysis-settings.ts";
import {
  type Connection,
  findConnectionById,
} from "../../../../storage/tables/vault/connections.ts";
import {
  listUnanalysed,
  markAnalysisPending,
} from "../../../../storage/tables/vault/item-analysis.ts";
import { toRefKey } from "../../../../storage/tables/vault/refs.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { JobQueue } from "../../../jobs/queue.ts";
import { toAnalyzeJob } from "./analyze-job.ts";
import type { AccountId } from "../../../../storage/tables/vault/ids.ts";

const AUTO_ANALYZE_JOB = "cloud.auto_analyze";
const payloadSchema = z.object({
  connection_id: z.string().brand<"ConnectionId">(),
  parent_ref: z.string(),
});
/** Files of a large folder are queued in several transactions, so that no transaction blocks requests for long. */
const BATCH = 200;

/**
 * Enqueues a search for new and changed files of a folder if its owner has turned on automatic analysis and there are
 * any.
 */
export async function enqueueAutoAnalysis(
  tx: Transaction,
  jobs: Pick<JobQueue, "enqueue">,
  { id: connectionId, userId }: Pick<Connection, "id" | "userId">,
  parentRef: string,
): Promise<void> {
  const bytesMax = await findLimit(tx, userId);
  if (bytesMax === undefined) return;
  const found = await listUnanalysed(tx, { connectionId, parentRef }, { bytesMax, limit: 1 });
  if (found.length === 0) return;
  await jobs.enqueue(tx, {
    kind: AUTO_ANALYZE_JOB,
    key: `${connectionId}/${toRefKey(parentRef)}`,
    payload: { connection_id: connectionId, parent_ref: parentRef },
  });
}

/** Returns the job that queues the files of a folder for analysis. */
export function createAutoAnalysisJob({
  db,
  jobs,
}: {
  readonly db: Database;
  readonly jobs: Pick<JobQueue, "enqueue">;
}): JobKind {
  return {
    kind: AUTO_ANALYZE_JOB,
    async run(payload, { signal }) {
      const { connection_id: id, parent_ref: parentRef } = parsePayload(payloadSchema, payload);
      const connection = await findConnectionById(db, id);
      const bytesMax = connection && (await findLimit(db, connection.userId));
      // The connection was deleted, or its owner has changed the setting.
      if (connection === undefined || bytesMax === undefined) return;
      const { userId } = connection;
      const folder = { connectionId: id, parentRef };
      for (;;) {
        signal.throwIfAborted();
        const queued = await db.transaction(async (tx) => {
          const ids = await listUnanalysed(tx, folder, { bytesMax, limit: BATCH });
          for (const itemId of ids)
            if (await markAnalysisPending(tx, itemId))
              await jobs.enqueue(tx, toAnalyzeJob(itemId, userId));
          return ids.length;
        });
        if (queued < BATCH) return;
      }
    },
  };
}

/** Returns the size limit of a user's automatic analysis; undefined when it is off. */
async function findLimit(db: Queries, userId: AccountId): Promise<number | undefined> {
  const settings = await findAnalysisSettings(db, userId);
  return settings?.autoAnalyze === true ? settings.maxAnalyzeBytes : undefined;
}
