import type { Transaction } from "../../../../storage/engine/database.ts";
import { type ActionJob, insertJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import type { ExpressionValue } from "../../../workflows/expressions/values.ts";
import type { JobDefinition } from "../../../workflows/workflow.ts";

/**
 * Maximum number of jobs of one attempt, with each combination of a matrix counted, as in Gitea: every decision reads
 * all of them.
 */
export const RUN_JOBS_MAX = 256;
const NAME_CHARACTERS_MAX = 255;

/** Adds a blocked job to an attempt. @param caller the job that calls its workflow */
export function insertBlockedJob(
  tx: Transaction,
  run: ActionRun,
  { key, name, runsOn }: JobDefinition,
  caller?: ActionJob,
): Promise<ActionJob> {
  return insertJob(tx, {
    runId: run.id,
    repositoryId: run.repositoryId,
    attempt: run.attempt,
    parentJobId: caller?.id,
    key,
    name: toJobName(name === "" || name.includes("${{") ? key : name, caller),
    status: "blocked",
    isExpanded: false,
    // Shown until the job is decided, and for good when it is skipped.
    labels: toFixedLabels(runsOn),
    payload: "",
    failFast: true,
    maxParallel: 0,
    timeoutMinutes: 0,
    continueOnError: false,
  });
}

/** Returns labels without expressions, which are known before the job is decided. */
function toFixedLabels(runsOn: ExpressionValue): readonly string[] {
  const labels: readonly ExpressionValue[] = Array.isArray(runsOn) ? runsOn : [runsOn];
  return labels.flatMap((each) =>
    typeof each === "string" && each !== "" && !each.includes("${{") ? [each] : [],
  );
}

/** Returns the name of a job. A job of a called workflow has the name of the calling job as a prefix. */
export function toJobName(name: string, caller: ActionJob | undefined): string {
  const full = caller === undefined ? name : `${caller.name} / ${name}`;
  return [...full].slice(0, NAME_CHARACTERS_MAX).join("");
}
