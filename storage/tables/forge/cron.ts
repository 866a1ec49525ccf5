import type { Queries, Transaction } from "../../engine/database.ts";

/** The record of a scheduled task's runs. Times are epoch milliseconds. */
export interface CronRecord {
  readonly name: string;
  /** Number of runs that any process has started. */
  readonly execTimes: number;
  /** Start of the latest run. */
  readonly startedAt: number;
  /** End of the latest run; undefined while it runs, or when its process died. */
  readonly finishedAt: number | undefined;
  /** The error of the latest run; undefined when it succeeded or has not ended. */
  readonly error: string | undefined;
}

/** Records the start of a run. */
export async function beginCronRun(tx: Transaction, name: string): Promise<void> {
  await tx.run(
    `INSERT INTO forge_cron_tasks (name, exec_times, started_at) VALUES (?, 1, ?)
     ON CONFLICT (name) DO UPDATE SET exec_times = forge_cron_tasks.exec_times + 1, started_at = excluded.started_at,
       finished_at = NULL, error = NULL`,
    name,
    tx.now,
  );
}

/** Records the end of the latest run. */
export async function endCronRun(
  tx: Transaction,
  name: string,
  error: string | undefined,
): Promise<void> {
  await tx.run(
    "UPDATE forge_cron_tasks SET finished_at = ?, error = ? WHERE name = ?",
    tx.now,
    error ?? null,
    name,
  );
}

/** Returns the records of all tasks that have ever run, by name. */
export async function listCronRecords(db: Queries): Promise<ReadonlyMap<string, CronRecord>> {
  const rows = await db.all<{
    name: string;
    exec_times: number;
    started_at: number;
    finished_at: number | null;
    error: string | null;
  }>("SELECT name, exec_times, started_at, finished_at, error FROM forge_cron_tasks");
  return new Map(
    rows.map((row) => [
      row.name,
      {
        name: row.name,
        execTimes: row.exec_times,
        startedAt: row.started_at,
        finishedAt: row.finished_at ?? undefined,
        error: row.error ?? undefined,
      },
    ]),
  );
}
