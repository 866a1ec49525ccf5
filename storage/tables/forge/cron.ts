import type { Queries, Transaction } from "../../engine/database.ts";
import { initial, integer, now, optional, text } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";

const cronTasks = defineTable("forge_cron_tasks", {
  name: text(),
  /** Number of runs that any process has started. */
  execTimes: initial(1, integer()),
  /** Start of the latest run. */
  startedAt: now(),
  /** End of the latest run; undefined while it runs, or when its process died. */
  finishedAt: optional(integer()),
  /** The error of the latest run; undefined when it succeeded or has not ended. */
  error: optional(text()),
});
/** The record of a scheduled task's runs. Times are epoch milliseconds. */
export type CronRecord = RecordOf<typeof cronTasks>;

/** Records the start of a run. */
export async function beginCronRun(tx: Transaction, name: string): Promise<void> {
  await cronTasks.upsert(
    tx,
    { name },
    `ON CONFLICT (name) DO UPDATE SET exec_times = forge_cron_tasks.exec_times + 1, started_at = excluded.started_at,
       finished_at = NULL, error = NULL`,
  );
}

/** Records the end of the latest run. */
export async function endCronRun(
  tx: Transaction,
  name: string,
  error: string | undefined,
): Promise<void> {
  await cronTasks.update(tx, { name }, { finishedAt: tx.now, error });
}

/** Returns the records of all tasks that have ever run, by name. */
export async function listCronRecords(db: Queries): Promise<ReadonlyMap<string, CronRecord>> {
  const records = await cronTasks.list(db, {});
  return new Map(records.map((record) => [record.name, record]));
}
