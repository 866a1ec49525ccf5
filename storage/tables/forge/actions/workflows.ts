import type { Queries, Transaction } from "../../../engine/database.ts";
import type { ScheduleId, RepositoryId } from "../ids.ts";

/** Returns the files of a repository whose workflows are disabled. */
export async function listDisabledWorkflows(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ workflow_file: string }>(
    "SELECT workflow_file FROM forge_action_disabled_workflows WHERE repository_id = ?",
    repositoryId,
  );
  return new Set(rows.map((row) => row.workflow_file));
}

/** Disables or enables the workflow of a file. Idempotent. */
export async function setWorkflowDisabled(
  tx: Transaction,
  repositoryId: RepositoryId,
  file: string,
  isDisabled: boolean,
): Promise<void> {
  if (isDisabled)
    await tx.run(
      `INSERT INTO forge_action_disabled_workflows (repository_id, workflow_file, disabled_at) VALUES (?, ?, ?)
       ON CONFLICT (repository_id, workflow_file) DO NOTHING`,
      repositoryId,
      file,
      tx.now,
    );
  else
    await tx.run(
      "DELETE FROM forge_action_disabled_workflows WHERE repository_id = ? AND workflow_file = ?",
      repositoryId,
      file,
    );
}

/** A cron expression of a workflow on the default branch. `nextAt` is in epoch milliseconds. */
export interface ActionSchedule {
  readonly id: ScheduleId;
  readonly repositoryId: RepositoryId;
  readonly file: string;
  readonly cron: string;
  readonly nextAt: number;
}

/** Replaces the schedules of a repository; those that stay keep their next time. */
export async function replaceSchedules(
  tx: Transaction,
  repositoryId: RepositoryId,
  schedules: readonly Pick<ActionSchedule, "file" | "cron" | "nextAt">[],
): Promise<void> {
  const rows = await tx.all<{ id: ScheduleId; workflow_file: string; cron: string }>(
    "SELECT id, workflow_file, cron FROM forge_action_schedules WHERE repository_id = ?",
    repositoryId,
  );
  for (const row of rows)
    if (!schedules.some(({ file, cron }) => file === row.workflow_file && cron === row.cron))
      await deleteSchedule(tx, row.id);
  for (const { file, cron, nextAt } of schedules)
    await tx.run(
      `INSERT INTO forge_action_schedules (repository_id, workflow_file, cron, next_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (repository_id, workflow_file, cron) DO NOTHING`,
      repositoryId,
      file,
      cron,
      nextAt,
    );
}

interface ScheduleRow {
  readonly id: ScheduleId;
  readonly repository_id: RepositoryId;
  readonly workflow_file: string;
  readonly cron: string;
  readonly next_at: number;
}

const SELECT_SCHEDULES =
  "SELECT id, repository_id, workflow_file, cron, next_at FROM forge_action_schedules";

const toSchedule = (row: ScheduleRow): ActionSchedule => ({
  id: row.id,
  repositoryId: row.repository_id,
  file: row.workflow_file,
  cron: row.cron,
  nextAt: row.next_at,
});

/** Lists schedules that are due, the longest due first. */
export async function listDueSchedules(
  db: Queries,
  now: number,
  limit: number,
): Promise<ActionSchedule[]> {
  const rows = await db.all<ScheduleRow>(
    `${SELECT_SCHEDULES} WHERE next_at <= ? ORDER BY next_at, id LIMIT ?`,
    now,
    limit,
  );
  return rows.map(toSchedule);
}

/** Lists schedules after an id, in the order of ids. */
export async function listSchedulesAfter(
  db: Queries,
  id: ScheduleId | 0,
  limit: number,
): Promise<ActionSchedule[]> {
  const rows = await db.all<ScheduleRow>(
    `${SELECT_SCHEDULES} WHERE id > ? ORDER BY id LIMIT ?`,
    id,
    limit,
  );
  return rows.map(toSchedule);
}

/** Moves a schedule to its next time. Returns false when another process has already done so. */
export async function moveSchedule(
  tx: Transaction,
  { id, nextAt }: Pick<ActionSchedule, "id" | "nextAt">,
  next: number,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE forge_action_schedules SET next_at = ? WHERE id = ? AND next_at = ?",
    next,
    id,
    nextAt,
  );
  return changes === 1;
}

export async function deleteSchedule(db: Queries, id: ScheduleId): Promise<void> {
  await db.run("DELETE FROM forge_action_schedules WHERE id = ?", id);
}
