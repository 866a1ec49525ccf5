import type { Database } from "../../../../storage/engine/database.ts";
import {
  deleteUnfinishedUploads,
  deleteUsedRunners,
  expireArtifacts,
  expireLogs,
  listExpiredRuns,
} from "../../../../storage/tables/forge/actions/retention.ts";
import { deleteRun, findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";

export interface ActionRetentionDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Retention of a job's log after its end. */
  readonly logDays: number;
  /** Retention of a run after its end. */
  readonly runDays: number;
}

const DAY_MS = 86_400_000;
/** Maximum rows of one transaction. Each log may have thousands of chunks. */
const ROWS = 100;
const LOGS = 10;

/** Deletes expired artifacts, logs and workflow runs. */
export function createActionRetention({ db, clock, logDays, runDays }: ActionRetentionDeps) {
  return {
    /** Deletes until nothing has expired or `signal` aborts; the next call continues. */
    async cleanUp(signal: AbortSignal): Promise<void> {
      const now = clock();
      await repeat(signal, ROWS, () => expireArtifacts(db, now, ROWS));
      await repeat(signal, ROWS, () => deleteUnfinishedUploads(db, now - DAY_MS, ROWS));
      await repeat(signal, LOGS, () => expireLogs(db, now - logDays * DAY_MS, LOGS));
      await repeat(signal, ROWS, () => deleteRuns(now - runDays * DAY_MS));
      await deleteUsedRunners(db);
    },
  };

  async function deleteRuns(before: number): Promise<number> {
    const ids = await listExpiredRuns(db, before, ROWS);
    for (const id of ids)
      await db.transaction(async (tx) => {
        // Another request may have started a rerun.
        const run = await findRun(tx, id);
        if (run !== undefined && isFinal(run.status)) await deleteRun(tx, id);
      });
    return ids.length;
  }
}

/** Repeats work until a batch is not full. */
async function repeat(
  signal: AbortSignal,
  most: number,
  work: () => Promise<number>,
): Promise<void> {
  do signal.throwIfAborted();
  while ((await work()) >= most);
}
