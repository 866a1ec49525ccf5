import type { Transaction } from "../../../../storage/engine/database.ts";
import { type ActionJob, updateJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { type ActionStatus, isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import { evaluateTemplate } from "../workflows/expressions/evaluate.ts";
import { ExpressionError, toText } from "../workflows/expressions/values.ts";
import type { Mapping } from "../workflows/mapping.ts";
import type { OpenRun } from "./open-run.ts";
import { findCalled, findScope, type JobScope } from "./job-scopes.ts";
import { insertBlockedJob, RUN_JOBS_MAX } from "./new-jobs.ts";
import { toNeed } from "./run-contexts.ts";
import { toJointStatus } from "./run-records.ts";

export interface CallDeps {
  readonly setStatus: (
    tx: Transaction,
    run: ActionRun,
    job: ActionJob,
    status: ActionStatus,
  ) => Promise<unknown>;
  /** Fails a job for an error of its expressions, which the run shows. */
  readonly fail: (tx: Transaction, run: ActionRun, job: ActionJob, error: Error) => Promise<void>;
}

/** Jobs that call another workflow: they begin with the jobs of that workflow, and end when these have ended. */
export function createCalls({ setStatus, fail }: CallDeps) {
  return {
    /**
     * Adds the jobs of the workflow that a job calls, and returns how many.
     * @param count the jobs of the attempt
     */
    async begin(
      tx: Transaction,
      { run, workflow }: OpenRun,
      {
        job,
        scope,
        count,
      }: { readonly job: ActionJob; readonly scope: JobScope; readonly count: number },
    ): Promise<number> {
      const called = findCalled(workflow, scope.definition);
      if (called === undefined) throw new Error(`job ${job.id} calls no workflow of its run`);
      if (count + called.jobs.length > RUN_JOBS_MAX) {
        await fail(tx, run, job, new ExpressionError(`a run has at most ${RUN_JOBS_MAX} jobs`));
        return 0;
      }
      for (const definition of called.jobs) await insertBlockedJob(tx, run, definition, job);
      await setStatus(tx, run, job, "waiting");
      return called.jobs.length;
    },

    /**
     * Updates the status of jobs that call a workflow from the jobs of that workflow. Returns false when no status
     * changes.
     */
    async settle(tx: Transaction, opened: OpenRun, jobs: readonly ActionJob[]): Promise<boolean> {
      const present = new Map(jobs.map((job) => [job.id, job]));
      let hasChanged = false;
      // The innermost calls come first, because the status of the outer ones depends on them.
      for (const { id } of jobs.filter(({ call }) => call !== undefined).toReversed()) {
        const job = present.get(id);
        const inner = [...present.values()].filter(({ parentJobId }) => parentJobId === id);
        if (job === undefined || isFinal(job.status) || inner.length === 0) continue;
        const status = toJointStatus(inner);
        if (status === job.status || status === "blocked") continue;
        hasChanged = true;
        if (isFinal(status)) present.set(id, await end(tx, opened, { job, jobs, inner, status }));
        else {
          await setStatus(tx, opened.run, job, status);
          present.set(id, { ...job, status });
        }
      }
      return hasChanged;
    },
  };

  /** Ends a job with the outputs of the workflow that it calls. Returns the updated job. */
  async function end(
    tx: Transaction,
    opened: OpenRun,
    {
      job,
      jobs,
      inner,
      status,
    }: {
      readonly job: ActionJob;
      readonly jobs: readonly ActionJob[];
      readonly inner: readonly ActionJob[];
      readonly status: ActionStatus;
    },
  ): Promise<ActionJob> {
    try {
      const outputs = evaluateOutputs(opened, jobs, inner);
      await updateJob(tx, job.id, { outputs });
      await setStatus(tx, opened.run, { ...job, outputs }, status);
      return { ...job, outputs, status };
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      await fail(tx, opened.run, job, error);
      return { ...job, status: "failure" };
    }
  }

  /** Evaluates the outputs that a called workflow declares. @throws ExpressionError */
  function evaluateOutputs(
    opened: OpenRun,
    jobs: readonly ActionJob[],
    inner: readonly ActionJob[],
  ): Record<string, string> {
    const [first] = inner;
    const scope = first && findScope(opened, jobs, first);
    if (scope === undefined) return {};
    const results: Mapping = Object.fromEntries(
      scope.workflow.jobs.map(({ key }) => {
        const { result, outputs } = toNeed(inner.filter((each) => each.key === key));
        return [key, { result, outputs: { ...outputs } }];
      }),
    );
    const { github, inputs } = scope;
    const contexts = { github, inputs, vars: opened.vars, jobs: results };
    return Object.fromEntries(
      Object.entries(scope.workflow.callInterface?.outputs ?? {}).map(([name, template]) => [
        name,
        toText(evaluateTemplate(template, { contexts })),
      ]),
    );
  }
}
