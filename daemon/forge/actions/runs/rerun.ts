import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionJob,
  insertJob,
  listRunJobs,
  updateJob,
} from "../../../../storage/tables/forge/actions/jobs.ts";
import {
  type ActionRun,
  findRun,
  listGroup,
  updateRun,
} from "../../../../storage/tables/forge/actions/runs.ts";
import { isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { AppError } from "../../../errors.ts";
import { orNotFound } from "../../refusals.ts";
import type { Workflow } from "../workflows/workflow.ts";
import type { OpenRun, RunEngine } from "./advance-run.ts";

/** Which jobs run again: all, those that did not succeed, or one by id; jobs that need one of them run again as well. */
export type RerunChoice = "all" | "failed" | number;

const ATTEMPTS_MAX = 50;

/** Runs jobs of ended runs again. */
export type Reruns = ReturnType<typeof createReruns>;

export function createReruns({
  db,
  engine,
  open,
}: {
  readonly db: Database;
  readonly engine: RunEngine;
  readonly open: (tx: Transaction, runId: number) => Promise<OpenRun | undefined>;
}) {
  return {
    /**
     * Starts the next attempt of a run with copies of its jobs; those that do not run again keep result, outputs and log.
     * Throws `invalid_argument` while the run goes on, for a disabled workflow, an invalid file, after 50 attempts, and
     * when no job has failed.
     */
    async rerun(runId: number, choice: RerunChoice, userId: number): Promise<void> {
      await db.transaction(async (tx) => {
        const opened = await open(tx, runId);
        const run = orNotFound(await findRun(tx, runId));
        await assertMayRerun(tx, run, opened);
        if (opened === undefined) return;
        const jobs = await listRunJobs(tx, run.id, run.attempt);
        const again = choose(jobs, opened.workflow, choice);
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
        await copyJobs(tx, { run, attempt, jobs, again, workflow: opened.workflow });
        for (const other of others) if (other.isHeld) await engine.cancel(tx, other);
        await engine.begin(tx, run.id);
      });
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

/** The jobs that run again by themselves, and the keys of those that do because they need one of them. */
interface Chosen {
  readonly jobs: ReadonlySet<number>;
  readonly keys: ReadonlySet<string>;
}

function choose(jobs: readonly ActionJob[], workflow: Workflow, choice: RerunChoice): Chosen {
  if (choice === "all")
    return { jobs: new Set(), keys: new Set(workflow.jobs.map(({ key }) => key)) };
  const chosen = jobs.filter(({ id, status }) =>
    choice === "failed" ? status === "failure" || status === "cancelled" : id === choice,
  );
  if (chosen.length === 0)
    throw new AppError("invalid_argument", "there are no failed jobs to rerun");
  const keys = new Set<string>();
  const pending = chosen.map(({ key }) => key);
  for (let key = pending.pop(); key !== undefined; key = pending.pop())
    for (const { key: dependent, needs } of workflow.jobs)
      if (needs.includes(key) && !keys.has(dependent)) {
        keys.add(dependent);
        pending.push(dependent);
      }
  return { jobs: new Set(chosen.map(({ id }) => id)), keys };
}

async function copyJobs(
  tx: Transaction,
  {
    run,
    attempt,
    jobs,
    again,
    workflow,
  }: {
    readonly run: ActionRun;
    readonly attempt: number;
    readonly jobs: readonly ActionJob[];
    readonly again: Chosen;
    readonly workflow: Workflow;
  },
): Promise<void> {
  for (const { key, name } of workflow.jobs) {
    if (again.keys.has(key)) {
      await insertJob(tx, {
        runId: run.id,
        repositoryId: run.repositoryId,
        attempt,
        key,
        name: name === "" || name.includes("${{") ? key : name,
        status: "blocked",
        isExpanded: false,
        labels: [],
        payload: "",
        failFast: true,
        maxParallel: 0,
        timeoutMinutes: 0,
        continueOnError: false,
      });
      continue;
    }
    for (const job of jobs.filter((each) => each.key === key)) {
      const runsAgain = again.jobs.has(job.id);
      const copy = await insertJob(tx, {
        ...job,
        attempt,
        status: runsAgain ? "blocked" : job.status,
      });
      const { concurrencyGroup, cancelsGroup, outputs, startedAt, completedAt } = job;
      await updateJob(tx, copy.id, {
        ...(runsAgain
          ? { concurrencyGroup, cancelsGroup }
          : { outputs, startedAt, completedAt, originalJobId: job.originalJobId ?? job.id }),
      });
    }
  }
}
