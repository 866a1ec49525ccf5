import type { Database } from "../../../storage/engine/database.ts";
import { listDueTimes, listJobs } from "../../../storage/tables/common/jobs.ts";
import {
  beginCronRun,
  type CronRecord,
  endCronRun,
  listCronRecords,
} from "../../../storage/tables/forge/cron.ts";
import { type CronTask, toNext } from "../../jobs/cron-task.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import { createSchedules, toScheduleKind } from "../../jobs/schedule.ts";
import type { Log } from "../../utilities/logging.ts";
import type { PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { type DisabledTask, isEnabled } from "./gitea-tasks.ts";

/** A task with its runs. */
export interface TaskStatus {
  readonly task: CronTask | DisabledTask;
  /** Epoch milliseconds; undefined for a disabled task. */
  readonly nextAt: number | undefined;
  /** Undefined before the first run. */
  readonly record: CronRecord | undefined;
}

/** `interrupted`: the process ended during the run. */
export type RunState = "running" | "succeeded" | "failed" | "interrupted";

/** The scheduled tasks, for administrators. */
export type CronTasks = ReturnType<typeof createCronTasks>;

export interface CronDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly queue: JobQueue;
  readonly log: Log;
  /** In the order of the list. */
  readonly tasks: readonly (CronTask | DisabledTask)[];
  /** The time zone of schedules with hours or days. */
  readonly timeZone: string;
}

/** How long a request waits for the run that it started, and the interval of polling for a run in another process. */
const WAIT_MS = 10_000;
const POLL_MS = 500;
const ERROR_CHARACTERS_MAX = 500;

/** Creates the tasks, each of which is a schedule of the job queue. */
export function createCronTasks(deps: CronDeps) {
  const { db, clock, queue, log, tasks, timeZone } = deps;
  const enabled = tasks.filter(isEnabled);
  const nexts = new Map(enabled.map(({ name, schedule }) => [name, toNext(schedule, timeZone)]));
  const waiting = new Set<{ readonly name: string; readonly resolve: () => void }>();
  const schedules = createSchedules(
    { queue, db, clock },
    enabled.map((task) => ({
      name: toScheduleName(task),
      next: (after) => nexts.get(task.name)?.(after) ?? after,
      atStart: task.atStart ?? false,
      ...(task.timeoutMs === undefined ? {} : { timeoutMs: task.timeoutMs }),
      run: ({ signal }) => perform(task, signal),
    })),
  );
  return {
    /** Schedules the next run of each task. Call it after the queue has started. */
    start: () => schedules.start(),

    /** Returns a page of the tasks, and their count. */
    async list({
      page,
      limit,
    }: PageWindow): Promise<{ readonly tasks: readonly TaskStatus[]; readonly total: number }> {
      const from = (page - 1) * limit;
      const records = await listCronRecords(db);
      const due = new Map((await listDueTimes(db)).map(({ kind, runAt }) => [kind, runAt]));
      const statuses = tasks.slice(from, from + limit).map((task) => ({
        task,
        nextAt: due.get(toScheduleKind(toScheduleName(task))) ?? nexts.get(task.name)?.(clock()),
        record: records.get(task.name),
      }));
      return { tasks: statuses, total: tasks.length };
    },

    /**
     * Runs a task now, and waits at most `WAIT_MS` for its end. Has no effect if the task is already running. The run of a
     * disabled task is recorded, as in Gitea, and does nothing. Throws `not_found`.
     */
    async run(name: string): Promise<void> {
      const task = tasks.find((each) => each.name === name);
      if (task === undefined) throw notFound();
      if (!isEnabled(task)) return recordEmptyRun(name);
      const record = (await listCronRecords(db)).get(name);
      if (await isRunning(task, record)) return;
      const before = record?.execTimes ?? 0;
      await schedules.runNow(toScheduleName(task), () => waitForRun(name, before));
    },

    /** Returns the state of a task's latest run; undefined for an unknown task and before the first run. */
    async stateOf(name: string): Promise<RunState | undefined> {
      const task = enabled.find((each) => each.name === name);
      const record = task === undefined ? undefined : (await listCronRecords(db)).get(name);
      if (task === undefined || record === undefined) return undefined;
      if (record.finishedAt === undefined)
        return (await isRunning(task, record)) ? "running" : "interrupted";
      return record.error === undefined ? "succeeded" : "failed";
    },
  };

  async function recordEmptyRun(name: string): Promise<void> {
    await db.transaction(async (tx) => {
      await beginCronRun(tx, name);
      await endCronRun(tx, name, undefined);
    });
  }

  /** Returns whether a run is in progress. One that has ended may still be in the queue. */
  async function isRunning(task: CronTask, record: CronRecord | undefined): Promise<boolean> {
    if (record?.finishedAt !== undefined) return false;
    const kind = toScheduleKind(toScheduleName(task));
    return (await listJobs(db, { state: "running", kind }, { limit: 1, offset: 0 })).length > 0;
  }

  async function perform(task: CronTask, signal: AbortSignal): Promise<void> {
    await db.transaction((tx) => beginCronRun(tx, task.name));
    let error: string | undefined;
    try {
      await task.run(signal);
    } catch (thrown) {
      error = toText(thrown);
      log.warn({ err: thrown, task: task.name }, "scheduled task failed");
    }
    await db.transaction((tx) => endCronRun(tx, task.name, error));
    for (const each of [...waiting].filter(({ name }) => name === task.name)) each.resolve();
  }

  /** Resolves when a run after the first `before` ones has ended, here or in another process, or after `WAIT_MS`. */
  function waitForRun(name: string, before: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearInterval(polling);
        clearTimeout(timer);
        waiting.delete(self);
        resolve();
      };
      const self = { name, resolve: end };
      const poll = async () => {
        const record = (await listCronRecords(db)).get(name);
        if (record !== undefined && record.execTimes > before && record.finishedAt !== undefined)
          end();
      };
      const polling = setInterval(() => poll().catch(end), POLL_MS);
      const timer = setTimeout(end, WAIT_MS);
      polling.unref();
      timer.unref();
      waiting.add(self);
    });
  }
}

/** Returns the name of a task's schedule, with a prefix that other schedules do not have. */
function toScheduleName({ name }: Pick<CronTask, "name">): string {
  return `cron.${name}`;
}

function toText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, ERROR_CHARACTERS_MAX).toWellFormed().replaceAll("\0", "");
}
