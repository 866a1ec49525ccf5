import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionJob,
  measureOutputs,
  updateJob,
} from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { type ActionStatus, isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import type { OpenRun } from "./open-run.ts";
import { findCalled, findScope, type JobScope } from "./job-scopes.ts";
import { insertBlockedJob, RUN_JOBS_MAX } from "./new-jobs.ts";
import type { Evaluator } from "./evaluator.ts";
import { readNeeds } from "./run-contexts.ts";
import { toJointStatus } from "./run-records.ts";

export interface CallDeps {
  readonly setStatus: (
    tx: Transaction,
    run: ActionRun,
    job: ActionJob,
    status: ActionStatus,
  ) => Promise<unknown>;
  /** Fails a job for an error of its expressions, which the run shows. */
  readonly fail: (tx: Transaction, run: ActionRun, job: ActionJob, reason: string) => Promise<void>;
  readonly evaluator: Pick<Evaluator, "evaluate">;
}

/** Jobs that call another workflow: they begin with the jobs of that workflow, and end when these have ended. */
export function createCalls({ setStatus, fail, evaluator }: CallDeps) {
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
        await fail(tx, run, job, `a run has at most ${RUN_JOBS_MAX} jobs`);
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
        const isEnd = isFinal(status);
        const changed = isEnd
          ? await end(tx, opened, { job, jobs, inner, status })
          : { ...job, status };
        if (changed === undefined) continue;
        hasChanged = true;
        present.set(id, changed);
        if (!isEnd) await setStatus(tx, opened.run, job, status);
      }
      return hasChanged;
    },
  };

  /**
   * Ends a job with the outputs of the workflow that it calls. Returns the updated job; undefined when the evaluation of
   * the outputs is left to a thread.
   */
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
  ): Promise<ActionJob | undefined> {
    const [first] = inner;
    const scope = first && findScope(opened, jobs, first);
    const templates = scope?.workflow.callInterface?.outputs ?? {};
    if (scope === undefined || Object.keys(templates).length === 0) {
      await setStatus(tx, opened.run, job, status);
      return { ...job, status };
    }
    const { github, inputs, workflow } = scope;
    const keys = workflow.jobs.map(({ key }) => key);
    const result = await evaluator.evaluate(tx, {
      runId: opened.run.id,
      key: `outputs ${job.id}`,
      bytes: await measureOutputs(
        tx,
        inner.map(({ id }) => id),
      ),
      build: async () => ({
        kind: "outputs",
        templates,
        contexts: { github, inputs, vars: opened.vars },
        needs: await readNeeds(tx, keys, inner),
      }),
    });
    if (result === undefined) return undefined;
    if (result.kind === "failed") {
      await fail(tx, opened.run, job, result.reason);
      return { ...job, status: "failure" };
    }
    if (result.kind === "outputs") await updateJob(tx, job.id, { outputs: result.outputs });
    await setStatus(tx, opened.run, job, status);
    return { ...job, status };
  }
}
