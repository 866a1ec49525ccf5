import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { createSemaphore } from "../../../../storage/locks.ts";
import {
  type ActionJob,
  findJob,
  findOutputs,
  listRunJobs,
  listWaitingJobs,
  measureRunOutputs,
  readTasksVersion,
  updateJob,
} from "../../../../storage/tables/forge/actions/jobs.ts";
import {
  type ActionRunner,
  deleteRunner,
  findRunner,
  updateRunner,
} from "../../../../storage/tables/forge/actions/runners.ts";
import { findRun, updateRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { type ActionStatus, isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import {
  type ActionStep,
  type ActionTask,
  endOpenSteps,
  findTask,
  insertTask,
  listOpenTasksOf,
  updateStep,
  updateTask,
} from "../../../../storage/tables/forge/actions/tasks.ts";
import type { ForgeUrls } from "../../urls.ts";
import type { RuntimeTokens } from "../artifacts/runtime-tokens.ts";
import type { RunEngine } from "../runs/advance-run.ts";
import { findScope } from "../runs/job-scopes.ts";
import { openRun } from "../runs/open-run.ts";
import { toNeeds } from "../runs/run-contexts.ts";
import { toShownError } from "../runs/run-records.ts";
import type { Masks } from "../secrets/masks.service.ts";
import type { Secrets } from "../secrets/secrets.service.ts";
import { hashTaskToken } from "../secrets/task-tokens.ts";
import { toScopedPermissions, toScopedSecrets } from "../secrets/call-grants.ts";
import { readVariables } from "../secrets/variables.service.ts";
import type { Need } from "../../../workflows/evaluation.ts";
import { toPayload } from "../../../workflows/payload.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";
import type { JobDefinition } from "../../../workflows/workflow.ts";
import { RunnerRefusal } from "./registration.service.ts";
import type { TaskId, JobId, RunnerId } from "../../../../storage/tables/forge/ids.ts";

/** A job as it is handed to a runner. */
export interface AssignedTask {
  readonly id: number;
  readonly payload: string;
  readonly context: Mapping;
  readonly needs: ReadonlyMap<string, Need>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly vars: Readonly<Record<string, string>>;
}

/** A runner's report about a task. */
export interface TaskReport {
  /** Undefined while the task is running. */
  readonly result: "success" | "failure" | "cancelled" | "skipped" | undefined;
  readonly steps: readonly Omit<ActionStep, "name">[];
  readonly outputs: Readonly<Record<string, string>>;
}

/** Maximum number of waiting jobs whose labels one request compares. */
const LOOKED_AT_MAX = 1_000;
const WAITING_PAGE = 100;
const ACTIVITY_EVERY_MS = 5_000;
const STEP_NAME_CHARACTERS_MAX = 255;
const TOKEN_BYTES = 20;
const OUTPUT_NAME_CHARACTERS_MAX = 255;
const OUTPUT_CHARACTERS_MAX = 1024 * 1024;
/** Maximum number of outputs of one job: one message to a runner has the outputs of all needed jobs. */
const OUTPUTS_MAX = 1_000;
const OUTPUTS_CHARACTERS_MAX = 4 * OUTPUT_CHARACTERS_MAX;
/** Maximum bytes of the outputs of all jobs of an attempt: a job may need all of them. */
const RUN_OUTPUTS_BYTES_MAX = 8 * 1024 * 1024;
/** Dropped outputs that the run names. */
const DROPPED_SHOWN = 10;

export interface TasksDeps {
  readonly db: Database;
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
  readonly urls: ForgeUrls;
  readonly engine: RunEngine;
  readonly secrets: Pick<Secrets, "openAll">;
  readonly masks: Pick<Masks, "seal">;
  readonly runtimeTokens: Pick<RuntimeTokens, "sign">;
}

/** Assigns jobs to runners and records their reports. */
export type Tasks = ReturnType<typeof createTasks>;

export function createTasks({
  db,
  random,
  urls,
  engine,
  secrets,
  masks,
  runtimeTokens,
}: TasksDeps) {
  const withAssignLock = createSemaphore({ permits: 1 });
  return {
    readVersion: () => readTasksVersion(db),

    /**
     * Assigns the oldest waiting job whose labels the runner has. Returns undefined without a matching job, and for a
     * runner that disconnected. Requests are served one at a time: all of them compete for the same job, and on
     * PostgreSQL each but one would fail and be retried.
     */
    assign: (runner: ActionRunner, hungUp: AbortSignal): Promise<AssignedTask | undefined> =>
      withAssignLock(async () => (hungUp.aborted ? undefined : assignOldest(runner))),

    /**
     * Returns an assigned task whose response was lost, so that the runner does not have it; undefined if the runner
     * has all of its tasks. `known` are the tasks that the runner reports.
     */
    async assignAgain(
      runner: ActionRunner,
      known: readonly TaskId[],
    ): Promise<AssignedTask | undefined> {
      const open = await listOpenTasksOf(db, runner.id);
      const lost = open.find(({ id }) => !known.includes(id));
      if (lost === undefined) return undefined;
      return db.transaction(async (tx) => {
        const task = await findTask(tx, lost.id);
        const job = task && (await findJob(tx, task.jobId));
        if (task === undefined || job === undefined || isFinal(task.status)) return undefined;
        if (task.status === "cancelling") {
          await finishTask(tx, engine, task, "cancelled");
          return undefined;
        }
        return toAssigned(tx, task, job);
      });
    },

    /**
     * Records a report. Throws `RunnerRefusal` for the task of another runner. A report of a finished task changes nothing.
     * @returns the task as the server sees it, and the names of its outputs
     */
    async report(runner: ActionRunner, taskId: TaskId, report: TaskReport) {
      return db.transaction(async (tx) => {
        const task = await getOwnTask(tx, runner, taskId);
        const job = await findJob(tx, task.jobId);
        if (job === undefined || isFinal(task.status))
          return {
            status: task.status,
            outputs: job === undefined ? [] : Object.keys(await findOutputs(tx, job.id)),
          };
        await touch(tx, runner);
        for (const step of report.steps) await updateStep(tx, task.id, step);
        const outputs = await addOutputs(tx, job, report.outputs);
        await updateTask(tx, task.id, { reportedAt: tx.now });
        const { result } = report;
        const status = task.status === "cancelling" ? "cancelled" : result;
        if (result !== undefined && status !== undefined) {
          await finishTask(tx, engine, task, status);
          if (runner.isEphemeral) await deleteRunner(tx, runner.id);
        }
        return {
          status: result === undefined ? task.status : (status ?? task.status),
          outputs: Object.keys(outputs),
        };
      });
    },

    /** Deletes a runner and fails its running tasks. Returns whether it existed. */
    async removeRunner(tx: Transaction, id: RunnerId): Promise<boolean> {
      for (const task of await listOpenTasksOf(tx, id)) {
        await finishTask(tx, engine, task, "failure");
        await updateTask(tx, task.id, { isLogSealed: true });
      }
      return deleteRunner(tx, id);
    },
  };

  async function assignOldest(runner: ActionRunner): Promise<AssignedTask | undefined> {
    if (runner.isDisabled) return undefined;
    // As on GitHub, the case of letters does not count.
    const labels = new Set(runner.labels.map((label) => label.toLowerCase()));
    let after = 0;
    for (let looked = 0; looked < LOOKED_AT_MAX; looked += WAITING_PAGE) {
      const jobs = await listWaitingJobs(db, runner, after, WAITING_PAGE);
      for (const job of jobs) {
        if (!job.labels.every((label) => labels.has(label.toLowerCase()))) continue;
        const task = await db.transaction((tx) => take(tx, runner, job.id));
        if (task !== undefined) return task;
      }
      const last = jobs.at(-1);
      if (last === undefined || jobs.length < WAITING_PAGE) return undefined;
      after = last.id;
    }
    return undefined;
  }

  async function take(
    tx: Transaction,
    runner: ActionRunner,
    jobId: JobId,
  ): Promise<AssignedTask | undefined> {
    const job = await findJob(tx, jobId);
    const found = job && (await findOpened(tx, job));
    // Read again: another request may have taken the job, or deleted or disabled the runner.
    const current = await findRunner(tx, runner.id);
    if (job?.status !== "waiting" || found === undefined) return undefined;
    if (current === undefined || current.isDisabled) return undefined;
    if (current.isEphemeral && (await listOpenTasksOf(tx, runner.id)).length > 0) return undefined;
    let task: ActionTask | undefined;
    await engine.setStatus(tx, found.opened.run, job, "running", async () => {
      const taken = { jobId: job.id, runnerId: runner.id, runnerName: runner.name };
      task = await insertTask(tx, taken, toStepNames(found.scope.definition));
    });
    if (task === undefined) return undefined;
    await engine.advance(tx, job.runId);
    return toAssigned(tx, task, job);
  }

  /**
   * Returns a task as its runner gets it. Creates a new token, because only the hash of the earlier one is stored.
   * Returns undefined when its run can no longer be read.
   */
  async function toAssigned(
    tx: Transaction,
    task: ActionTask,
    job: ActionJob,
  ): Promise<AssignedTask | undefined> {
    const found = await findOpened(tx, job);
    if (found === undefined) return undefined;
    const { opened, scope } = found;
    const { run, owned } = opened;
    const siblings = scope.jobs.filter(({ key }) => key === job.key);
    const strategy = {
      "fail-fast": job.failFast,
      "job-index": siblings.findIndex(({ id }) => id === job.id),
      "job-total": siblings.length,
      "max-parallel": job.maxParallel > 0 ? job.maxParallel : siblings.length,
    };
    const token = Buffer.from(random(TOKEN_BYTES)).toString("hex");
    const runtimeToken = await runtimeTokens.sign({
      taskId: task.id,
      runId: run.id,
      jobId: job.id,
    });
    // The code of a fork is that of a stranger.
    const values = run.isFork ? {} : await secrets.openAll(tx, owned.repository);
    const tokens = { GITHUB_TOKEN: token, GITEA_TOKEN: token };
    const permissions = toScopedPermissions(run, scope);
    await updateTask(tx, task.id, {
      tokenHash: hashTaskToken(token),
      tokenPermissions: JSON.stringify(permissions),
      sealedMasks: masks.seal(task.id, [token, runtimeToken, ...Object.values(values)]),
    });
    return {
      id: task.id,
      payload: toPayload(
        scope,
        job.payload,
        scope.caller === undefined ? run.event : "workflow_call",
      ),
      context: {
        ...scope.github,
        job: job.key,
        strategy,
        token,
        gitea_runtime_token: runtimeToken,
      },
      needs: await toNeeds(tx, scope.definition, scope.jobs),
      secrets: toScopedSecrets(scope, { ...values, ...tokens }),
      vars: await readVariables(tx, owned.repository),
    };
  }

  /** Loads the run of a job and the scope of the job; undefined when the run can no longer be read. */
  async function findOpened(tx: Transaction, job: ActionJob) {
    const opened = await openRun(tx, urls, job.runId);
    if (opened === undefined) return undefined;
    const scope = findScope(opened, await listRunJobs(tx, job.runId, job.attempt), job);
    return scope && { opened, scope };
  }

  async function touch(tx: Transaction, runner: ActionRunner): Promise<void> {
    if (tx.now - runner.lastActivityAt < ACTIVITY_EVERY_MS) return;
    await updateRunner(tx, runner.id, { lastActivityAt: tx.now, lastContactAt: tx.now });
  }
}

/** Returns a task of the runner. Throws `RunnerRefusal` for a task of another runner and for an unknown one. */
export async function getOwnTask(
  tx: Transaction | Database,
  runner: ActionRunner,
  taskId: TaskId,
): Promise<ActionTask> {
  const task = await findTask(tx, taskId);
  if (task?.runnerId !== runner.id) throw new RunnerRefusal("update task: invalid runner for task");
  return task;
}

/** Ends a task and its job with a status, and advances the run. */
export async function finishTask(
  tx: Transaction,
  engine: RunEngine,
  task: ActionTask,
  status: ActionStatus,
): Promise<void> {
  await updateTask(tx, task.id, { status, completedAt: tx.now });
  await endOpenSteps(tx, task.id, status === "success" ? "skipped" : "cancelled");
  const job = await findJob(tx, task.jobId);
  const run = job && (await findRun(tx, job.runId));
  if (job === undefined || run === undefined || isFinal(job.status)) return;
  await engine.setStatus(tx, run, job, status);
  await engine.advance(tx, run.id);
}

/**
 * Stores the outputs that a job reports. The first value of a name wins. The run shows which ones are dropped because they
 * are too long or too many. Returns the stored outputs.
 */
async function addOutputs(
  tx: Transaction,
  job: ActionJob,
  reported: TaskReport["outputs"],
): Promise<TaskReport["outputs"]> {
  const stored = await findOutputs(tx, job.id);
  const added = Object.entries(reported).filter(([name]) => !Object.hasOwn(stored, name));
  if (added.length === 0) return stored;
  const merged: Record<string, string> = { ...stored };
  const dropped: string[] = [];
  let count = Object.keys(stored).length;
  let characters = sumOutputs(stored);
  let runBytes = await measureRunOutputs(tx, job);
  for (const [name, value] of added) {
    const own = name.length + value.length;
    const fits =
      name.length <= OUTPUT_NAME_CHARACTERS_MAX &&
      value.length <= OUTPUT_CHARACTERS_MAX &&
      count < OUTPUTS_MAX &&
      characters + own <= OUTPUTS_CHARACTERS_MAX &&
      runBytes + own <= RUN_OUTPUTS_BYTES_MAX;
    if (!fits) {
      dropped.push(name.slice(0, OUTPUT_NAME_CHARACTERS_MAX));
      continue;
    }
    merged[name] = value;
    count += 1;
    characters += own;
    runBytes += Buffer.byteLength(value) + name.length;
  }
  await updateJob(tx, job.id, { outputs: merged });
  const run = dropped.length === 0 ? undefined : await findRun(tx, job.runId);
  if (run !== undefined)
    await updateRun(tx, run.id, {
      error: toShownError(
        `${run.workflowFile}: jobs.${job.key} has outputs that are dropped, because they are too long or too many: ${dropped.slice(0, DROPPED_SHOWN).join(", ")}`,
      ),
    });
  return merged;
}

function sumOutputs(outputs: TaskReport["outputs"]): number {
  return Object.entries(outputs).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    0,
  );
}

function toStepNames({ source }: JobDefinition): string[] {
  const { steps } = source;
  if (!Array.isArray(steps)) return [];
  return steps.filter(isMapping).map(({ name, run, uses }) => {
    const own = typeof name === "string" ? name : "";
    const line = String(run ?? uses ?? "")
      .trim()
      .split("\n", 1)
      .join();
    return [...(own || `Run ${line}`)].slice(0, STEP_NAME_CHARACTERS_MAX).join("");
  });
}
