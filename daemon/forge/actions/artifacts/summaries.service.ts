import type { Database } from "../../../../storage/engine/database.ts";
import { listRunJobs } from "../../../../storage/tables/forge/actions/jobs.ts";
import { findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import {
  countOtherSummaries,
  findNextSummary,
  putSummary,
} from "../../../../storage/tables/forge/actions/summaries.ts";
import {
  findTask,
  findTaskOwner,
  listSteps,
  listTasksOfJobs,
} from "../../../../storage/tables/forge/actions/tasks.ts";
import { AppError } from "../../../errors.ts";
import { uploadTooLarge } from "../../../utilities/receive-body.ts";
import type { ForgeCaller } from "../../caller.ts";
import { notFound } from "../../refusals.ts";
import type { RepositoryPath } from "../../repositories/repositories.service.ts";
import { openForActions } from "../runs/workflow-files.ts";
import type { Masks } from "../secrets/masks.service.ts";
import type { RunningTask } from "./running-tasks.ts";
import { type RunId, toRunId } from "../../../../storage/tables/forge/ids.ts";

/** The step that a job names in the address of a summary. */
interface SummaryPath {
  readonly run: number;
  readonly job: number;
  readonly step: number;
}

/** Maximum bytes of all summaries of a job. */
const JOB_BYTES_MAX = 4 * 1024 * 1024;

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
     * `invalid_argument` for the step of another job and once the log has ended, and `too_large`.
     */
    async put(task: RunningTask, path: SummaryPath, bytes: Buffer): Promise<void> {
      const { taskId } = task;
      const number = path.step;
      const steps = (await listSteps(db, [taskId])).get(taskId) ?? [];
      const isOwn = path.run === task.runId && path.job === task.jobId;
      if (!isOwn || !steps.some((step) => step.number === number))
        throw new AppError("invalid_argument", "the address names no step of this job");
      const stored = await findTask(db, taskId);
      // The masks are deleted when the log ends, so secrets could no longer be masked.
      if (stored?.isLogSealed !== false) throw logEnded();
      const rows = bytes.toString("utf8").replaceAll("\0", "\uFFFD").split("\n");
      const ownerId = await findTaskOwner(db, taskId);
      if (ownerId === undefined) throw notFound();
      const { sealedMasks } = stored;
      const masked = await masks.mask({ taskId, sealedMasks, ownerId }, rows);
      const content = masked.rows.join("\n");
      await db.transaction(async (tx) => {
        // The log may have ended while the summary was masked.
        if ((await findTask(tx, taskId))?.isLogSealed !== false) throw logEnded();
        const others = await countOtherSummaries(tx, taskId, number);
        if (others + Buffer.byteLength(content) > JOB_BYTES_MAX)
          throw uploadTooLarge(JOB_BYTES_MAX);
        await putSummary(tx, { taskId, number, content });
      });
    },

    /** Finds the summaries of the last attempt of a run, in Markdown, one after the other. Throws `not_found`. */
    async open(
      path: RepositoryPath & { readonly run: number },
      caller: ForgeCaller | undefined,
    ): Promise<AsyncGenerator<string>> {
      const below = `/runs/${path.run}/summary`;
      const { repository } = await openForActions(db, path, caller, below);
      const run = await findRun(db, toRunId(path.run));
      if (run?.repositoryId !== repository.id) throw notFound();
      return read(run.id, run.attempt);
    },
  };

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

const logEnded = () => new AppError("invalid_argument", "the log of the job has ended");

/** Escapes characters that are markup in Markdown. */
function toPlainMarkdown(name: string): string {
  return name.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, "\\$&");
}
