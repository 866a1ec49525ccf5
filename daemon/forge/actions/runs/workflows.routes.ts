import { workflowEndpoints } from "../../../contract/forge/actions/workflows.ts";
import type { Route } from "../../../http/handle.ts";
import { serve } from "../../handle.ts";
import type { ForgeUrls } from "../../urls.ts";
import { toDispatched, toWorkflowView } from "./workflow.view.ts";
import type { Workflows } from "./workflows.service.ts";

/** Returns the routes of workflow files and of runs that users start. */
export function workflowRoutes({
  workflows,
  urls,
}: {
  readonly workflows: Workflows;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(ofFiles, {
    listWorkflows: async ({ opened }) => {
      const views = (await workflows.list(opened)).map((each) => toWorkflowView(each, urls));
      return { workflows: views, total_count: views.length };
    },
    getWorkflow: async ({ opened, params }) =>
      toWorkflowView(await workflows.get(opened, params.workflow_id), urls),
    listDispatchInputs: ({ opened, params, query }) =>
      workflows.listInputs(opened, params.workflow_id, query.ref),
    enableWorkflow: ({ opened, params }) =>
      workflows.setDisabled(opened, params.workflow_id, false),
    disableWorkflow: ({ opened, params }) =>
      workflows.setDisabled(opened, params.workflow_id, true),
    dispatchWorkflow: async ({ opened, caller, params, query, body }) =>
      toDispatched(
        await workflows.dispatch(opened, caller, { ...body, id: params.workflow_id }),
        query.return_run_details,
        urls,
      ),
  });
}

// The runs of a workflow belong to the routes of runs.
const { listWorkflowRuns: _runs, ...ofFiles } = workflowEndpoints;
