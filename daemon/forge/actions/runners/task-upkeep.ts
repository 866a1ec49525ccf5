import type { Database } from "../../../../storage/engine/database.ts";
import { findJob, listAbandonedJobs } from "../../../../storage/tables/forge/actions/jobs.ts";
import { deleteRunner, findRunner } from "../../../../storage/tables/forge/actions/runners.ts";
import { findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import {
  findTask,
  listOverdueTasks,
  listSilentTasks,
  sealEndedLogs,
  updateTask,
} from "../../../../storage/tables/forge/actions/tasks.ts";
import { type CronTask, forEachAlone } from "../../../jobs/cron-task.ts";
import { forgeTasks } from "../../tasks.ts";
import type { RunEngine } from "../runs/advance-run.ts";
import { finishTask } from "./tasks.service.ts";

/** A task without a report for this long has lost its runner. */
const SILENT_MS = 600_000;
/** Time in which runners report again after they could not; less than the time between two runs of the task. */
const GRACE_MS = 240_000;
/** The longest run of a task whose job names no limit, and the longest wait for a runner. */
const DEFAULT_TIMEOUT_MS = 3 * 3_600_000;
const ABANDONED_MS = 24 * 3_600_000;
/** Maximum number of tasks and jobs that one run of a scheduled task ends. */
const OVERDUE_MAX = 1_000;
/** Silent tasks that one run ends. */
const SILENT_PAGE = 100;

/** Returns the scheduled tasks that end tasks and jobs whose runner is silent, too slow or missing. */
export function createTaskUpkeep({
  db,
  clock,
  engine,
}: {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly engine: RunEngine;
}): readonly CronTask[] {
  /** When silent tasks were last looked for, and since when runners can report. */
  let lookedAt = clock();
  let listensSince = lookedAt;
  return [
    { ...forgeTasks.stop_zombie_tasks, run: failSilent },
    { ...forgeTasks.stop_endless_tasks, run: stopOverdue },
    { ...forgeTasks.stop_overdue_jobs, run: stopOverdue },
    { ...forgeTasks.cancel_abandoned_jobs, run: cancelAbandoned },
  ];

  /**
   * Ends the tasks whose runner has not reported for ten minutes or was deleted. None when it could not report: the daemon
   * has just started, the machine slept, or the clock was set. The next run ends those that have not reported since.
   */
  async function failSilent(): Promise<void> {
    const sinceMs = clock() - lookedAt;
    lookedAt = clock();
    if (sinceMs >= SILENT_MS || sinceMs < 0) listensSince = lookedAt;
    if (lookedAt - listensSince < GRACE_MS) return;
    const heard = { after: clock() - SILENT_MS, before: clock() + SILENT_MS };
    await forEachAlone(await listSilentTasks(db, heard, SILENT_PAGE), ({ id }) =>
      db.transaction(async (tx) => {
        const task = await findTask(tx, id);
        const isSilent =
          task?.runnerId === undefined ||
          task.reportedAt < heard.after ||
          task.reportedAt > heard.before;
        if (task === undefined || isFinal(task.status) || !isSilent) return;
        await finishTask(tx, engine, task, task.status === "cancelling" ? "cancelled" : "failure");
        await updateTask(tx, task.id, { isLogSealed: true });
        const runner =
          task.runnerId === undefined ? undefined : await findRunner(tx, task.runnerId);
        if (runner?.isEphemeral === true) await deleteRunner(tx, runner.id);
      }),
    );
  }

  /**
   * Cancels tasks that have run longer than `timeout-minutes` of their job or three hours, and ends those whose
   * runner has
   * not stopped ten minutes after they were cancelled.
   */
  async function stopOverdue(): Promise<void> {
    const times = {
      now: clock(),
      defaultMs: DEFAULT_TIMEOUT_MS,
      cancelledBefore: clock() - SILENT_MS,
    };
    await sealEndedLogs(db, clock() - SILENT_MS);
    await forEachAlone(await listOverdueTasks(db, times, OVERDUE_MAX), ({ id }) =>
      db.transaction(async (tx) => {
        const task = await findTask(tx, id);
        const job = task && (await findJob(tx, task.jobId));
        const run = job && (await findRun(tx, job.runId));
        if (task === undefined || job === undefined || run === undefined) return;
        if (isFinal(task.status)) return;
        if (task.status === "cancelling") await finishTask(tx, engine, task, "cancelled");
        else {
          await engine.cancelJob(tx, run, job);
          await engine.advance(tx, run.id);
        }
      }),
    );
  }

  /** Cancels jobs that no runner has taken within a day. */
  async function cancelAbandoned(): Promise<void> {
    const abandoned = await listAbandonedJobs(db, clock() - ABANDONED_MS, OVERDUE_MAX);
    await forEachAlone(abandoned, ({ id }) =>
      db.transaction(async (tx) => {
        const job = await findJob(tx, id);
        const run = job && (await findRun(tx, job.runId));
        if (job?.status !== "waiting" || run === undefined) return;
        await engine.cancelJob(tx, run, job);
        await engine.advance(tx, run.id);
      }),
    );
  }
}
