import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, empty, forgeUser } from "../../endpoint.ts";
import {
  optionalTextMap,
  paging,
  queryFlag,
  queryText,
  requiredText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { runShape, statusFilter } from "./shapes.ts";
const read = anyoneWithin("repository");
const write = forgeUser("repository");

/** A workflow file of the default branch. The id is its name. */
const workflowShape = z.object({
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

/** An input that a person gives when they start a workflow. `default` is empty when there is none. */
const dispatchInputShape = z.object({
  name: z.string(),
  description: z.string(),
  type: z.enum(["string", "boolean", "number", "choice", "environment"]),
  required: z.boolean(),
  default: z.string(),
  options: z.array(z.string()),
});
export type WireDispatchInput = z.output<typeof dispatchInputShape>;

export const workflowEndpoints = resource(
  {
    name: "forge.repos.actions.workflows",
    path: "/api/v1/repos/:owner/:repo/actions/workflows",
    params: repositoryParams,
    id: { workflow_id: z.string() },
    shape: workflowShape,
    gate: { read: read, change: write },
    on: { read: repository("actions", "read"), change: repository("actions", "write") },
    acceptsArchived: true,
  },
  ({ get, operation }) => ({
    listWorkflows: operation({
      as: "list",
      method: "GET",
      summary: "List the workflows of the default branch",
      replies: { 200: z.object({ workflows: z.array(workflowShape), total_count: z.int() }) },
    }),
    getWorkflow: get("Get a workflow of the default branch", {
      apiOnly: "croft workflow list shows all of them",
    }),
    listWorkflowRuns: operation({
      method: "GET",
      item: true,
      at: "runs",
      summary: "List the runs of a workflow, the newest first",
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
    listDispatchInputs: operation({
      as: "inputs",
      method: "GET",
      item: true,
      at: "inputs",
      summary: "List the inputs of a workflow's event workflow_dispatch at a branch or tag",
      query: z.object({ ref: queryText }),
      replies: { 200: z.array(dispatchInputShape) },
      refuses: [422],
      apiOnly: "croft workflow run says which inputs do not fit",
    }),
    enableWorkflow: operation({
      method: "PUT",
      item: true,
      at: "enable",
      summary: "Enable a workflow",
      replies: { 204: empty },
    }),
    disableWorkflow: operation({
      method: "PUT",
      item: true,
      at: "disable",
      summary: "Disable a workflow: no event starts it",
      replies: { 204: empty },
    }),
    dispatchWorkflow: operation({
      as: "dispatch",
      method: "POST",
      item: true,
      at: "dispatches",
      summary: "Start a workflow by its event workflow_dispatch",
      query: z.object({ return_run_details: queryFlag }),
      body: z.object({ ref: requiredText(), inputs: optionalTextMap }),
      replies: {
        200: z.object({ workflow_run_id: wireId, run_url: z.string(), html_url: z.string() }),
        204: empty,
      },
    }),
  }),
);
