import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionJob,
  bumpTasksVersion,
  insertJob,
  listJobsOfGroup,
  listRunJobs,
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
import type { OwnedRepository } from "../../repositories/events.ts";
import { expandJob } from "../workflows/expand-job.ts";
import { evaluateCondition } from "../workflows/expressions/evaluate.ts";
import type { ConditionState } from "../workflows/expressions/values.ts";
import { ExpressionError } from "../workflows/expressions/values.ts";
import type { Mapping } from "../workflows/mapping.ts";
import type { JobDefinition, Workflow } from "../workflows/workflow.ts";
import { type EndedJob, type Need, toNeed, toNeedsContext } from "./run-contexts.ts";

/** A run with what its jobs are decided by. */
export interface OpenRun {
  readonly run: ActionRun;
  readonly what: OwnedRepository;
  readonly workflow: Workflow;
  readonly github: Mapping;
  readonly inputs: Mapping;
  readonly vars: Mapping;
}

export interface AdvanceDeps {
  /** Loads a run; undefined when its repository is gone or its file is invalid. */
  readonly open: (tx: Transaction, runId: number) => Promise<OpenRun | undefined>;
  readonly reports: RunReports;
}

/** Reports changes of runs and jobs, in the transaction of the change. */
export interface RunReports {
  /** Reports a new attempt of a run, and one that begins or ends. */
  run(tx: Transaction, run: ActionRun): Promise<void>;
  /** Reports a new job that waits for others, and each further status of a job. */
  job(tx: Transaction, run: ActionRun, job: ActionJob): Promise<void>;
}

/** Moves runs on: decides blocked jobs, queues those that may run, and ends runs whose jobs have ended. */
export type RunEngine = ReturnType<typeof createRunEngine>;

