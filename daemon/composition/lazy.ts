import type { Database } from "../../storage/engine/database.ts";
import type { CronTask, DeclaredTask } from "../jobs/cron-task.ts";

/** A part of the daemon that is loaded and opened at its first use. */
export interface Lazy<T> {
  /** Opens the part, or returns the opened one. The next call after a failure tries again. */
  get(): Promise<T>;
  /** The part if it is open. */
  readonly opened: T | undefined;
  /** Closes the part if it was opened; it cannot be opened afterwards. */
  close(): Promise<void>;
}

export function createLazy<T extends { close(): Promise<void> }>(open: () => Promise<T>): Lazy<T> {
  let opening: Promise<T> | undefined;
  let opened: T | undefined;
  let isClosed = false;
  return {
    get() {
      if (isClosed) return Promise.reject(new Error("the daemon is stopping"));
      opening ??= open().then(
        (part) => (opened = part),
        (error: unknown) => {
          opening = undefined;
          throw error;
        },
      );
      return opening;
    },
    get opened() {
      return opened;
    },
    async close() {
      isClosed = true;
      // A failure to open was reported to the caller that asked for the part.
      const part = await opening?.catch(() => undefined);
      await part?.close();
    },
  };
}

/** A part that runs scheduled tasks. */
export interface TaskRunner {
  runTask(name: string, signal: AbortSignal): Promise<void>;
}

/** Makes tasks of declared ones: a run opens the part that has the code, unless the task has nothing to do. */
export function toLazyTasks(
  declared: readonly DeclaredTask[],
  db: Database,
  part: Pick<Lazy<TaskRunner>, "get">,
): CronTask[] {
  return declared.map(({ isNeeded, ...task }) => ({
    ...task,
    async run(signal) {
      if (isNeeded !== undefined && !(await isNeeded(db))) return;
      await (await part.get()).runTask(task.name, signal);
    },
  }));
}

/** Returns the function that runs the code of declared tasks. @throws Error when a task has no code */
export function createTaskRunner(
  declared: readonly DeclaredTask[],
  tasks: readonly CronTask[],
): TaskRunner["runTask"] {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const missing = declared.filter(({ name }) => !byName.has(name));
  if (missing.length > 0)
    throw new Error(`${missing.map(({ name }) => name).join(", ")} has no code`);
  return async (name, signal) => byName.get(name)?.run(signal);
}
