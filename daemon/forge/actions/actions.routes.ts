// daemon/forge/actions: runners, runs and jobs of a server that runs no workflows.
// May import: daemon/contract, daemon/errors.ts, daemon/http/handle.ts (types), ../handle.ts, ../refusals.ts, storage.
// Start here, then actions.service.ts; there is nothing else until something runs workflows.
import {
  createRegistrationToken,
  deleteRunner,
  editRunner,
  getRunner,
  listJobs,
  listRunners,
  listRuns,
} from "../../contract/forge/actions/actions.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { Actions } from "./actions.service.ts";

/** Returns the routes of runners, runs and jobs, whose lists are empty. */
export function actionRoutes(actions: Actions): Route[] {
  return [
    handle(listJobs, async ({ query }) => {
      const { total } = await actions.listJobs({ statuses: query.status });
      return { status: 200, body: { jobs: [], total_count: total }, total };
    }),
    handle(listRuns, async ({ query }) => {
      const { total } = await actions.listRuns({ statuses: query.status, actor: query.actor });
      return { status: 200, body: { workflow_runs: [], total_count: total }, total };
    }),
    handle(listRunners, async () => ({ status: 200, body: { runners: [], total_count: 0 } })),
    handle(createRegistrationToken, async () => ({
      status: 200,
      body: { token: await actions.getRegistrationToken() },
    })),
    handle(getRunner, ({ params }) => actions.getRunner(params.runner_id)),
    handle(editRunner, ({ params }) => actions.getRunner(params.runner_id)),
    handle(deleteRunner, ({ params }) => actions.getRunner(params.runner_id)),
  ];
}