export function createRunEngine({ open, reports }: AdvanceDeps) {
  return { advance, begin, cancel, cancelJob, setStatus };

  /** Reports a new attempt of a run, and advances it. */
  async function begin(tx: Transaction, runId: number): Promise<void> {
    const run = await findRun(tx, runId);
    if (run === undefined) return;
    await reports.run(tx, run);
    await moveOn(tx, runId, new Set());
  }

  /** Decides every job of a run that can be decided, then the run itself. Idempotent. */
  function advance(tx: Transaction, runId: number): Promise<void> {
    return moveOn(tx, runId);
  }

  /** @param given the jobs that have been reported; by default those that the run has */
  async function moveOn(
    tx: Transaction,
    runId: number,
    given?: ReadonlySet<number>,
  ): Promise<void> {
    const opened = await open(tx, runId);
    if (opened === undefined) return;
    const { run } = opened;
    let jobs = await listRunJobs(tx, run.id, run.attempt);
    const reported = given ?? new Set(jobs.map(({ id }) => id));
    if (!run.isHeld)
      while (await decideOne(tx, opened, jobs)) jobs = await listRunJobs(tx, run.id, run.attempt);
    for (const job of jobs)
      if (job.status === "blocked" && !reported.has(job.id)) await reports.job(tx, run, job);
    if (!run.isHeld) await settle(tx, run.id);
  }

  /** Decides one blocked job. Returns false when none can be decided. */
  async function decideOne(
    tx: Transaction,
    opened: OpenRun,
    jobs: readonly ActionJob[],
  ): Promise<boolean> {
    for (const job of jobs.filter(({ status }) => status === "blocked")) {
      const definition = opened.workflow.jobs.find(({ key }) => key === job.key);
      if (definition === undefined) throw new Error(`run ${opened.run.id} has no job ${job.key}`);
      if (job.isExpanded) {
        const siblings = jobs.filter(({ key }) => key === job.key);
        const active = siblings.filter(({ status }) => isActive(status)).length;
        if (job.maxParallel > 0 && active >= job.maxParallel) continue;
        if (!(await entersGroup(tx, job))) continue;
        await setStatus(tx, opened.run, job, "waiting");
        await bumpTasksVersion(tx);
        return true;
      }
      const needed = jobs.filter(({ key }) => definition.needs.includes(key));
      if (!needed.every(({ status }) => isFinal(status))) continue;
      await decide(tx, opened, { job, definition, jobs });
      return true;
    }
    return false;
  }

  /** Evaluates the condition of a job whose needs have ended, and expands its matrix. */
  async function decide(
    tx: Transaction,
    { run, workflow, github, inputs, vars }: OpenRun,
    {
      job,
      definition,
      jobs,
    }: {
      readonly job: ActionJob;
      readonly definition: JobDefinition;
      readonly jobs: readonly ActionJob[];
    },
  ): Promise<void> {
    const needs = toNeeds(definition, jobs);
    const contexts = { github, inputs, vars, needs: toNeedsContext(needs) };
    try {
      const state = toConditionState(definition, workflow, jobs);
      if (!evaluateCondition(definition.condition, { contexts, state })) {
        await setStatus(tx, run, job, "skipped");
        return;
      }
      const expanded = expandJob(workflow, definition, { contexts }, run.event);
      const [first, ...others] = expanded;
      if (first === undefined) {
        await setStatus(tx, run, job, "skipped");
        return;
      }
      await updateJob(tx, job.id, { ...first, isExpanded: true });
      for (const { concurrencyGroup, cancelsGroup, ...other } of others) {
        const inserted = await insertJob(tx, {
          runId: run.id,
          repositoryId: run.repositoryId,
          attempt: run.attempt,
          key: job.key,
          status: "blocked",
          isExpanded: true,
          ...other,
        });
        await updateJob(tx, inserted.id, { concurrencyGroup, cancelsGroup });
      }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      await updateRun(tx, run.id, { error: `${run.workflowFile}: ${error.message}` });
      await setStatus(tx, run, job, "failure");
    }
  }

  /**
   * Returns whether a job may run beside the others of its group. It cancels them where its file says so; else it waits for
   * the one that runs, in place of an older job that waited.
   */
  async function entersGroup(tx: Transaction, job: ActionJob): Promise<boolean> {
    if (job.concurrencyGroup === "") return true;
    const group = await listJobsOfGroup(tx, job.repositoryId, job.concurrencyGroup);
    const others = group.filter(({ id }) => id !== job.id);
    const older = others.filter(({ id, status }) => status === "blocked" && id < job.id);
    const active = others.filter(({ status }) => isActive(status));
    for (const other of job.cancelsGroup ? [...older, ...active] : older)
      await cancelElsewhere(tx, other, job);
    return job.cancelsGroup || active.length === 0;
  }

  async function cancelElsewhere(tx: Transaction, job: ActionJob, by: ActionJob): Promise<void> {
    const opened = await open(tx, job.runId);
    if (opened === undefined) return;
    await cancelJob(tx, opened.run, job);
    if (job.runId !== by.runId) await advance(tx, job.runId);
  }

  /** Lets the next job of a group run once one has ended. */
  async function releaseGroup(tx: Transaction, job: ActionJob): Promise<void> {
    const group = await listJobsOfGroup(tx, job.repositoryId, job.concurrencyGroup);
    const next = group.find(({ status }) => status === "blocked");
    if (next === undefined || next.runId === job.runId) return;
    if (!group.some(({ status }) => isActive(status))) await advance(tx, next.runId);
  }

  /**
   * Writes the status of a job, reports it, and cancels its siblings where its matrix fails fast. Returns false when
   * another transaction has changed the status before.
   * @param prepare what must be written before the report
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
      const siblings = await listRunJobs(tx, run.id, run.attempt);
      for (const sibling of siblings)
        if (sibling.key === job.key && sibling.id !== job.id) await cancelJob(tx, run, sibling);
    }
    if (isFinal(status) && job.concurrencyGroup !== "") await releaseGroup(tx, job);
    return true;
  }

  /** Cancels every job of a run that has not ended, and ends the run when none is left. Idempotent. */
  async function cancel(tx: Transaction, run: ActionRun): Promise<void> {
    for (const job of await listRunJobs(tx, run.id, run.attempt)) await cancelJob(tx, run, job);
    if (run.isHeld) await updateRun(tx, run.id, { isHeld: false });
    await advance(tx, run.id);
  }

  /** A job without a task ends at once; the runner of a task learns it with its next report, and ends it. */
  async function cancelJob(tx: Transaction, run: ActionRun, job: ActionJob): Promise<void> {
    if (isFinal(job.status) || job.status === "cancelling") return;
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
  async function settle(tx: Transaction, runId: number): Promise<void> {
    // Read again: the decision about a job of another run may have settled this one.
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

/** A part of a run's life, as webhooks name it. */
export type RunPhase = "requested" | "in_progress" | "completed";

export function toPhase(status: ActionStatus): RunPhase {
  if (isFinal(status)) return "completed";
  return status === "running" || status === "cancelling" ? "in_progress" : "requested";
}

const isActive = (status: ActionStatus): boolean =>
  ["waiting", "running", "cancelling"].includes(status);

/** Returns the needs of a job by the key of the needed job. */
export function toNeeds(
  definition: JobDefinition,
  jobs: readonly EndedJob[],
): ReadonlyMap<string, Need> {
  return new Map(
    definition.needs.map((key) => [key, toNeed(jobs.filter((job) => job.key === key))]),
  );
}

/** Returns what `success()` and `failure()` say: a failure of any job before this one counts, a skipped need too. */
export function toConditionState(
  definition: JobDefinition,
  workflow: Workflow,
  jobs: readonly EndedJob[],
): ConditionState {
  const ancestors = new Set<string>();
  const pending = [...definition.needs];
  for (let key = pending.pop(); key !== undefined; key = pending.pop()) {
    if (ancestors.has(key)) continue;
    ancestors.add(key);
    pending.push(...(workflow.jobs.find((each) => each.key === key)?.needs ?? []));
  }
  const results = [...ancestors].map((key) => toNeed(jobs.filter((job) => job.key === key)).result);
  if (results.includes("failure")) return "failure";
  if (results.includes("cancelled")) return "cancelled";
  const direct = [...toNeeds(definition, jobs).values()];
  return direct.some(({ result }) => result === "skipped") ? "skipped" : "success";
}

/** Returns the status of a run that has these jobs (forge behaviour, 16.4). */
export function toRunStatus(jobs: readonly ActionJob[]): ActionStatus {
  const statuses = jobs.map(({ status, continueOnError }) =>
    status === "failure" && continueOnError ? "success" : status,
  );
  if (statuses.every(isFinal)) {
    const worst = (["failure", "cancelled"] as const).find((each) => statuses.includes(each));
    return worst ?? (statuses.every((each) => each === "skipped") ? "skipped" : "success");
  }
  if (statuses.includes("cancelling")) return "cancelling";
  if (statuses.some((each) => each === "running" || each === "success" || each === "failure"))
    return "running";
  return statuses.includes("waiting") ? "waiting" : "blocked";
}
