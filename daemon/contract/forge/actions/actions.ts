import { z } from "zod";
import { empty, endpoint, siteAdminOfAll } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalQueryFlag,
  paging,
  pathInteger,
  queryFlag,
  queryText,
  queryWord,
  signedInReplies,
} from "../common.ts";
import { jobShape, runnerShape, runShape, statusFilter } from "./shapes.ts";

const runnerParams = z.object({ runner_id: pathInteger });

export const listJobs = endpoint({
  name: "forge.admin.actions.jobs.list",
  method: "GET",
  path: "/api/v1/admin/actions/jobs",
  summary: "List the jobs of all repositories",
  gate: siteAdminOfAll,
  query: z
    .object({
      status: statusFilter,
      ...paging,
      sort: queryWord(["id"]),
      order: queryWord(["asc", "desc"]),
    })
    .superRefine(({ sort, order }, context) => {
      const refuse = (message: string) => context.addIssue({ code: "custom", message });
      // As with users, `order` is validated only when a sort is given, and before the sort.
      if (sort !== "" && !["", "asc", "desc"].includes(order))
        refuse(`Invalid sort order: ${JSON.stringify(order)}`);
      else if (!["", "id"].includes(sort)) refuse(`Invalid sort mode: ${JSON.stringify(sort)}`);
    }),
  paging: "link_and_total",
  replies: {
    200: z.object({ jobs: z.array(jobShape), total_count: z.int() }),
    400: apiError,
    ...signedInReplies,
    422: apiError,
  },
});

export const listRuns = endpoint({
  name: "forge.admin.actions.runs.list",
  method: "GET",
  path: "/api/v1/admin/actions/runs",
  summary: "List the runs of all repositories",
  gate: siteAdminOfAll,
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
    ...signedInReplies,
    404: apiError,
  },
});

export const listRunners = endpoint({
  name: "forge.admin.actions.runners.list",
  method: "GET",
  path: "/api/v1/admin/actions/runners",
  summary: "List all runners",
  gate: siteAdminOfAll,
  query: z.object({ disabled: optionalQueryFlag, ...paging }),
  replies: {
    200: z.object({ runners: z.array(runnerShape), total_count: z.int() }),
    ...signedInReplies,
  },
});

export const createRegistrationToken = endpoint({
  name: "forge.admin.actions.runners.token",
  method: "POST",
  path: "/api/v1/admin/actions/runners/registration-token",
  summary: "Get the registration token of the instance, or renew it",
  gate: siteAdminOfAll,
  query: z.object({ renew: queryFlag }),
  replies: { 200: z.object({ token: z.string() }), ...signedInReplies },
});

export const getRunner = endpoint({
  name: "forge.admin.actions.runners.get",
  method: "GET",
  path: "/api/v1/admin/actions/runners/:runner_id",
  summary: "Get a runner",
  gate: siteAdminOfAll,
  params: runnerParams,
  replies: { 200: runnerShape, ...signedInReplies, 404: apiError },
});

export const editRunner = endpoint({
  name: "forge.admin.actions.runners.edit",
  method: "PATCH",
  path: "/api/v1/admin/actions/runners/:runner_id",
  summary: "Disable or enable a runner",
  gate: siteAdminOfAll,
  params: runnerParams,
  // The service refuses a missing value, after it has found the runner.
  body: z.object({ disabled: optionalFlag }),
  replies: { 200: runnerShape, ...signedInReplies, 404: apiError, 422: apiError },
});

export const deleteRunner = endpoint({
  name: "forge.admin.actions.runners.delete",
  method: "DELETE",
  path: "/api/v1/admin/actions/runners/:runner_id",
  summary: "Delete a runner",
  gate: siteAdminOfAll,
  params: runnerParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const adminActionEndpoints = {
  listJobs,
  listRuns,
  listRunners,
  createRegistrationToken,
  getRunner,
  editRunner,
  deleteRunner,
};
