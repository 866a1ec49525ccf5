import type { Database } from "../../../../storage/engine/database.ts";
import { findJob, listRunJobs } from "../../../../storage/tables/forge/actions/jobs.ts";
import { isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import { findTask } from "../../../../storage/tables/forge/actions/tasks.ts";
import type { TaskId, RunId, JobId, RepositoryId } from "../../../../storage/tables/forge/ids.ts";
import type { RuntimeTokens } from "./runtime-tokens.ts";

/** A running task and the artifacts that it can read. */
export interface RunningTask {
  readonly taskId: TaskId;
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly repositoryId: RepositoryId;
  readonly attempt: number;
  /**
   * The first attempt whose artifacts it can read. It is an earlier attempt when jobs of that attempt did not run
   * again.
   */
  readonly fromAttempt: number;
}

/** Finds running tasks by their runtime tokens. */
export type RunningTasks = ReturnType<typeof createRunningTasks>;

export function createRunningTasks({
  db,
  runtimeTokens,
}: {
  readonly db: Database;
  readonly runtimeTokens: Pick<RuntimeTokens, "verify">;
}) {
  return {
    /** Returns the task of a token; undefined for an invalid token and once the task has ended. */
    async find(token: string): Promise<RunningTask | undefined> {
      const identity = token === "" ? undefined : await runtimeTokens.verify(token);
      if (identity === undefined) return undefined;
      const { taskId, runId, jobId } = identity;
      const task = await findTask(db, taskId);
      const job = task && (await findJob(db, task.jobId));
      if (task === undefined || isFinal(task.status)) return undefined;
      if (job?.id !== jobId || job.runId !== runId) return undefined;
      const { repositoryId, attempt } = job;
      const fromAttempt = await findFirstReadableAttempt(db, runId, attempt);
      return { taskId, jobId, runId, repositoryId, attempt, fromAttempt };
    },
  };
}

async function findFirstReadableAttempt(
  db: Database,
  runId: RunId,
  attempt: number,
): Promise<number> {
  if (attempt === 1) return attempt;
  let first = attempt;
  for (const { originalJobId } of await listRunJobs(db, runId, attempt)) {
    const original = originalJobId === undefined ? undefined : await findJob(db, originalJobId);
    first = Math.min(first, original?.attempt ?? first);
  }
  return first;
}
