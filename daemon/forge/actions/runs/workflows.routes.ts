import { workflowEndpoints } from "../../../contract/forge/actions/workflows.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
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
  return [
    handle(workflowEndpoints.listWorkflows, async ({ caller, params }) => {
      const details = await workflows.list(params, caller);
      return {
        status: 200,
        body: {
          workflows: details.map((each) => toWorkflowView(each, urls)),
          total_count: details.length,
        },
      };
    }),
    handle(workflowEndpoints.getWorkflow, async ({ caller, params }) => ({
      status: 200,
      body: toWorkflowView(await workflows.get(params, caller), urls),
    })),
    handle(workflowEndpoints.enableWorkflow, async ({ caller, params }) => {
      await workflows.setDisabled(params, caller, false);
      return { status: 204 };
    }),
    handle(workflowEndpoints.disableWorkflow, async ({ caller, params }) => {
      await workflows.setDisabled(params, caller, true);
      return { status: 204 };
    }),
    handle(workflowEndpoints.dispatchWorkflow, async ({ caller, params, query, body }) =>
      toDispatched(await workflows.dispatch(params, caller, body), query.return_run_details, urls),
    ),
  ];
}
