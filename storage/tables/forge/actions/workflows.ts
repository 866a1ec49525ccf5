import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, integer, named, now, text, unread } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { ScheduleId, RepositoryId } from "../ids.ts";

const disabledWorkflows = defineTable("forge_action_disabled_workflows", {
  repositoryId: id<RepositoryId>(),
  file: named("workflow_file", text()),
  disabledAt: now(),
});

/** Returns the files of a repository whose workflows are disabled. */
export async function listDisabledWorkflows(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ReadonlySet<string>> {
  const rows = await disabledWorkflows.list(db, { repositoryId });
  return new Set(rows.map(({ file }) => file));
}

/** Disables or enables the workflow of a file. Idempotent. */
export async function setWorkflowDisabled(
  tx: Transaction,
  repositoryId: RepositoryId,
  file: string,
  isDisabled: boolean,
): Promise<void> {
  const row = { repositoryId, file };
  if (!isDisabled) await disabledWorkflows.delete(tx, row);
  else
    await disabledWorkflows.upsert(
      tx,
      row,
      "ON CONFLICT (repository_id, workflow_file) DO NOTHING",
    );
}

const schedules = defineTable("forge_action_schedules", {
  id: generated(id<ScheduleId>()),
  repositoryId: id<RepositoryId>(),
  file: named("workflow_file", text()),
  cron: text(),
  nextAt: integer(),
  /** When `nextAt` was computed. */
  plannedAt: unread(now()),
});
/** A cron expression of a workflow on the default branch. Times are epoch milliseconds. */
export type ActionSchedule = RecordOf<typeof schedules>;

/** Replaces the schedules of a repository; those that stay keep their next time. */
export async function replaceSchedules(
  tx: Transaction,
  repositoryId: RepositoryId,
  wanted: readonly Pick<ActionSchedule, "file" | "cron" | "nextAt">[],
): Promise<void> {
  for (const { id, ...present } of await schedules.list(tx, { repositoryId }))
    if (!wanted.some(({ file, cron }) => file === present.file && cron === present.cron))
      await deleteSchedule(tx, id);
  for (const { file, cron, nextAt } of wanted)
    await schedules.upsert(
      tx,
      { repositoryId, file, cron, nextAt },
      "ON CONFLICT (repository_id, workflow_file, cron) DO NOTHING",
    );
}

/** Lists schedules that are due, the longest due first. */
export const listDueSchedules = (
  db: Queries,
  at: number,
  limit: number,
): Promise<ActionSchedule[]> =>
  schedules.list(db, sql`next_at <= ${at}`, { order: "next_at, id", limit });

/** Lists schedules whose next time a clock that was ahead of `now` has computed, in the order of their ids. */
export const listSchedulesPlannedAfter = (
  db: Queries,
  now: number,
  { afterId, limit }: { readonly afterId: ScheduleId | 0; readonly limit: number },
): Promise<ActionSchedule[]> =>
  schedules.list(db, sql`planned_at > ${now} AND id > ${afterId}`, { order: "id", limit });

/** Moves a schedule to its next time. Returns false when another process has already done so. */
export async function moveSchedule(
  tx: Transaction,
  { id, nextAt }: Pick<ActionSchedule, "id" | "nextAt">,
  next: number,
): Promise<boolean> {
  return (await schedules.update(tx, { id, nextAt }, { nextAt: next, plannedAt: tx.now })) === 1;
}

export async function deleteSchedule(db: Queries, id: ScheduleId): Promise<void> {
  await schedules.delete(db, { id });
}
