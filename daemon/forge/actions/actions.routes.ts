// daemon/forge/actions: workflows. Pushes make runs, runners take their jobs and report.
// Start here: every route. actions.ts wires up the room: runs/ decides jobs, runners/ hands
// them out, protocol/ implements the protocol of the runners.
import { adminActionEndpoints } from "../../contract/forge/actions/actions.ts";
import { ownerActionEndpoints } from "../../contract/forge/actions/owner-actions.ts";
import { repositoryActionEndpoints } from "../../contract/forge/actions/repository-actions.ts";
import { workflowEndpoints } from "../../contract/forge/actions/workflows.ts";
import type { Route } from "../../http/handle.ts";
import { answer } from "../../http/serve.ts";
import { serve, serveSome } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Actions, JobDetails, RunDetails } from "./actions.service.ts";
import { toLevel } from "./secrets/levels.service.ts";
import {
  toJobView,
  toLogAnswer,
  toLogRange,
  toRunView,
  toTaskView,
  toTextAnswer,
} from "./actions.view.ts";
import type { Summaries } from "./artifacts/summaries.service.ts";

/** Returns the routes of runs and jobs, of the instance, of owners and of repositories. */
export function actionRoutes({
  actions,
  summaries,
  urls,
}: {
  readonly actions: Actions;
  readonly summaries: Summaries;
  readonly urls: ForgeUrls;
}): Route[] {
  const toJobs = ({
    jobs,
    total,
  }: {
    readonly jobs: readonly JobDetails[];
    readonly total: number;
  }) => answer({ jobs: jobs.map((each) => toJobView(each, urls)), total_count: total }, { total });
  const toRuns = ({
    runs,
    total,
  }: {
    readonly runs: readonly RunDetails[];
    readonly total: number;
  }) =>
    answer(
      { workflow_runs: runs.map((each) => toRunView(each, urls)), total_count: total },
      { total },
    );
  return [
    ...serveSome(adminActionEndpoints, {
      listJobs: async ({ query }) => toJobs(await actions.listAllJobs(query)),
      listRuns: async ({ caller, query }) => toRuns(await actions.listAllRuns(caller, query)),
    }),
    ...serve(ownerActionEndpoints, {
      listOwnRuns: async ({ caller, opened, query }) =>
        toRuns(await actions.listRunsOf(toLevel(opened), caller, query)),
      listOwnJobs: async ({ caller, opened, query }) =>
        toJobs(await actions.listJobsOf(toLevel(opened), caller, query)),
      listOrganizationRuns: async ({ caller, opened, query }) =>
        toRuns(await actions.listRunsOf(toLevel(opened), caller, query)),
      listOrganizationJobs: async ({ caller, opened, query }) =>
        toJobs(await actions.listJobsOf(toLevel(opened), caller, query)),
    }),
    ...serveSome(workflowEndpoints, {
      listWorkflowRuns: async ({ opened, caller, params, query }) =>
        toRuns(await actions.listRuns(opened, caller, { ...query, file: params.workflow_id })),
    }),
    ...serve(repositoryActionEndpoints, {
      listRepositoryRuns: async ({ opened, caller, query }) =>
        toRuns(await actions.listRuns(opened, caller, query)),
      listRepositoryTasks: async ({ opened, query }) => {
        const { tasks, total } = await actions.listTasks(opened, query);
        const views = tasks.map((each) => toTaskView(each, urls));
        return answer({ workflow_runs: views, total_count: total }, { total });
      },
      getRun: async ({ opened, caller, params }) =>
        toRunView(await actions.getRun(opened, params.run, caller), urls),
      getRunSummary: async ({ opened, params }) =>
        toTextAnswer(await summaries.open(opened, params.run), "text/markdown; charset=utf-8"),
      deleteRun: ({ opened, params }) => actions.deleteRun(opened, params.run),
      cancelRun: ({ opened, params }) => actions.cancelRun(opened, params.run),
      approveRun: async ({ opened, caller, params }) => {
        await actions.approveRun(opened, params.run, caller);
        return toRunView(await actions.getRun(opened, params.run, caller), urls);
      },
      rerunRun: async ({ opened, caller, params }) => {
        await actions.rerun(opened, params.run, caller, "all");
        return toRunView(await actions.getRun(opened, params.run, caller), urls);
      },
      rerunFailedJobs: ({ opened, caller, params }) =>
        actions.rerun(opened, params.run, caller, "failed"),
      rerunJob: async ({ opened, caller, params }) =>
        toJobView(await actions.rerunJob(opened, params, caller), urls),
      getRunAttempt: async ({ opened, caller, params }) =>
        toRunView(await actions.getAttempt(opened, params, caller), urls),
      listAttemptJobs: async ({ opened, params, query }) =>
        toJobs(await actions.listJobsOfAttempt(opened, params, query)),
      listRunJobs: async ({ opened, params, query }) =>
        toJobs(await actions.listJobsOfRun(opened, params.run, query)),
      listRepositoryJobs: async ({ opened, query }) =>
        toJobs(await actions.listJobs(opened, query)),
      getJob: async ({ opened, params }) =>
        toJobView(await actions.getJob(opened, params.job_id), urls),
      getJobLog: async ({ opened, params, query }) =>
        toLogAnswer(await actions.openLog(opened, params.job_id, toLogRange(query))),
    }),
  ];
}
