import type { BodyOf } from "../../../contract/endpoint.ts";
import { adminActionEndpoints } from "../../../contract/forge/actions/actions.ts";
import {
  organizationRunners,
  ownRunners,
  repositoryRunners,
} from "../../../contract/forge/actions/runners.ts";
import type { Route } from "../../../http/handle.ts";
import { answer } from "../../../http/serve.ts";
import { serve, serveSome } from "../../handle.ts";
import type { GrantedPlace } from "../../organizations/places.ts";
import type { PageWindow } from "../../page-window.ts";
import { toRunnerView } from "../actions.view.ts";
import { reopenLevel, toLevel } from "../secrets/levels.service.ts";
import type { Runners } from "./runners.service.ts";

/** A request about one runner. */
interface RunnerInput {
  readonly opened: GrantedPlace;
  readonly params: { readonly runner_id: number };
}

/** Returns the routes of runners and their registration tokens, of every level. Those of the instance see all runners. */
export function runnerRoutes({ runners }: { readonly runners: Runners }): Route[] {
  const ofLevel = {
    list: async ({ opened, query }: { opened: GrantedPlace; query: RunnerQuery }) => {
      const { runners: found, total } = await runners.list(toLevel(opened), query);
      return answer({ runners: found.map(toRunnerView), total_count: total }, { total });
    },
    token: async ({ opened, query }: { opened: GrantedPlace; query: { renew: boolean } }) => ({
      token: await runners.getToken(reopenLevel(opened), query.renew),
    }),
    get: async ({ opened, params }: RunnerInput) =>
      toRunnerView(await runners.get(toLevel(opened), params.runner_id)),
    edit: async ({ opened, params, body }: RunnerInput & { readonly body: RunnerEditBody }) =>
      toRunnerView(await runners.edit(reopenLevel(opened), params.runner_id, body.disabled)),
    delete: ({ opened, params }: RunnerInput) =>
      runners.delete(reopenLevel(opened), params.runner_id),
  };
  return [
    ...serveSome(adminActionEndpoints, {
      listRunners: async ({ query }) => {
        const { runners: found, total } = await runners.list(undefined, query);
        return { runners: found.map(toRunnerView), total_count: total };
      },
      createRegistrationToken: async ({ query }) => ({
        token: await runners.getToken(reopenLevel(undefined), query.renew),
      }),
      getRunner: async ({ params }) => toRunnerView(await runners.get(undefined, params.runner_id)),
      editRunner: async ({ params, body }) =>
        toRunnerView(await runners.edit(undefined, params.runner_id, body.disabled)),
      deleteRunner: ({ params }) => runners.delete(undefined, params.runner_id),
    }),
    ...serve(repositoryRunners, ofLevel),
    ...serve(organizationRunners, ofLevel),
    ...serve(ownRunners, ofLevel),
  ];
}

type RunnerQuery = PageWindow & { readonly disabled?: boolean | undefined };
type RunnerEditBody = BodyOf<typeof ownRunners.edit>;
