// daemon/forge/actions: workflows. Pushes make runs, runners take their jobs and report.
// Start here: every route. actions.ts wires up the room: runs/ decides jobs, runners/ hands
// them out, protocol/ implements the protocol of the runners.
import { adminActionEndpoints } from "../../contract/forge/actions/actions.ts";
import { ownerActionEndpoints } from "../../contract/forge/actions/owner-actions.ts";
import { repositoryActionEndpoints } from "../../contract/forge/actions/repository-actions.ts";
import { workflowEndpoints } from "../../contract/forge/actions/workflows.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Actions, JobDetails, RunDetails } from "./actions.service.ts";
import { toLevel } from "./secrets/levels.service.ts";
import { toJobView, toLogAnswer, toLogRange, toRunView, toTaskView } from "./actions.view.ts";

/** Returns the routes of runs and jobs, of the instance, of owners and of repositories. */
export function actionRoutes({
  actions,
  urls,
}: {
  readonly actions: Actions;
  readonly urls: ForgeUrls;
}): Route[] {
  const toJobs = ({
    jobs,
    total,
  }: {
    readonly jobs: readonly JobDetails[];
    readonly total: number;
  }) =>
    ({
      status: 200,
      body: { jobs: jobs.map((each) => toJobView(each, urls)), total_count: total },
      total,
    }) as const;
  const toRuns = ({
    runs,
    total,
  }: {
    readonly runs: readonly RunDetails[];
    readonly total: number;
  }) =>
    ({
      status: 200,
      body: { workflow_runs: runs.map((each) => toRunView(each, urls)), total_count: total },
      total,
    }) as const;
  return [
    handle(adminActionEndpoints.listJobs, async ({ query }) =>
      toJobs(await actions.listAllJobs(query)),
    ),
    handle(adminActionEndpoints.listRuns, async ({ caller, query }) =>
      toRuns(await actions.listAllRuns(caller, query)),
    ),
    handle(ownerActionEndpoints.listOwnRuns, async ({ caller, opened, query }) =>
      toRuns(await actions.listRunsOf(toLevel(opened), caller, query)),
    ),
    handle(ownerActionEndpoints.listOwnJobs, async ({ caller, opened, query }) =>
      toJobs(await actions.listJobsOf(toLevel(opened), caller, query)),
    ),
    handle(ownerActionEndpoints.listOrganizationRuns, async ({ caller, opened, query }) =>
      toRuns(await actions.listRunsOf(toLevel(opened), caller, query)),
    ),
    handle(ownerActionEndpoints.listOrganizationJobs, async ({ caller, opened, query }) =>
      toJobs(await actions.listJobsOf(toLevel(opened), caller, query)),
    ),
    handle(repositoryActionEndpoints.listRepositoryRuns, async ({ caller, params, query }) =>
      toRuns(await actions.listRuns(params, caller, query)),
    ),
    handle(repositoryActionEndpoints.listRepositoryTasks, async ({ caller, params, query }) => {
      const { tasks, total } = await actions.listTasks(params, caller, query);
      const views = tasks.map((each) => toTaskView(each, urls));
      return { status: 200, body: { workflow_runs: views, total_count: total }, total };
    }),
    handle(repositoryActionEndpoints.getRun, async ({ caller, params }) => ({
      status: 200,
      body: toRunView(await actions.getRun(params, caller), urls),
    })),
    handle(repositoryActionEndpoints.deleteRun, async ({ caller, params }) => {
      await actions.deleteRun(params, caller);
      return { status: 204, body: undefined };
    }),
    handle(repositoryActionEndpoints.cancelRun, async ({ caller, params }) => {
      await actions.cancelRun(params, caller);
      return { status: 204, body: undefined };
    }),
    handle(repositoryActionEndpoints.approveRun, async ({ caller, params }) => {
      await actions.approveRun(params, caller);
      return { status: 200, body: toRunView(await actions.getRun(params, caller), urls) };
    }),
    handle(repositoryActionEndpoints.rerunRun, async ({ caller, params }) => {
      await actions.rerun(params, caller, "all");
      return { status: 201, body: toRunView(await actions.getRun(params, caller), urls) };
    }),
    handle(repositoryActionEndpoints.rerunFailedJobs, async ({ caller, params }) => {
      await actions.rerun(params, caller, "failed");
      return { status: 201 };
    }),
    handle(repositoryActionEndpoints.rerunJob, async ({ caller, params }) => ({
      status: 201,
      body: toJobView(await actions.rerunJob(params, caller), urls),
    })),
    handle(repositoryActionEndpoints.getRunAttempt, async ({ caller, params }) => ({
      status: 200,
      body: toRunView(await actions.getAttempt(params, caller), urls),
    })),
    handle(repositoryActionEndpoints.listAttemptJobs, async ({ caller, params, query }) =>
      toJobs(await actions.listJobsOfAttempt(params, caller, query)),
    ),
    handle(workflowEndpoints.listWorkflowRuns, async ({ caller, params, query }) =>
      toRuns(await actions.listRuns(params, caller, { ...query, file: params.workflow_id })),
    ),
    handle(repositoryActionEndpoints.listRunJobs, async ({ caller, params, query }) =>
      toJobs(await actions.listJobsOfRun(params, caller, query)),
    ),
    handle(repositoryActionEndpoints.listRepositoryJobs, async ({ caller, params, query }) =>
      toJobs(await actions.listJobs(params, caller, query)),
    ),
    handle(repositoryActionEndpoints.getJob, async ({ caller, params }) => ({
      status: 200,
      body: toJobView(await actions.getJob(params, caller), urls),
    })),
    handle(repositoryActionEndpoints.getJobLog, async ({ caller, params, query }) =>
      toLogAnswer(await actions.openLog(params, caller, toLogRange(query))),
    ),
  ];
}
