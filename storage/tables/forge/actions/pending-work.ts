import type { Queries } from "../../../engine/database.ts";

// Cheap questions that decide whether the code of a scheduled task has to be loaded.

/** Returns whether a task runs, or has a log that is not sealed. */
export async function hasOpenActionTasks(db: Queries): Promise<boolean> {
  const row = await db.get(
    `SELECT id FROM forge_action_tasks
     WHERE status IN ('running', 'cancelling') OR sealed_masks IS NOT NULL LIMIT 1`,
  );
  return row !== undefined;
}

/** Returns whether a job waits for a runner. */
export async function hasWaitingActionJobs(db: Queries): Promise<boolean> {
  const row = await db.get("SELECT id FROM forge_action_jobs WHERE status = 'waiting' LIMIT 1");
  return row !== undefined;
}

/** Returns whether a workflow has a schedule. */
export async function hasActionSchedules(db: Queries): Promise<boolean> {
  const row = await db.get("SELECT id FROM forge_action_schedules LIMIT 1");
  return row !== undefined;
}
