import { z } from "zod";
import { organization, ownAccount } from "../../permission.ts";
import { resource } from "../resource.ts";
import { forgeUser } from "../../endpoint.ts";
import { paging, queryText } from "../common.ts";
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

export const ownerActionEndpoints = {
  ...resource(
    {
      name: "forge.user.actions.runs",
      path: "/api/v1/user/actions/runs",
      gate: forgeUser("user"),
      on: ownAccount,
    },
    ({ operation }) => ({
      listOwnRuns: operation({
        as: "list",
        method: "GET",
        summary: "List the runs of your own repositories, the newest first",
        query: runQuery,
        paging: "link_and_total",
        replies: { 200: z.object({ workflow_runs: z.array(runShape), total_count: z.int() }) },
        refuses: [400, 404],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.actions.jobs",
      path: "/api/v1/user/actions/jobs",
      gate: forgeUser("user"),
      on: ownAccount,
    },
    ({ operation }) => ({
      listOwnJobs: operation({
        as: "list",
        method: "GET",
        summary: "List the jobs of your own repositories",
        query: jobQuery,
        paging: "link_and_total",
        replies: { 200: z.object({ jobs: z.array(jobShape), total_count: z.int() }) },
        refuses: [400, 404],
        apiOnly: "croft run list --user and croft run jobs show them",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.actions.runs",
      path: "/api/v1/orgs/:org/actions/runs",
      params: orgParams,
      gate: forgeUser("organization"),
      on: organization("member"),
    },
    ({ operation }) => ({
      listOrganizationRuns: operation({
        as: "list",
        method: "GET",
        summary: "List the runs of the repositories of an organization, the newest first",
        query: runQuery,
        paging: "link_and_total",
        replies: { 200: z.object({ workflow_runs: z.array(runShape), total_count: z.int() }) },
        refuses: [400],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.actions.jobs",
      path: "/api/v1/orgs/:org/actions/jobs",
      params: orgParams,
      gate: forgeUser("organization"),
      on: organization("member"),
    },
    ({ operation }) => ({
      listOrganizationJobs: operation({
        as: "list",
        method: "GET",
        summary: "List the jobs of the repositories of an organization",
        query: jobQuery,
        paging: "link_and_total",
        replies: { 200: z.object({ jobs: z.array(jobShape), total_count: z.int() }) },
        refuses: [400],
        apiOnly: "croft run list --org and croft run jobs show them",
      }),
    }),
  ),
};
