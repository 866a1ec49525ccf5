import { z } from "zod";
import { empty, endpoint, siteAdminOfAll } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalQueryFlag,
  paging,
  pathInteger,
  queryText,
  queryWord,
  signedInReplies,
  wireId,
} from "../common.ts";

// Runners, runs and jobs of workflows. Nothing here runs workflows, so no runner ever registers: these operations
// answer as those of a server to which none has, for tools that ask every server alike.

const noWorkflows = "nothing here runs workflows: there is nothing that a command could show";

/** A runner (forge behaviour, 7.10). */
const runnerShape = z.object({
  id: wireId,
  name: z.string(),
  status: z.enum(["online", "offline"]),
  busy: z.boolean(),
  disabled: z.boolean(),
  ephemeral: z.boolean(),
  labels: z.array(z.object({ id: wireId, name: z.string(), type: z.string() })),
});

/** Words that jobs and runs are chosen by (forge behaviour, 16.4). */
export const workflowStatusWords = [
  "requested",
  "pending",
  "waiting",
  "action_required",
  "queued",
  "in_progress",
  "completed",
  "failure",
  "success",
  "skipped",
  "neutral",
  "cancelled",
  "timed_out",
] as const;

const statuses = z
  .preprocess(
    (value: string | readonly string[] | undefined) =>
      value === undefined ? [] : typeof value === "string" ? [value] : value,
    z.array(z.string()),
  )
  .meta({ items: { enum: [...workflowStatusWords] } });

const runnerParams = z.object({ runner_id: pathInteger });

export const listJobs = endpoint({
  name: "forge.admin.actions.jobs.list",
  method: "GET",
  path: "/api/v1/admin/actions/jobs",
  summary: "Jobs of workflows, which nothing here runs",
  gate: siteAdminOfAll,
  query: z
    .object({
      status: statuses,
      ...paging,
      sort: queryWord(["id"]),
      order: queryWord(["asc", "desc"]),
    })
    .superRefine(({ sort, order }, context) => {
      const refuse = (message: string) => context.addIssue({ code: "custom", message });
      // As with users, order is looked at only when a sort is given, and before it.
      if (sort !== "" && !["", "asc", "desc"].includes(order))
        refuse(`Invalid sort order: ${JSON.stringify(order)}`);
      else if (!["", "id"].includes(sort)) refuse(`Invalid sort mode: ${JSON.stringify(sort)}`);
    }),
  paging: "link_and_total",
  replies: {
    200: z.object({ jobs: z.array(z.never()), total_count: z.int() }),
    400: apiError,
    ...signedInReplies,
    422: apiError,
  },
  apiOnly: noWorkflows,
});

export const listRuns = endpoint({
  name: "forge.admin.actions.runs.list",
  method: "GET",
  path: "/api/v1/admin/actions/runs",
  summary: "Runs of workflows, which nothing here runs",
  gate: siteAdminOfAll,
  query: z.object({
    event: queryText,
    branch: queryText,
    status: statuses,
    actor: queryText,
    head_sha: queryText,
    ...paging,
  }),
  paging: "link_and_total",
  replies: {
    200: z.object({ workflow_runs: z.array(z.never()), total_count: z.int() }),
    400: apiError,
    ...signedInReplies,
    404: apiError,
  },
  apiOnly: noWorkflows,
});

export const listRunners = endpoint({
  name: "forge.admin.actions.runners.list",
  method: "GET",
  path: "/api/v1/admin/actions/runners",
  summary: "Runners, of which there are none",
  gate: siteAdminOfAll,
  query: z.object({ disabled: optionalQueryFlag, ...paging }),
  replies: {
    200: z.object({ runners: z.array(runnerShape), total_count: z.int() }),
    ...signedInReplies,
  },
  apiOnly: noWorkflows,
});

export const createRegistrationToken = endpoint({
  name: "forge.admin.actions.runners.token",
  method: "POST",
  path: "/api/v1/admin/actions/runners/registration-token",
  summary: "The token that a runner would register with: the same each time",
  gate: siteAdminOfAll,
  replies: { 200: z.object({ token: z.string() }), ...signedInReplies },
  apiOnly: noWorkflows,
});

export const getRunner = endpoint({
  name: "forge.admin.actions.runners.get",
  method: "GET",
  path: "/api/v1/admin/actions/runners/:runner_id",
  summary: "A runner by id",
  gate: siteAdminOfAll,
  params: runnerParams,
  replies: { 200: runnerShape, ...signedInReplies, 404: apiError },
  apiOnly: noWorkflows,
});

export const editRunner = endpoint({
  name: "forge.admin.actions.runners.edit",
  method: "PATCH",
  path: "/api/v1/admin/actions/runners/:runner_id",
  summary: "Turn a runner off or on",
  gate: siteAdminOfAll,
  params: runnerParams,
  // That it is required counts only where there is such a runner (forge behaviour, 16.1).
  body: z.object({ disabled: optionalFlag }),
  replies: { 200: runnerShape, ...signedInReplies, 404: apiError, 422: apiError },
  apiOnly: noWorkflows,
});

export const deleteRunner = endpoint({
  name: "forge.admin.actions.runners.delete",
  method: "DELETE",
  path: "/api/v1/admin/actions/runners/:runner_id",
  summary: "Delete a runner",
  gate: siteAdminOfAll,
  params: runnerParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
  apiOnly: noWorkflows,
});

export const adminActionEndpoints = [
  listJobs,
  listRuns,
  listRunners,
  createRegistrationToken,
  getRunner,
  editRunner,
  deleteRunner,
];
