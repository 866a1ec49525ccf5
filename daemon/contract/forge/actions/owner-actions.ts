import { z } from "zod";
import { endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, paging, queryText, signedInReplies } from "../common.ts";
import { jobShape, runShape, statusFilter } from "./shapes.ts";

// Runs and jobs of all repositories of an owner that the caller may read.

const runQuery = z.object({
  event: queryText,
  branch: queryText,
  status: statusFilter,
  actor: queryText,
  head_sha: queryText,
  ...paging,
});
const jobQuery = z.object({ status: statusFilter, ...paging });
const orgParams = z.object({ org: z.string() });
const refused = { 400: apiError, ...signedInReplies, 404: apiError } as const;
const runReplies = {
  200: z.object({ workflow_runs: z.array(runShape), total_count: z.int() }),
  ...refused,
} as const;
const jobReplies = {
  200: z.object({ jobs: z.array(jobShape), total_count: z.int() }),
  ...refused,
} as const;

export const listOwnRuns = endpoint({
  name: "forge.user.actions.runs.list",
  method: "GET",
  path: "/api/v1/user/actions/runs",
  summary: "List the runs of your own repositories, the newest first",
  gate: forgeUser("user"),
  query: runQuery,
  paging: "link_and_total",
  replies: runReplies,
});

export const listOwnJobs = endpoint({
  name: "forge.user.actions.jobs.list",
  method: "GET",
  path: "/api/v1/user/actions/jobs",
  summary: "List the jobs of your own repositories",
  gate: forgeUser("user"),
  query: jobQuery,
  paging: "link_and_total",
  replies: jobReplies,
  apiOnly: "croft run list --user and croft run jobs show them",
});

export const listOrganizationRuns = endpoint({
  name: "forge.orgs.actions.runs.list",
  method: "GET",
  path: "/api/v1/orgs/:org/actions/runs",
  summary: "List the runs of the repositories of an organization, the newest first",
  gate: forgeUser("organization"),
  params: orgParams,
  query: runQuery,
  paging: "link_and_total",
  replies: runReplies,
});

export const listOrganizationJobs = endpoint({
  name: "forge.orgs.actions.jobs.list",
  method: "GET",
  path: "/api/v1/orgs/:org/actions/jobs",
  summary: "List the jobs of the repositories of an organization",
  gate: forgeUser("organization"),
  params: orgParams,
  query: jobQuery,
  paging: "link_and_total",
  replies: jobReplies,
  apiOnly: "croft run list --org and croft run jobs show them",
});

export const ownerActionEndpoints = {
  listOwnRuns,
  listOwnJobs,
  listOrganizationRuns,
  listOrganizationJobs,
};
