import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionJob,
  copyOutputs,
  insertJob,
  listRunJobs,
  updateJob,
} from "../../../../storage/tables/forge/actions/jobs.ts";
import {
  type ActionRun,
  listGroup,
  updateRun,
} from "../../../../storage/tables/forge/actions/runs.ts";
import { isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { AppError } from "../../../errors.ts";
import type { Workflow } from "../../../workflows/workflow.ts";
import type { RunEngine } from "./advance-run.ts";
import { findCalled, findScope } from "./job-scopes.ts";
import { insertBlockedJob } from "./new-jobs.ts";
import type { OpenRun } from "./open-run.ts";
import type { UserId, RunId, JobId } from "../../../../storage/tables/forge/ids.ts";

/** Which jobs run again: all, those that did not succeed, or one by id; jobs that need one of them run again as well. */
export type RerunChoice = "all" | "failed" | number;

const ATTEMPTS_MAX = 50;

/** Runs jobs of ended runs again. */
export type Reruns = ReturnType<typeof createReruns>;

export function createReruns({
  engine,
  open,
}: {
  readonly engine: RunEngine;
  readonly open: (tx: Transaction, runId: RunId) => Promise<OpenRun | undefined>;
}) {
  return {
    /**
     * Starts the next attempt of a run with copies of its jobs; those that do not run again keep result, outputs and
     * log. Throws `invalid_argument` while the run is in progress, for a disabled workflow, an invalid file, after 50
     * attempts, and when no job has failed.
     */
    async rerun(
      tx: Transaction,
      run: ActionRun,
      choice: RerunChoice,
      userId: UserId,
    ): Promise<void> {
      const opened = await open(tx, run.id);
      await assertMayRerun(tx, run, opened);
      if (opened === undefined) return;
      const jobs = await listRunJobs(tx, run.id, run.attempt);
      const again = choose(jobs, opened, choice);
      const attempt = run.attempt + 1;
      const group = run.concurrencyGroup;
      const others = group === "" ? [] : await listGroup(tx, run.repositoryId, group);
      await updateRun(tx, run.id, {
        attempt,
        status: "blocked",
        error: "",
        triggerActorId: userId,
        isHeld: others.length > 0,
        startedAt: undefined,
        completedAt: undefined,
      });
      await copyJobs(tx, { run: { ...run, attempt }, jobs, again, opened });
      for (const other of others) if (other.isHeld) await engine.cancel(tx, other);
      await engine.begin(tx, run.id);
    },
  };
}

async function assertMayRerun(
  tx: Transaction,
  run: ActionRun,
  opened: OpenRun | undefined,
): Promise<void> {
  const refuse = (message: string) => new AppError("invalid_argument", message);
  if (!isFinal(run.status)) throw refuse("this workflow run is not done");
  if (opened === undefined) throw refuse("the workflow file of this run is invalid");
  if (run.attempt >= ATTEMPTS_MAX)
    throw refuse(`workflow run has reached the maximum of ${ATTEMPTS_MAX} attempts`);
  if ((await listDisabledWorkflows(tx, run.repositoryId)).has(run.workflowFile))
    throw refuse(`workflow ${run.workflowFile} is disabled`);
}

/** The jobs that a new attempt repeats. */
interface Chosen {
  /** Jobs that run again as they were expanded. */
  readonly jobs: ReadonlySet<JobId>;
  /** Jobs that call a workflow of which some jobs run again. */
  readonly callers: ReadonlySet<JobId>;
  /** Keys of jobs that are decided again because they need one of these, by the id of the calling job. */
  readonly keys: ReadonlyMap<JobId | undefined, ReadonlySet<string>>;
}

function choose(jobs: readonly ActionJob[], opened: OpenRun, choice: RerunChoice): Chosen {
  if (choice === "all") {
    const keys = new Set(opened.workflow.jobs.map(({ key }) => key));
    return { jobs: new Set(), callers: new Set(), keys: new Map([[undefined, keys]]) };
  }
  const chosen = jobs.filter((job) =>
    choice === "failed" ? hasFailed(job) && !hasFailedWithin(job, jobs) : job.id === choice,
  );
  if (chosen.length === 0)
    throw new AppError("invalid_argument", "there are no failed jobs to rerun");
  const callers = new Set<JobId>();
  const keys = new Map<JobId | undefined, Set<string>>();
  const byId = new Map(jobs.map((job) => [job.id, job]));
  for (const start of chosen)
    for (let job: ActionJob | undefined = start; job !== undefined;) {
      addDependents(keys, findScope(opened, jobs, job)?.workflow, job);
      if (job.parentJobId === undefined) break;
      callers.add(job.parentJobId);
      job = byId.get(job.parentJobId);
    }
  return { jobs: new Set(chosen.map(({ id }) => id)), callers, keys };
}

const hasFailed = ({ status }: ActionJob) => status === "failure" || status === "cancelled";

/** Returns whether a job has failed because of a job of the workflow that it calls. */
function hasFailedWithin({ id }: ActionJob, jobs: readonly ActionJob[]): boolean {
  return jobs.some((job) => job.parentJobId === id && hasFailed(job));
}

/** Adds the keys of the jobs that need a job, directly or through others, within its workflow. */
function addDependents(
  all: Map<JobId | undefined, Set<string>>,
  workflow: Workflow | undefined,
  { key: start, parentJobId }: ActionJob,
): void {
  const keys = all.get(parentJobId) ?? new Set<string>();
  all.set(parentJobId, keys);
  const pending = [start];
  for (let key = pending.pop(); key !== undefined; key = pending.pop())
    for (const { key: dependent, needs } of workflow?.jobs ?? [])
      if (needs.includes(key) && !keys.has(dependent)) {
        keys.add(dependent);
        pending.push(dependent);
      }
}

/** Adds the jobs of the next attempt: those that are decided again, and copies of the others. */
async function copyJobs(
  tx: Transaction,
  {
    run,
    jobs,
    again,
    opened,
  }: {
    /** With the number of the next attempt. */
    readonly run: ActionRun;
    readonly jobs: readonly ActionJob[];
    readonly again: Chosen;
    readonly opened: OpenRun;
  },
): Promise<void> {
  await copyWorkflow(opened.workflow, undefined, undefined);

  async function copyWorkflow(
    workflow: Workflow,
    from: ActionJob | undefined,
    to: ActionJob | undefined,
  ): Promise<void> {
    for (const definition of workflow.jobs) {
      if (again.keys.get(from?.id)?.has(definition.key) === true) {
        await insertBlockedJob(tx, run, definition, to);
        continue;
      }
      const called = findCalled(opened.workflow, definition);
      for (const job of jobs) {
        if (job.parentJobId !== from?.id || job.key !== definition.key) continue;
        const copy = await copyJob(job, to);
        // A call that runs again as a whole creates its jobs again.
        if (called !== undefined && !again.jobs.has(job.id)) await copyWorkflow(called, job, copy);
      }
    }
  }

  async function copyJob(job: ActionJob, caller: ActionJob | undefined): Promise<ActionJob> {
    const runsAgain = again.jobs.has(job.id) || again.callers.has(job.id);
    const copy = await insertJob(tx, {
      ...job,
      attempt: run.attempt,
      parentJobId: caller?.id,
      status: runsAgain ? "blocked" : job.status,
    });
    const { concurrencyGroup, cancelsGroup, call, startedAt, completedAt } = job;
    await updateJob(tx, copy.id, {
      call,
      ...(runsAgain
        ? { concurrencyGroup, cancelsGroup }
        : { startedAt, completedAt, originalJobId: job.originalJobId ?? job.id }),
    });
    if (!runsAgain) await copyOutputs(tx, job.id, copy.id);
    return copy;
  }
}
