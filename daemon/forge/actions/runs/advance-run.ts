import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionJob,
  bumpTasksVersion,
  insertJob,
  listJobsOfGroup,
  listRunJobs,
  measureOutputs,
  updateJob,
} from "../../../../storage/tables/forge/actions/jobs.ts";
import { findRunner } from "../../../../storage/tables/forge/actions/runners.ts";
import {
  type ActionRun,
  findRun,
  listGroup,
  updateRun,
} from "../../../../storage/tables/forge/actions/runs.ts";
import { type ActionStatus, isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import {
  endOpenSteps,
  listTasksOfJobs,
  updateTask,
} from "../../../../storage/tables/forge/actions/tasks.ts";
import { type ExpandedJob, toExpandable } from "../../../workflows/expand-job.ts";
import { createCalls } from "./calls.ts";
import { findCalled, findScope, type JobScope } from "./job-scopes.ts";
import { RUN_JOBS_MAX, toJobName } from "./new-jobs.ts";
import type { Evaluator } from "./evaluator.ts";
import { readNeeds, toConditionState } from "./run-contexts.ts";
import type { OpenRun } from "./open-run.ts";
import { isActive, toGroup, toPhase, toRunStatus, toShownError } from "./run-records.ts";
import type { RunId, JobId } from "../../../../storage/tables/forge/ids.ts";

export interface AdvanceDeps {
  /** Loads a run; undefined when its repository was deleted or its file is invalid. */
  readonly open: (tx: Transaction, runId: RunId) => Promise<OpenRun | undefined>;
  readonly reports: RunReports;
  readonly evaluator: Pick<Evaluator, "evaluate">;
}

/** Reports changes of runs and jobs, in the transaction of the change. */
export interface RunReports {
  /** Reports that an attempt of a run is new, has begun or has ended. */
  run(tx: Transaction, run: ActionRun): Promise<void>;
  /** Reports a new blocked job, and each further status of a job. */
  job(tx: Transaction, run: ActionRun, job: ActionJob): Promise<void>;
}

/** Advances runs: decides blocked jobs, queues those that may run, and ends runs whose jobs have ended. */
export type RunEngine = ReturnType<typeof createRunEngine>;

export function createRunEngine({ open, reports, evaluator }: AdvanceDeps) {
  const calls = createCalls({ setStatus, fail, evaluator });
  return { advance, begin, cancel, cancelJob, setStatus };

  /** Reports a new attempt of a run, and advances it. */
  async function begin(tx: Transaction, runId: RunId): Promise<void> {
    const run = await findRun(tx, runId);
    if (run === undefined) return;
    await reports.run(tx, run);
    await advanceRun(tx, runId, new Set());
  }

  /** Decides every job of a run that can be decided, then the run itself. Idempotent. */
  function advance(tx: Transaction, runId: RunId): Promise<void> {
    return advanceRun(tx, runId);
  }

  /** @param alreadyReported the jobs that have been reported; by default those that the run has */
  async function advanceRun(
    tx: Transaction,
    runId: RunId,
    alreadyReported?: ReadonlySet<JobId>,
  ): Promise<void> {
    const opened = await open(tx, runId);
    if (opened === undefined) return;
    const { run } = opened;
    let jobs = await listRunJobs(tx, run.id, run.attempt);
    const reported = alreadyReported ?? new Set(jobs.map(({ id }) => id));
    const waits = run.isHeld || run.needsApproval;
    if (!waits)
      while ((await decide(tx, opened, jobs)) || (await calls.settle(tx, opened, jobs)))
        jobs = await listRunJobs(tx, run.id, run.attempt);
    for (const job of jobs)
      if (job.status === "blocked" && !reported.has(job.id)) await reports.job(tx, run, job);
    if (!waits) await settle(tx, run.id);
  }

  /** Decides every blocked job whose needs have ended in these rows. Returns false when no job was decided. */
  async function decide(
    tx: Transaction,
    opened: OpenRun,
    jobs: readonly ActionJob[],
  ): Promise<boolean> {
    const calling = new Set(jobs.map(({ parentJobId }) => parentJobId));
    const begun = new Set<JobId>();
    let count = jobs.length;
    let hasDecided = false;
    for (const job of jobs.filter(({ status }) => status === "blocked")) {
      const scope = findScope(opened, jobs, job);
      if (scope === undefined) throw new Error(`run ${opened.run.id} has no job ${job.key}`);
      if (!job.isExpanded) {
        const needed = scope.jobs.filter(({ key }) => scope.definition.needs.includes(key));
        if (!needed.every(({ status }) => isFinal(status))) continue;
        const added = await expand(tx, opened, { job, scope, count });
        count += added ?? 0;
        hasDecided ||= added !== undefined;
        continue;
      }
      // The status of a started call follows from its jobs.
      if (calling.has(job.id)) continue;
      const active = scope.jobs.filter(
        ({ id, key, status }) => key === job.key && (isActive(status) || begun.has(id)),
      );
      if (job.maxParallel > 0 && active.length >= job.maxParallel) continue;
      if (!(await entersGroup(tx, job))) continue;
      if (job.call !== undefined) count += await calls.begin(tx, opened, { job, scope, count });
      else {
        await setStatus(tx, opened.run, job, "waiting");
        await bumpTasksVersion(tx);
      }
      begun.add(job.id);
      hasDecided = true;
      // The decision may have cancelled other jobs of the group.
      if (job.concurrencyGroup !== "") break;
    }
    return hasDecided;
  }

  /**
   * Evaluates the condition of a job whose needs have ended, and expands its matrix. Returns how many jobs it has added;
   * undefined when the evaluation is left to a thread.
   * @param count the jobs of the attempt
   */
  async function expand(
    tx: Transaction,
    { run, workflow, vars }: OpenRun,
    {
      job,
      scope,
      count,
    }: { readonly job: ActionJob; readonly scope: JobScope; readonly count: number },
  ): Promise<number | undefined> {
    const { definition, github, inputs, caller } = scope;
    const needed = scope.jobs.filter(({ key }) => definition.needs.includes(key));
    const result = await evaluator.evaluate(tx, {
      runId: run.id,
      key: `job ${job.id}`,
      bytes: await measureOutputs(
        tx,
        needed.map(({ id }) => id),
      ),
      build: async () => ({
        kind: "job",
        job: toExpandable(definition),
        contexts: { github, inputs, vars },
        needs: await readNeeds(tx, definition.needs, needed),
        state: toConditionState(definition, scope.workflow, scope.jobs),
        called: findCalled(workflow, definition)?.callInterface,
      }),
    });
    if (result === undefined) return undefined;
    if (result.kind === "failed") await fail(tx, run, job, result.reason);
    else if (result.kind !== "expanded") await setStatus(tx, run, job, "skipped");
    else if (count + result.jobs.length - 1 > RUN_JOBS_MAX)
      await fail(tx, run, job, `a run has at most ${RUN_JOBS_MAX} jobs`);
    else {
      await insertExpanded(tx, run, job, result.jobs, caller?.job);
      return result.jobs.length - 1;
    }
    return 0;
  }

  /** Writes the first job of a matrix to the row of the job that is expanded, and adds the others. */
  async function insertExpanded(
    tx: Transaction,
    run: ActionRun,
    job: ActionJob,
    expanded: readonly ExpandedJob[],
    caller: ActionJob | undefined,
  ): Promise<void> {
    const [first, ...others] = expanded.map((each) => ({
      ...each,
      name: toJobName(each.name, caller),
      concurrencyGroup: toGroup(run, each.concurrencyGroup),
    }));
    if (first !== undefined) await updateJob(tx, job.id, { ...first, isExpanded: true });
    for (const { concurrencyGroup, cancelsGroup, call, ...other } of others) {
      const inserted = await insertJob(tx, {
        runId: job.runId,
        repositoryId: job.repositoryId,
        attempt: job.attempt,
        parentJobId: job.parentJobId,
        key: job.key,
        status: "blocked",
        isExpanded: true,
        ...other,
      });
      await updateJob(tx, inserted.id, { concurrencyGroup, cancelsGroup, call });
    }
  }

  async function fail(
    tx: Transaction,
    run: ActionRun,
    job: ActionJob,
    reason: string,
  ): Promise<void> {
    await updateRun(tx, run.id, { error: toShownError(`${run.workflowFile}: ${reason}`) });
    await setStatus(tx, run, job, "failure");
  }

  /**
   * Returns whether a job may run now within its concurrency group. With `cancel-in-progress` it cancels the others;
   * otherwise it waits for the running one and replaces an older waiting job.
   */
  async function entersGroup(tx: Transaction, job: ActionJob): Promise<boolean> {
    if (job.concurrencyGroup === "") return true;
    const group = await listJobsOfGroup(tx, job.repositoryId, job.concurrencyGroup);
    const others = group.filter(({ id }) => id !== job.id);
    const older = others.filter(({ id, status }) => status === "blocked" && id < job.id);
    const active = others.filter(({ status }) => isActive(status));
    for (const other of job.cancelsGroup ? [...older, ...active] : older)
      await cancelElsewhere(tx, other, job);
    if (!job.cancelsGroup || active.length === 0) return active.length === 0;
    // A cancelled job may still clean up.
    const left = await listJobsOfGroup(tx, job.repositoryId, job.concurrencyGroup);
    return !left.some(({ id, status }) => id !== job.id && isActive(status));
  }

  async function cancelElsewhere(tx: Transaction, job: ActionJob, by: ActionJob): Promise<void> {
    const opened = await open(tx, job.runId);
    if (opened === undefined) return;
    await cancelJob(tx, opened.run, job);
    if (job.runId !== by.runId) await advance(tx, job.runId);
  }

  /** Starts the next job of a group after one has ended. */
  async function releaseGroup(tx: Transaction, job: ActionJob): Promise<void> {
    const group = await listJobsOfGroup(tx, job.repositoryId, job.concurrencyGroup);
    const next = group.find(({ status }) => status === "blocked");
    if (next === undefined || next.runId === job.runId) return;
    if (!group.some(({ status }) => isActive(status))) await advance(tx, next.runId);
  }

  /**
   * Writes the status of a job, reports it, and cancels its siblings where its matrix fails fast. Returns false when
   * another transaction has changed the status before.
   * @param prepare writes rows that must exist before the report
   */
  async function setStatus(
    tx: Transaction,
    run: ActionRun,
    job: ActionJob,
    status: ActionStatus,
    prepare?: () => Promise<void>,
  ): Promise<boolean> {
    const times = isFinal(status)
      ? { completedAt: tx.now }
      : status === "running"
        ? { startedAt: tx.now }
        : {};
    if (!(await updateJob(tx, job.id, { status, ...times }, job.status))) return false;
    await prepare?.();
    await reports.job(tx, run, { ...job, ...times, status });
    if (status === "failure" && job.failFast && !job.continueOnError) {
      for (const other of await listRunJobs(tx, run.id, run.attempt)) {
        const isSibling = other.key === job.key && other.parentJobId === job.parentJobId;
        if (isSibling && other.id !== job.id) await cancelJob(tx, run, other);
      }
    }
    if (isFinal(status) && job.concurrencyGroup !== "") await releaseGroup(tx, job);
    return true;
  }

  /**
   * Cancels the jobs of a run that have not ended, and ends the run when no job is left. As on GitHub, a job goes on whose
   * condition holds in a cancelled run, such as `always()`; when no other job is left, `cancelsAll` cancels it too.
   */
  async function cancel(
    tx: Transaction,
    run: ActionRun,
    { cancelsAll = false }: { readonly cancelsAll?: boolean } = {},
  ): Promise<void> {
    const opened = await open(tx, run.id);
    const jobs = await listRunJobs(tx, run.id, run.attempt);
    const calling = new Set(jobs.map(({ parentJobId }) => parentJobId));
    const unfinished = jobs.filter(({ id, status }) => !isFinal(status) && !calling.has(id));
    const kept = new Set<JobId>();
    // A run that waits for its group or for approval has not begun: none of its jobs has anything to clean up.
    const waits = run.isHeld || run.needsApproval;
    if (opened !== undefined && !waits)
      for (const job of unfinished) if (await goesOn(tx, opened, jobs, job)) kept.add(job.id);
    const isLast =
      cancelsAll && unfinished.every(({ id, status }) => kept.has(id) || status === "cancelling");
    for (const job of unfinished) if (isLast || !kept.has(job.id)) await cancelJob(tx, run, job);
    if (waits) await updateRun(tx, run.id, { isHeld: false, needsApproval: false });
    await advance(tx, run.id);
  }

  /** Returns whether the condition of a job holds in a cancelled run: without a status function it does not. */
  async function goesOn(
    tx: Transaction,
    opened: OpenRun,
    jobs: readonly ActionJob[],
    job: ActionJob,
  ): Promise<boolean> {
    const scope = findScope(opened, jobs, job);
    const condition = scope?.definition.condition;
    if (scope === undefined || condition === undefined) return false;
    const { definition, github, inputs } = scope;
    const result = await evaluator.evaluate(tx, {
      runId: opened.run.id,
      key: `condition ${job.id}`,
      bytes: 0,
      build: async () => ({
        kind: "condition",
        condition,
        contexts: { github, inputs, vars: opened.vars },
        needs: await readNeeds(tx, definition.needs, scope.jobs),
        state: "cancelled",
      }),
    });
    return result?.kind === "condition" && result.holds;
  }

  /**
   * Cancels a job. A job without a task ends at once. A running task ends when its runner gets the cancellation in the
   * response to its next report. A job whose call has begun ends with the jobs of the called workflow.
   */
  async function cancelJob(tx: Transaction, run: ActionRun, job: ActionJob): Promise<void> {
    if (isFinal(job.status) || job.status === "cancelling") return;
    const jobs = job.call === undefined ? [] : await listRunJobs(tx, run.id, job.attempt);
    const inner = jobs.filter(({ parentJobId }) => parentJobId === job.id);
    for (const each of inner) await cancelJob(tx, run, each);
    if (inner.length > 0) return;
    const [task] = await listTasksOfJobs(tx, [job.id]);
    const runner = task?.runnerId === undefined ? undefined : await findRunner(tx, task.runnerId);
    if (task !== undefined && runner?.capabilities.includes("cancelling") === true) {
      await updateTask(tx, task.id, { status: "cancelling", cancellingAt: tx.now });
      await setStatus(tx, run, job, "cancelling");
      return;
    }
    if (task !== undefined) {
      await updateTask(tx, task.id, { status: "cancelled", completedAt: tx.now });
      await endOpenSteps(tx, task.id, "cancelled");
    }
    await setStatus(tx, run, job, "cancelled");
  }

  /** Writes the status that follows from the jobs; a run that has ended releases its concurrency group. */
  async function settle(tx: Transaction, runId: RunId): Promise<void> {
    // Read again: deciding a job of another run may have ended this one.
    const run = await findRun(tx, runId);
    if (run === undefined) return;
    const jobs = await listRunJobs(tx, run.id, run.attempt);
    const status = toRunStatus(jobs);
    const isNew = run.startedAt === undefined && ["running", "cancelling"].includes(status);
    const changes = {
      status,
      ...(isNew ? { startedAt: tx.now } : {}),
      ...(isFinal(status) && run.completedAt === undefined ? { completedAt: tx.now } : {}),
    };
    await updateRun(tx, run.id, changes);
    if (toPhase(status) !== toPhase(run.status)) await reports.run(tx, { ...run, ...changes });
    if (!isFinal(status) || run.concurrencyGroup === "") return;
    const group = await listGroup(tx, run.repositoryId, run.concurrencyGroup);
    const [next] = group;
    if (next?.isHeld !== true) return;
    await updateRun(tx, next.id, { isHeld: false });
    await advance(tx, next.id);
  }
}
