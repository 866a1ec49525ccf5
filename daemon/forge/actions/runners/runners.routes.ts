import { adminActionEndpoints } from "../../../contract/forge/actions/actions.ts";
import {
  deleteOrganizationRunner,
  deleteOwnRunner,
  deleteRepositoryRunner,
  editOrganizationRunner,
  editOwnRunner,
  editRepositoryRunner,
  getOrganizationRegistrationToken,
  getOrganizationRunner,
  getOwnRegistrationToken,
  getOwnRunner,
  getRepositoryRegistrationToken,
  getRepositoryRunner,
  listOrganizationRunners,
  listOwnRunners,
  listRepositoryRunners,
} from "../../../contract/forge/actions/runners.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import { toRunnerList, toRunnerView } from "../actions.view.ts";
import type { ActionLevels } from "../secrets/levels.service.ts";
import type { Runners } from "./runners.service.ts";

/** Returns the routes of runners and their registration tokens, of every level. */
export function runnerRoutes({
  levels,
  runners,
}: {
  readonly levels: ActionLevels;
  readonly runners: Runners;
}): Route[] {
  return [
    handle(adminActionEndpoints.listRunners, async ({ query }) => {
      const { status, body } = toRunnerList(await runners.list(undefined, query));
      return { status, body };
    }),
    handle(adminActionEndpoints.createRegistrationToken, async ({ query }) => ({
      status: 200,
      body: { token: await runners.getToken(() => levels.ofInstance, query.renew) },
    })),
    handle(adminActionEndpoints.getRunner, async ({ params }) => ({
      status: 200,
      body: toRunnerView(await runners.get(undefined, params.runner_id)),
    })),
    handle(adminActionEndpoints.editRunner, async ({ params, body }) => ({
      status: 200,
      body: toRunnerView(await runners.edit(() => undefined, params.runner_id, body.disabled)),
    })),
    handle(adminActionEndpoints.deleteRunner, async ({ params }) => {
      await runners.delete(() => undefined, params.runner_id);
      return { status: 204 };
    }),
    handle(listRepositoryRunners, async ({ caller, params, query }) =>
      toRunnerList(await runners.list(await levels.ofRepository(params, caller), query)),
    ),
    handle(getRepositoryRegistrationToken, async ({ caller, params, query }) => ({
      status: 200,
      body: {
        token: await runners.getToken((db) => levels.ofRepository(params, caller, db), query.renew),
      },
    })),
    handle(getRepositoryRunner, async ({ caller, params }) => ({
      status: 200,
      body: toRunnerView(
        await runners.get(await levels.ofRepository(params, caller), params.runner_id),
      ),
    })),
    handle(editRepositoryRunner, async ({ caller, params, body }) => ({
      status: 200,
      body: toRunnerView(
        await runners.edit(
          (db) => levels.ofRepository(params, caller, db),
          params.runner_id,
          body.disabled,
        ),
      ),
    })),
    handle(deleteRepositoryRunner, async ({ caller, params }) => {
      await runners.delete((db) => levels.ofRepository(params, caller, db), params.runner_id);
      return { status: 204 };
    }),
    handle(listOrganizationRunners, async ({ caller, params, query }) =>
      toRunnerList(await runners.list(await levels.ofOrganization(params.org, caller), query)),
    ),
    handle(getOrganizationRegistrationToken, async ({ caller, params, query }) => ({
      status: 200,
      body: {
        token: await runners.getToken(
          (db) => levels.ofOrganization(params.org, caller, db),
          query.renew,
        ),
      },
    })),
    handle(getOrganizationRunner, async ({ caller, params }) => ({
      status: 200,
      body: toRunnerView(
        await runners.get(await levels.ofOrganization(params.org, caller), params.runner_id),
      ),
    })),
    handle(editOrganizationRunner, async ({ caller, params, body }) => ({
      status: 200,
      body: toRunnerView(
        await runners.edit(
          (db) => levels.ofOrganization(params.org, caller, db),
          params.runner_id,
          body.disabled,
        ),
      ),
    })),
    handle(deleteOrganizationRunner, async ({ caller, params }) => {
      await runners.delete((db) => levels.ofOrganization(params.org, caller, db), params.runner_id);
      return { status: 204 };
    }),
    handle(listOwnRunners, async ({ caller, query }) =>
      toRunnerList(await runners.list(levels.ofUser(caller), query)),
    ),
    handle(getOwnRegistrationToken, async ({ caller, query }) => ({
      status: 200,
      body: { token: await runners.getToken(() => levels.ofUser(caller), query.renew) },
    })),
    handle(getOwnRunner, async ({ caller, params }) => ({
      status: 200,
      body: toRunnerView(await runners.get(levels.ofUser(caller), params.runner_id)),
    })),
    handle(editOwnRunner, async ({ caller, params, body }) => ({
      status: 200,
      body: toRunnerView(
        await runners.edit(() => levels.ofUser(caller), params.runner_id, body.disabled),
      ),
    })),
    handle(deleteOwnRunner, async ({ caller, params }) => {
      await runners.delete(() => levels.ofUser(caller), params.runner_id);
      return { status: 204 };
    }),
  ];
}
