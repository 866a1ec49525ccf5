import { z } from "zod";
import { anyoneWithin, bytesOf, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  paging,
  pathInteger,
  queryInteger,
  queryText,
  signedInReplies,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { jobShape, runShape, statusFilter, taskShape } from "./shapes.ts";

const apiOnly = "croft run jobs shows the jobs of a run";
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const runParams = repositoryParams.extend({ run: pathInteger });
const jobParams = repositoryParams.extend({ job_id: pathInteger });
const read = anyoneWithin("repository");
const write = forgeUser("repository");
const jobList = z.object({ jobs: z.array(jobShape), total_count: z.int() });

export const listRepositoryRuns = endpoint({
  name: "forge.repos.actions.runs.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/runs",
  summary: "List the runs of a repository, the newest first",
  gate: read,
  params: repositoryParams,
  query: z.object({
    event: queryText,
    branch: queryText,
    status: statusFilter,
    actor: queryText,
    head_sha: queryText,
    ...paging,
  }),
  paging: "link_and_total",
  replies: {
    200: z.object({ workflow_runs: z.array(runShape), total_count: z.int() }),
    400: apiError,
    ...lookupReplies,
  },
});

export const listRepositoryTasks = endpoint({
  name: "forge.repos.actions.tasks.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/tasks",
  summary: "List the jobs that runners have taken, of all attempts, the newest first",
  gate: read,
  params: repositoryParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: {
    200: z.object({ workflow_runs: z.array(taskShape), total_count: z.int() }),
    ...lookupReplies,
  },
  apiOnly: "croft run jobs shows the jobs of a run, with their runners",
});

export const getRun = endpoint({
  name: "forge.repos.actions.runs.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run",
  summary: "Get a run",
  gate: read,
  params: runParams,
  replies: { 200: runShape, ...lookupReplies },
});

export const getRunSummary = endpoint({
  name: "forge.repos.actions.runs.summary",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/summary",
  summary: "The summaries of a run's steps, as Markdown",
  gate: read,
  params: runParams,
  replies: { 200: bytesOf("text/markdown; charset=utf-8"), ...lookupReplies },
});

export const deleteRun = endpoint({
  name: "forge.repos.actions.runs.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run",
  summary: "Delete a run that has ended, with its jobs and logs",
  gate: write,
  params: runParams,
  replies: { 204: empty, 400: apiError, ...lookupReplies },
});

export const cancelRun = endpoint({
  name: "forge.repos.actions.runs.cancel",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/cancel",
  summary: "Cancel all jobs of a run",
  gate: write,
  params: runParams,
  replies: { 204: empty, ...lookupReplies },
});

export const rerunRun = endpoint({
  name: "forge.repos.actions.runs.rerun",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/rerun",
  summary: "Run all jobs of a run again",
  gate: write,
  params: runParams,
  replies: { 201: runShape, 400: apiError, ...lookupReplies },
});

export const rerunFailedJobs = endpoint({
  name: "forge.repos.actions.runs.rerun_failed",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/rerun-failed-jobs",
  summary: "Run the failed jobs of a run again, and those that need them",
  gate: write,
  params: runParams,
  replies: { 201: empty, 400: apiError, ...lookupReplies },
});

export const rerunJob = endpoint({
  name: "forge.repos.actions.runs.rerun_job",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/jobs/:job_id/rerun",
  summary: "Run one job again, and those that need it",
  gate: write,
  params: runParams.extend({ job_id: pathInteger }),
  replies: { 201: jobShape, 400: apiError, ...lookupReplies },
});

export const getRunAttempt = endpoint({
  name: "forge.repos.actions.runs.attempts.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/attempts/:attempt",
  summary: "Get a run as of one of its attempts",
  gate: read,
  params: runParams.extend({ attempt: pathInteger }),
  replies: { 200: runShape, ...lookupReplies },
  apiOnly: "croft run view shows the last attempt",
});

export const listAttemptJobs = endpoint({
  name: "forge.repos.actions.runs.attempts.jobs",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/attempts/:attempt/jobs",
  summary: "List the jobs of one attempt of a run",
  gate: read,
  params: runParams.extend({ attempt: pathInteger }),
  query: z.object({ status: statusFilter, ...paging }),
  paging: "link_and_total",
  replies: { 200: jobList, 400: apiError, ...lookupReplies },
});

export const listRunJobs = endpoint({
  name: "forge.repos.actions.runs.jobs",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/runs/:run/jobs",
  summary: "List the jobs of the last attempt of a run",
  gate: read,
  params: runParams,
  query: z.object({ status: statusFilter, ...paging }),
  paging: "link_and_total",
  replies: { 200: jobList, 400: apiError, ...lookupReplies },
});

export const listRepositoryJobs = endpoint({
  name: "forge.repos.actions.jobs.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/jobs",
  summary: "List the jobs of a repository",
  gate: read,
  params: repositoryParams,
  query: z.object({ status: statusFilter, ...paging }),
  paging: "link_and_total",
  replies: { 200: jobList, 400: apiError, ...lookupReplies },
  apiOnly,
});

export const getJob = endpoint({
  name: "forge.repos.actions.jobs.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/jobs/:job_id",
  summary: "Get a job",
  gate: read,
  params: jobParams,
  replies: { 200: jobShape, ...lookupReplies },
});

export const getJobLog = endpoint({
  name: "forge.repos.actions.jobs.logs",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/jobs/:job_id/logs",
  summary: "Read the log of a job, or a range of its rows, also while it grows",
  gate: read,
  params: jobParams,
  query: z.object({ from_row: queryInteger, rows: queryInteger }),
  replies: { 200: bytesOf("text/plain; charset=utf-8"), ...lookupReplies },
});

export const repositoryActionEndpoints = {
  listRepositoryRuns,
  listRepositoryTasks,
  getRun,
  getRunSummary,
  deleteRun,
  cancelRun,
  rerunRun,
  rerunFailedJobs,
  rerunJob,
  getRunAttempt,
  listAttemptJobs,
  listRunJobs,
  listRepositoryJobs,
  getJob,
  getJobLog,
};
