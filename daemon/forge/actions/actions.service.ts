import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  findUserByName,
  type ForgeUser,
  listUsersByIds,
} from "../../../storage/tables/forge/accounts/users.ts";
import {
  type ActionJob,
  findJob,
  type JobFilter,
  listJobs,
  listRunJobs,
} from "../../../storage/tables/forge/actions/jobs.ts";
import {
  type ActionRun,
  deleteRun,
  findRun,
  listRuns,
  type RunFilter,
} from "../../../storage/tables/forge/actions/runs.ts";
import type { ActionLevel } from "../../../storage/tables/forge/actions/levels.ts";
import type { OwnedBy } from "../../../storage/tables/forge/actions/owned.ts";
import { isFinal } from "../../../storage/tables/forge/actions/statuses.ts";
import {
  type ActionStep,
  type ActionTask,
  listSteps,
  listTasksOfJobs,
  listTasksOfRepository,
} from "../../../storage/tables/forge/actions/tasks.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { isKnownTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound, orNotFound, userNotFound } from "../refusals.ts";
import { findAccess } from "../repositories/access.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { GrantedRepository } from "../opened.ts";
import type { OwnedRepository } from "../events.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import type { LogRange, Logs } from "./runners/logs.service.ts";
import type { RunEngine } from "./runs/advance-run.ts";
import type { Reruns } from "./runs/rerun.ts";
import type { StartRun } from "./runs/start-run.ts";
import { loadRepositories, openRun, toFormerAttempt } from "./runs/run-records.ts";
import { toStatuses } from "./runs/status-filters.ts";
import { type RunId, toUserId, toTaskId, toJobId } from "../../../storage/tables/forge/ids.ts";

export interface ActionsDeps {
  readonly db: Database;
  readonly logs: Logs;
  readonly engine: RunEngine;
  readonly reruns: Reruns;
  readonly starter: Pick<StartRun, "approve">;
}

/** A run with the related rows that its view shows; the actor is undefined once the account is deleted. */
export interface RunDetails {
  readonly run: ActionRun;
  readonly repository: RepositoryDetails;
  readonly actor: ForgeUser | undefined;
  /** The user who started the last attempt. */
  readonly triggerActor: ForgeUser | undefined;
}

/** A job with its run, task and steps. */
export interface JobDetails {
  readonly owned: OwnedRepository;
  readonly run: ActionRun;
  readonly job: ActionJob;
  readonly task: ActionTask | undefined;
  readonly steps: readonly ActionStep[];
}

/** A task with its job and run. */
export type TaskDetails = Omit<JobDetails, "task" | "steps"> & { readonly task: ActionTask };

/** The log of a job, with the name of its file. */
export interface JobLog {
  readonly name: string;
  readonly rows: AsyncGenerator<string>;
}

/** Which runs a list shows; empty texts do not filter. */
export interface RunQuery extends PageWindow {
  readonly event: string;
  readonly branch: string;
  readonly status: readonly string[];
  readonly actor: string;
  readonly head_sha: string;
  readonly file?: string;
}

/** Runs and jobs as their routes show them. */
export type Actions = ReturnType<typeof createActions>;

