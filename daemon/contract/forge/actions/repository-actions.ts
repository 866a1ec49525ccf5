import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, bytesOf, empty, forgeUser } from "../../endpoint.ts";
import { paging, pathInteger, queryInteger, queryText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { jobShape, runShape, statusFilter, taskShape } from "./shapes.ts";

const apiOnly = "croft run jobs shows the jobs of a run";
const runParams = repositoryParams.extend({ run: pathInteger });
const read = anyoneWithin("repository");
const write = forgeUser("repository");
const jobList = z.object({ jobs: z.array(jobShape), total_count: z.int() });

export const repositoryActionEndpoints = {
  ...resource(
    {
      name: "forge.repos.actions.runs",
      path: "/api/v1/repos/:owner/:repo/actions/runs",
      params: repositoryParams,
      gate: read,
      on: repository("actions", "read"),
    },
    ({ operation }) => ({
      listRepositoryRuns: operation({
        as: "list",
        method: "GET",
        summary: "List the runs of a repository, the newest first",
        query: z.object({
          event: queryText,
          branch: queryText,
          status: statusFilter,
          actor: queryText,
          head_sha: queryText,
          ...paging,
        }),
        paging: "link_and_total",
        replies: { 200: z.object({ workflow_runs: z.array(runShape), total_count: z.int() }) },
        refuses: [400],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.actions.tasks",
      path: "/api/v1/repos/:owner/:repo/actions/tasks",
      params: repositoryParams,
      gate: read,
      on: repository("actions", "read"),
    },
    ({ operation }) => ({
      listRepositoryTasks: operation({
        as: "list",
        method: "GET",
        summary: "List the jobs that runners have taken, of all attempts, the newest first",
        query: z.object(paging),
        paging: "link_and_total",
        replies: { 200: z.object({ workflow_runs: z.array(taskShape), total_count: z.int() }) },
        apiOnly: "croft run jobs shows the jobs of a run, with their runners",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.actions.runs",
      path: "/api/v1/repos/:owner/:repo/actions/runs/:run",
      params: runParams,
      shape: runShape,
      gate: { read: read, change: write },
      on: { read: repository("actions", "read"), change: repository("actions", "write") },
      acceptsArchived: true,
    },
    ({ get, remove, operation }) => ({
      getRun: get("Get a run"),
      getRunSummary: operation({
        method: "GET",
        at: "summary",
        summary: "The summaries of a run's steps, as Markdown",
        replies: { 200: bytesOf("text/markdown; charset=utf-8") },
      }),
      deleteRun: remove("Delete a run that has ended, with its jobs and logs", { refuses: [400] }),
      cancelRun: operation({
        method: "POST",
        at: "cancel",
        summary: "Cancel all jobs of a run",
        replies: { 204: empty },
      }),
      approveRun: operation({
        method: "POST",
        at: "approve",
        summary: "Let a run begin that waits for approval",
        replies: { 200: runShape },
        refuses: [409],
      }),
      rerunRun: operation({
        method: "POST",
        at: "rerun",
        summary: "Run all jobs of a run again",
        replies: { 201: runShape },
        refuses: [400],
      }),
      rerunFailedJobs: operation({
        as: "rerun_failed",
        method: "POST",
        at: "rerun-failed-jobs",
        summary: "Run the failed jobs of a run again, and those that need them",
        replies: { 201: empty },
        refuses: [400],
      }),
      rerunJob: operation({
        as: "rerun_job",
        method: "POST",
        at: "jobs/:job_id/rerun",
        summary: "Run one job again, and those that need it",
        params: runParams.extend({ job_id: pathInteger }),
        replies: { 201: jobShape },
        refuses: [400],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.actions.runs.attempts",
      path: "/api/v1/repos/:owner/:repo/actions/runs/:run/attempts/:attempt",
      params: runParams.extend({ attempt: pathInteger }),
      shape: runShape,
      gate: read,
      on: repository("actions", "read"),
    },
    ({ get, operation }) => ({
      getRunAttempt: get("Get a run as of one of its attempts", {
        apiOnly: "croft run view shows the last attempt",
      }),
      listAttemptJobs: operation({
        method: "GET",
        at: "jobs",
        summary: "List the jobs of one attempt of a run",
        query: z.object({ status: statusFilter, ...paging }),
        paging: "link_and_total",
        replies: { 200: jobList },
        refuses: [400],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.actions.runs",
      path: "/api/v1/repos/:owner/:repo/actions/runs/:run/jobs",
      params: runParams,
      shape: jobList,
      gate: read,
      on: repository("actions", "read"),
    },
    ({ get }) => ({
      listRunJobs: get("List the jobs of the last attempt of a run", {
        as: "jobs",
        query: z.object({ status: statusFilter, ...paging }),
        paging: "link_and_total",
        refuses: [400],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.actions.jobs",
      path: "/api/v1/repos/:owner/:repo/actions/jobs",
      params: repositoryParams,
      id: { job_id: pathInteger },
      shape: jobShape,
      gate: read,
      on: repository("actions", "read"),
    },
    ({ get, operation }) => ({
      listRepositoryJobs: operation({
        as: "list",
        method: "GET",
        summary: "List the jobs of a repository",
        query: z.object({ status: statusFilter, ...paging }),
        paging: "link_and_total",
        replies: { 200: jobList },
        refuses: [400],
        apiOnly,
      }),
      getJob: get("Get a job"),
      getJobLog: operation({
        method: "GET",
        item: true,
        at: "logs",
        summary: "Read the log of a job, or a range of its rows, also while it grows",
        query: z.object({ from_row: queryInteger, rows: queryInteger }),
        replies: { 200: bytesOf("text/plain; charset=utf-8") },
      }),
    }),
  ),
};
