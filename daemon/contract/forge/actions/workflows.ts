import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalTextMap,
  paging,
  queryFlag,
  queryText,
  requiredText,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { runShape, statusFilter } from "./shapes.ts";

const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const workflowParams = repositoryParams.extend({ workflow_id: z.string() });
const read = anyoneWithin("repository");
const write = forgeUser("repository");

/** A workflow file of the default branch. The id is its name. */
export const workflowShape = z.object({
  id: z.string(),
  name: z.string(),
  path: z.string(),
  state: z.enum(["active", "disabled_manually"]),
  created_at: wireTime,
  updated_at: wireTime,
  url: z.string(),
  html_url: z.string(),
  badge_url: z.string(),
});
export type WireWorkflow = z.output<typeof workflowShape>;

export const listWorkflows = endpoint({
  name: "forge.repos.actions.workflows.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/workflows",
  summary: "List the workflows of the default branch",
  gate: read,
  params: repositoryParams,
  replies: {
    200: z.object({ workflows: z.array(workflowShape), total_count: z.int() }),
    ...lookupReplies,
  },
});

export const getWorkflow = endpoint({
  name: "forge.repos.actions.workflows.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/workflows/:workflow_id",
  summary: "Get a workflow of the default branch",
  gate: read,
  params: workflowParams,
  replies: { 200: workflowShape, ...lookupReplies },
  apiOnly: "croft workflow list shows all of them",
});

export const listWorkflowRuns = endpoint({
  name: "forge.repos.actions.workflows.runs",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/actions/workflows/:workflow_id/runs",
  summary: "List the runs of a workflow, the newest first",
  gate: read,
  params: workflowParams,
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

export const enableWorkflow = endpoint({
  name: "forge.repos.actions.workflows.enable",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/actions/workflows/:workflow_id/enable",
  summary: "Enable a workflow",
  gate: write,
  params: workflowParams,
  replies: { 204: empty, ...lookupReplies },
});

export const disableWorkflow = endpoint({
  name: "forge.repos.actions.workflows.disable",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/actions/workflows/:workflow_id/disable",
  summary: "Disable a workflow: no event starts it",
  gate: write,
  params: workflowParams,
  replies: { 204: empty, ...lookupReplies },
});

export const dispatchWorkflow = endpoint({
  name: "forge.repos.actions.workflows.dispatch",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/actions/workflows/:workflow_id/dispatches",
  summary: "Start a workflow by its event workflow_dispatch",
  gate: write,
  params: workflowParams,
  query: z.object({ return_run_details: queryFlag }),
  body: z.object({ ref: requiredText(), inputs: optionalTextMap }),
  replies: {
    200: z.object({ workflow_run_id: wireId, run_url: z.string(), html_url: z.string() }),
    204: empty,
    ...lookupReplies,
    422: apiError,
  },
});

export const workflowEndpoints = {
  listWorkflows,
  getWorkflow,
  listWorkflowRuns,
  enableWorkflow,
  disableWorkflow,
  dispatchWorkflow,
};
