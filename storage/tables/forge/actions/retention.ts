// Deletes expired artifacts, unfinished uploads, logs, runs and runners that were registered for one job. Each statement
// takes a limited number of rows, so that no transaction is long.
import type { Database, Queries } from "../../../engine/database.ts";
import type { TaskId, RunId } from "../ids.ts";

/** Expires ready artifacts whose time is over; the sweep of objects removes their bytes. Returns how many. */
export async function expireArtifacts(db: Queries, now: number, limit: number): Promise<number> {
  const { changes } = await db.run(
    `UPDATE forge_action_artifacts SET state = 'expired', object_sha256 = NULL
     WHERE id IN (SELECT id FROM forge_action_artifacts WHERE state = 'ready' AND expires_at < ? LIMIT ?)`,
    now,
    limit,
  );
  return changes;
}

/** Deletes uploads that began before a time and whose task has ended. Returns how many. */
export async function deleteUnfinishedUploads(
  db: Queries,
  before: number,
  limit: number,
): Promise<number> {
  const { changes } = await db.run(
    `DELETE FROM forge_action_artifacts WHERE id IN (
       SELECT a.id FROM forge_action_artifacts a JOIN forge_action_tasks t ON t.id = a.task_id
       WHERE a.state = 'pending' AND a.created_at < ? AND t.completed_at IS NOT NULL LIMIT ?)`,
    before,
    limit,
  );
  return changes;
}

/** Deletes the logs of tasks that ended before a time. Returns the number of those tasks. */
export function expireLogs(db: Database, before: number, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const rows = await tx.all<{ id: TaskId }>(
      "SELECT id FROM forge_action_tasks WHERE is_log_expired = 0 AND completed_at < ? LIMIT ?",
      before,
      limit,
    );
    for (const { id } of rows) {
      await tx.run("DELETE FROM forge_action_log_chunks WHERE task_id = ?", id);
      await tx.run(
        `UPDATE forge_action_tasks SET is_log_expired = 1, is_log_sealed = 1, sealed_masks = NULL, log_rows = 0
         WHERE id = ?`,
        id,
      );
    }
    return rows.length;
  });
}

/** Lists the ids of runs that ended before a time, the oldest first. */
export async function listExpiredRuns(
  db: Queries,
  before: number,
  limit: number,
): Promise<RunId[]> {
  const rows = await db.all<{ id: RunId }>(
    `SELECT id FROM forge_action_runs
     WHERE completed_at < ? AND status IN ('success', 'failure', 'cancelled', 'skipped') ORDER BY completed_at LIMIT ?`,
    before,
    limit,
  );
  return rows.map(({ id }) => id);
}

/** Deletes ephemeral runners whose job has ended. */
export async function deleteUsedRunners(db: Queries): Promise<void> {
  await db.run(
    `DELETE FROM forge_action_runners WHERE is_ephemeral = 1
       AND EXISTS (SELECT 1 FROM forge_action_tasks t WHERE t.runner_id = forge_action_runners.id)
       AND NOT EXISTS (SELECT 1 FROM forge_action_tasks t
         WHERE t.runner_id = forge_action_runners.id AND t.completed_at IS NULL)`,
  );
}