export function createActions(deps: ActionsDeps) {
  const { db, logs, engine, reruns, starter } = deps;
  return {
    async listAllRuns(caller: ForgeCaller, query: RunQuery) {
      return findRuns(caller, query, {});
    },

    listRuns: (
      { repository }: GrantedRepository,
      caller: ForgeCaller | undefined,
      query: RunQuery,
    ) => findRuns(caller, query, { repositoryId: repository.id }),

    /** Lists the runs of those repositories of an owner whose workflows the caller may see. */
    listRunsOf: (level: ActionLevel, caller: ForgeCaller, query: RunQuery) =>
      findRuns(caller, query, toOwnedBy(level, caller)),

    /** Lists the jobs of those runs. */
    listJobsOf: (
      level: ActionLevel,
      caller: ForgeCaller,
      query: PageWindow & { readonly status: readonly string[] },
    ) =>
      findJobs({ ...toOwnedBy(level, caller), statuses: toStatuses(query.status) }, query, false),

    async getRun(
      opened: GrantedRepository,
      id: number,
      caller: ForgeCaller | undefined,
    ): Promise<RunDetails> {
      const [details] = await loadRunDetails(caller, [await openRun(db, opened, id)]);
      if (details === undefined) throw notFound();
      return { ...details, repository: { ...details.repository, access: opened.access } };
    },

    /** Throws `invalid_argument` while the run is in progress. */
    async deleteRun(opened: GrantedRepository, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const run = await reopenRun(tx, opened, id);
        if (!isFinal(run.status))
          throw new AppError("invalid_argument", "this workflow run is not done");
        await deleteRun(tx, run.id);
      });
    },

    async cancelRun(opened: GrantedRepository, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const run = await reopenRun(tx, opened, id);
        if (!isFinal(run.status)) await engine.cancel(tx, run, { cancelsAll: true });
      });
    },

    /** Lets a run begin that waits for approval. Idempotent. Throws `conflict` for a run that never waited for it. */
    async approveRun(opened: GrantedRepository, id: number, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const run = await reopenRun(tx, opened, id);
        if (run.needsApproval) await starter.approve(tx, run.id, caller.user.id);
        else if (run.approvedBy === undefined)
          throw new AppError("conflict", "run is not waiting for approval");
      });
    },

    /** Starts the next attempt. Throws `invalid_argument` as `Reruns` does. */
    async rerun(
      opened: GrantedRepository,
      id: number,
      caller: ForgeCaller,
      choice: "all" | "failed",
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const run = await reopenRun(tx, opened, id);
        await reruns.rerun(tx, run, choice, caller.user.id);
      });
    },

    /** Starts the next attempt with one job and those that need it. Returns the job of the new attempt. */
    async rerunJob(
      opened: GrantedRepository,
      path: { readonly run: number; readonly job_id: number },
      caller: ForgeCaller,
    ): Promise<JobDetails> {
      const again = await db.transaction(async (tx) => {
        const run = await reopenRun(tx, opened, path.run);
        const job = await findJob(tx, toJobId(path.job_id));
        if (job?.runId !== run.id || job.attempt !== run.attempt) throw notFound();
        await reruns.rerun(tx, run, job.id, caller.user.id);
        const jobs = await listRunJobs(tx, run.id, run.attempt + 1);
        return jobs.filter(({ key, name }) => key === job.key && name === job.name);
      });
      const [details] = await loadJobDetails(again);
      return orNotFound(details);
    },

    /** Returns the state of a run after one of its attempts. */
    async getAttempt(
      opened: GrantedRepository,
      path: AttemptPath,
      caller: ForgeCaller | undefined,
    ): Promise<RunDetails> {
      const run = await openRun(db, opened, path.run);
      const jobs = await listRunJobs(db, run.id, path.attempt);
      const [details] = await loadRunDetails(caller, [run]);
      const isKnown = path.attempt >= 1 && path.attempt <= run.attempt;
      if (details === undefined || !isKnown) throw notFound();
      const repository = { ...details.repository, access: opened.access };
      if (path.attempt === run.attempt || jobs.length === 0) return { ...details, repository };
      return { ...details, run: toFormerAttempt(run, path.attempt, jobs), repository };
    },

    async listJobsOfAttempt(
      opened: GrantedRepository,
      path: AttemptPath,
      query: PageWindow & { readonly status: readonly string[] },
    ) {
      const run = await openRun(db, opened, path.run);
      if (path.attempt < 1 || path.attempt > run.attempt) throw notFound();
      const { attempt } = path;
      return findJobs({ runId: run.id, attempt, statuses: toStatuses(query.status) }, query, false);
    },

    async listAllJobs(
      query: PageWindow & {
        readonly status: readonly string[];
        readonly order: string;
        readonly sort: string;
      },
    ) {
      const isDescending = query.sort !== "" && query.order === "desc";
      return findJobs({ statuses: toStatuses(query.status) }, query, isDescending);
    },

    async listJobs(
      { repository }: GrantedRepository,
      query: PageWindow & { readonly status: readonly string[] },
    ) {
      const filter = { repositoryId: repository.id, statuses: toStatuses(query.status) };
      return findJobs(filter, query, false);
    },

    /** Lists the tasks of all attempts, the newest first. */
    async listTasks(owned: GrantedRepository, window: PageWindow) {
      const found = await listTasksOfRepository(db, owned.repository.id, toRows(window));
      const tasks: TaskDetails[] = [];
      for (const task of found.tasks) {
        const job = await findJob(db, task.jobId);
        const run = job && (await findRun(db, job.runId));
        // They may have been deleted meanwhile.
        if (job !== undefined && run !== undefined) tasks.push({ owned, run, job, task });
      }
      return { tasks, total: found.total };
    },

    async listJobsOfRun(
      opened: GrantedRepository,
      id: number,
      query: PageWindow & { readonly status: readonly string[] },
    ) {
      const run = await openRun(db, opened, id);
      const filter = {
        runId: run.id,
        attempt: run.attempt,
        statuses: toStatuses(query.status),
      };
      return findJobs(filter, query, false);
    },

    async getJob(opened: GrantedRepository, id: number): Promise<JobDetails> {
      const [details] = await loadJobDetails([await openJob(opened, id)]);
      if (details === undefined) throw notFound();
      return details;
    },

    /** Finds the log of a job, which may still grow. Throws `not_found` for a job that no runner has taken, and once it has expired. */
    async openLog(opened: GrantedRepository, id: number, range: LogRange): Promise<JobLog> {
      const job = await openJob(opened, id);
      const [task] = await listTasksOfJobs(db, [job.originalJobId ?? job.id]);
      if (task === undefined) throw notFound();
      if (task.isLogExpired) throw new AppError("not_found", "the log of this job has expired");
      const run = await findRun(db, job.runId);
      // Named as by Gitea: the file of the workflow without its extension, the job and the task.
      const [workflow = ""] = (run?.workflowFile ?? "").split(".", 1);
      return { name: `${workflow}-${job.name}-${task.id}.log`, rows: logs.read(task.id, range) };
    },
  };

  /** Opens a run again in the transaction that changes it. */
  async function reopenRun(tx: Transaction, opened: GrantedRepository, id: number) {
    return openRun(tx, await reopenRepository(tx, opened), id);
  }

  async function openJob({ repository }: GrantedRepository, id: number) {
    const job = await findJob(db, toJobId(id));
    if (job?.repositoryId !== repository.id) throw notFound();
    return job;
  }

  async function findRuns(
    caller: ForgeCaller | undefined,
    query: RunQuery,
    where: Pick<RunFilter, "repositoryId" | "ownedBy">,
  ) {
    const statuses = toStatuses(query.status);
    const actor = query.actor === "" ? undefined : await findUserByName(db, query.actor);
    const isKnown = actor !== undefined && (await isKnownTo(db, actor, caller?.user));
    if (query.actor !== "" && !isKnown) throw userNotFound(query.actor);
    const filter = {
      statuses,
      ...where,
      ...(actor === undefined ? {} : { actorId: actor.id }),
      ...(query.event === "" ? {} : { event: query.event }),
      ...(query.branch === "" ? {} : { ref: `refs/heads/${query.branch}` }),
      ...(query.head_sha === "" ? {} : { headSha: query.head_sha }),
      ...(query.file === undefined ? {} : { workflowFile: query.file }),
    };
    const found = await listRuns(db, filter, toRows(query));
    return { runs: await loadRunDetails(caller, found.runs), total: found.total };
  }

  async function loadRunDetails(
    caller: ForgeCaller | undefined,
    runs: readonly ActionRun[],
  ): Promise<RunDetails[]> {
    const actorIds = runs
      .flatMap(({ actorId, triggerActorId }) => [actorId, triggerActorId])
      .filter((id) => id !== undefined);
    const actors = new Map((await listUsersByIds(db, actorIds)).map((user) => [user.id, user]));
    const repositories = await loadRepositories(db, runs);
    const watchers = await countWatchers(db, [...repositories.keys()]);
    const details: RunDetails[] = [];
    for (const run of runs) {
      const owned = repositories.get(run.repositoryId);
      if (owned === undefined) continue;
      const access = await findAccess(db, owned, caller?.user);
      const isSignedIn = caller !== undefined;
      const repository = {
        ...owned,
        access,
        isSignedIn,
        watchers: watchers.get(run.repositoryId) ?? 0,
      };
      const actor = actors.get(run.actorId ?? toUserId(-1));
      const { triggerActorId } = run;
      const triggerActor = triggerActorId === undefined ? actor : actors.get(triggerActorId);
      details.push({ run, repository, actor, triggerActor });
    }
    return details;
  }

  async function findJobs(filter: JobFilter, window: PageWindow, isDescending: boolean) {
    const found = await listJobs(db, filter, { ...toRows(window), isDescending });
    return { jobs: await loadJobDetails(found.jobs), total: found.total };
  }

  async function loadJobDetails(jobs: readonly ActionJob[]): Promise<JobDetails[]> {
    const repositories = await loadRepositories(db, jobs);
    const found = await listTasksOfJobs(
      db,
      jobs.map(({ id, originalJobId }) => originalJobId ?? id),
    );
    const taskOf = new Map(found.map((task) => [task.jobId, task]));
    const steps = await listSteps(
      db,
      found.map(({ id }) => id),
    );
    const runs = new Map<RunId, ActionRun | undefined>();
    const details: JobDetails[] = [];
    for (const job of jobs) {
      if (!runs.has(job.runId)) runs.set(job.runId, await findRun(db, job.runId));
      const run = runs.get(job.runId);
      const owned = repositories.get(job.repositoryId);
      const task = taskOf.get(job.originalJobId ?? job.id);
      if (run !== undefined && owned !== undefined)
        details.push({ owned, run, job, task, steps: steps.get(task?.id ?? toTaskId(-1)) ?? [] });
    }
    return details;
  }
}

function toOwnedBy({ ownerId }: ActionLevel, caller: ForgeCaller): { readonly ownedBy: OwnedBy } {
  if (ownerId === undefined) throw new Error("the level has no owner");
  return { ownedBy: { ownerId, reader: caller.user, isPublicOnly: isPublicOnly(caller) } };
}

interface AttemptPath {
  readonly run: number;
  readonly attempt: number;
}
