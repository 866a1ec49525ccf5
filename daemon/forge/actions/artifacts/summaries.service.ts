import type { Database, Queries, Transaction } from "../../../../storage/engine/database.ts";
import { listRunJobs } from "../../../../storage/tables/forge/actions/jobs.ts";
import {
  countOtherSummaries,
  findNextSummary,
  putSummary,
  type StepSummary,
} from "../../../../storage/tables/forge/actions/summaries.ts";
import {
  type ActionTask,
  findTask,
  findTaskOwner,
  listSteps,
  listTasksOfJobs,
} from "../../../../storage/tables/forge/actions/tasks.ts";
import { AppError } from "../../../errors.ts";
import { uploadTooLarge } from "../../../utilities/receive-body.ts";
import type { GrantedRepository } from "../../opened.ts";
import { openRun } from "../runs/run-records.ts";
import type { Masks } from "../secrets/masks.service.ts";
import type { RunningTask } from "./running-tasks.ts";
import type { RunId, TaskId } from "../../../../storage/tables/forge/ids.ts";

/** The step that a job names in the address of a summary. */
interface SummaryPath {
  readonly run: number;
  readonly job: number;
  readonly step: number;
}

/** Maximum bytes of all summaries of a job. */
const JOB_BYTES_MAX = 4 * 1024 * 1024;

/** How often a summary is masked again because the log got further masks. */
const TRIES = 10;

/** Summaries of steps (`GITHUB_STEP_SUMMARY`): stored by jobs, read by users. */
export type Summaries = ReturnType<typeof createSummaries>;

export function createSummaries({
  db,
  masks,
}: {
  readonly db: Database;
  readonly masks: Pick<Masks, "mask">;
}) {
  return {
    /**
     * Stores the summary of a step with the secrets of the job masked, and replaces an earlier summary. Throws
     * `invalid_argument` for the step of another job and once the log has ended, `too_large`, and `unavailable` when the
     * masks of the log never stay the same.
     */
    async put(task: RunningTask, path: SummaryPath, bytes: Buffer): Promise<void> {
      const { taskId } = task;
      const number = path.step;
      const steps = (await listSteps(db, [taskId])).get(taskId) ?? [];
      const isOwn = path.run === task.runId && path.job === task.jobId;
      if (!isOwn || !steps.some((step) => step.number === number))
        throw new AppError("invalid_argument", "the address names no step of this job");
      const rows = bytes.toString("utf8").replaceAll("\0", "\uFFFD").split("\n");
      const ownerId = await findTaskOwner(db, taskId);
      if (ownerId === undefined) throw new AppError("unauthenticated", "the repository is deleted");
      // The log may get further masks while the summary is masked.
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { sealedMasks } = await getOpenTask(db, taskId);
        const masked = await masks.mask({ taskId, sealedMasks, ownerId }, rows);
        const content = masked.rows.join("\n");
        if (await db.transaction((tx) => store(tx, { taskId, number, content }, sealedMasks)))
          return;
      }
      throw new AppError("unavailable", "the masks of the log change while the summary is masked");
    },

    /** Finds the summaries of the last attempt of a run, in Markdown, one after the other. Throws `not_found`. */
    async open(opened: GrantedRepository, runId: number): Promise<AsyncGenerator<string>> {
      const run = await openRun(db, opened, runId);
      return read(run.id, run.attempt);
    },
  };

  /** Returns false, and stores nothing, when the masks of the task are others. Throws as `put` does. */
  async function store(
    tx: Transaction,
    summary: StepSummary,
    sealedMasks: string | undefined,
  ): Promise<boolean> {
    const { taskId, number, content } = summary;
    if ((await getOpenTask(tx, taskId)).sealedMasks !== sealedMasks) return false;
    const others = await countOtherSummaries(tx, taskId, number);
    if (others + Buffer.byteLength(content) > JOB_BYTES_MAX) throw uploadTooLarge(JOB_BYTES_MAX);
    await putSummary(tx, summary);
    return true;
  }

  async function* read(runId: RunId, attempt: number): AsyncGenerator<string> {
    for (const job of await listRunJobs(db, runId, attempt)) {
      const [task] = await listTasksOfJobs(db, [job.originalJobId ?? job.id]);
      if (task === undefined) continue;
      for (let after = -1, isFirst = true; ; isFirst = false) {
        const summary = await findNextSummary(db, task.id, after);
        if (summary === undefined) break;
        const heading = isFirst ? `## ${toPlainMarkdown(job.name)}\n\n` : "";
        yield `${heading}${summary.content.trimEnd()}\n\n`;
        after = summary.number;
      }
    }
  }
}

/** Returns a task whose log has not ended: the masks are deleted then, so secrets could no longer be masked. */
async function getOpenTask(db: Queries, taskId: TaskId): Promise<ActionTask> {
  const task = await findTask(db, taskId);
  if (task?.isLogSealed === false) return task;
  throw new AppError("invalid_argument", "the log of the job has ended");
}

/** Escapes characters that are markup in Markdown. */
function toPlainMarkdown(name: string): string {
  return name.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, "\\$&");
}
