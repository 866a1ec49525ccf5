import type { Database } from "../../../storage/engine/database.ts";
import { listDueTimes, listJobs } from "../../../storage/tables/common/jobs.ts";
import {
  beginCronRun,
  type CronRecord,
  endCronRun,
  listCronRecords,
} from "../../../storage/tables/forge/cron.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import { createSchedules, type Schedules, toScheduleKind } from "../../jobs/schedule.ts";
import type { Log } from "../../utilities/logging.ts";
import type { PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { type CronTask, toNext } from "./cron.ts";

/** A task with what is known of its runs. */
export interface SeenTask {
  readonly task: CronTask;
  /** Epoch milliseconds. */
  readonly nextAt: number;
  /** Undefined before the first run. */
  readonly record: CronRecord | undefined;
}

/** The scheduled tasks, for operators. */
export interface CronTasks {
  /** A page of the tasks in the order of their list, and the count of all. */
  list(
    window: PageWindow,
  ): Promise<{ readonly tasks: readonly SeenTask[]; readonly total: number }>;
  /**
   * Runs a task now and waits until it has run, but not for long: what takes longer goes on by itself. A task that is
   * running is left alone. Refuses with `not_found`.
   */
  run(name: string): Promise<void>;
  /** Makes sure that each task has its next time. After the queue has started. */
  start: Schedules["start"];
}

export interface CronDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly queue: JobQueue;
  readonly log: Log;
  readonly tasks: readonly CronTask[];
  /** Of schedules that name hours or days. */
  readonly timeZone: string;
}

/** How long a request waits for the run that it asked for, and how often it looks for one in another process. */
const WAIT_MS = 10_000;
const LOOK_MS = 500;
const ERROR_CHARACTERS_MAX = 500;

/** The scheduled tasks, each a schedule of the job queue. */
export function createCronTasks(deps: CronDeps): CronTasks {
  const { db, clock, queue, log, tasks, timeZone } = deps;
  const nexts = new Map(tasks.map(({ name, schedule }) => [name, toNext(schedule, timeZone)]));
  const waiting = new Set<{ readonly name: string; readonly resolve: () => void }>();
  const schedules = createSchedules(
    { queue, db, clock },
    tasks.map((task) => ({
      name: toScheduleName(task),
      next: (after) => nexts.get(task.name)?.(after) ?? after,
      atStart: task.atStart ?? false,
      ...(task.timeoutMs === undefined ? {} : { timeoutMs: task.timeoutMs }),
      run: ({ signal }) => perform(task, signal),
    })),
  );
  return {
    start: () => schedules.start(),

    async list({ page, limit }) {
      const from = (page - 1) * limit;
      const records = await listCronRecords(db);
      const due = new Map((await listDueTimes(db)).map(({ kind, runAt }) => [kind, runAt]));
      const seen = tasks.slice(from, from + limit).map((task) => ({
        task,
        nextAt:
          due.get(toScheduleKind(toScheduleName(task))) ?? nexts.get(task.name)?.(clock()) ?? 0,
        record: records.get(task.name),
      }));
      return { tasks: seen, total: tasks.length };
    },

    async run(name) {
      const task = tasks.find((each) => each.name === name);
      if (task === undefined) throw notFound();
      const kind = toScheduleKind(toScheduleName(task));
      const running = await listJobs(db, { state: "running", kind }, { limit: 1, offset: 0 });
      const record = (await listCronRecords(db)).get(name);
      // A run that has ended may still have to be struck off the queue.
      if (running.length > 0 && record?.finishedAt === undefined) return;
      const before = record?.execTimes ?? 0;
      await schedules.runNow(toScheduleName(task), () => waitForRun(name, before));
    },
  };

  async function perform(task: CronTask, signal: AbortSignal): Promise<void> {
    await db.transaction((tx) => beginCronRun(tx, task.name));
    let error: string | undefined;
    try {
      await task.run(signal);
    } catch (thrown) {
      error = toText(thrown);
      log.warn({ err: thrown, task: task.name }, "a scheduled task failed");
    }
    await db.transaction((tx) => endCronRun(tx, task.name, error));
    for (const each of [...waiting].filter(({ name }) => name === task.name)) each.resolve();
  }

  /** Resolves when a run after the first `before` ones has ended, here or in another process, or the wait is over. */
  function waitForRun(name: string, before: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearInterval(looking);
        clearTimeout(timer);
        waiting.delete(self);
        resolve();
      };
      const self = { name, resolve: end };
      const look = async () => {
        const record = (await listCronRecords(db)).get(name);
        if (record !== undefined && record.execTimes > before && record.finishedAt !== undefined)
          end();
      };
      const looking = setInterval(() => look().catch(end), LOOK_MS);
      const timer = setTimeout(end, WAIT_MS);
      looking.unref();
      timer.unref();
      waiting.add(self);
    });
  }
}

/** Schedules of tasks are told apart from others by their names. */
function toScheduleName({ name }: CronTask): string {
  return `cron.${name}`;
}

function toText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, ERROR_CHARACTERS_MAX).toWellFormed().replaceAll("\0", "");
}
