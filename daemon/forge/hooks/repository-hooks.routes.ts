import {
  createRepositoryHook,
  deleteRepositoryHook,
  editRepositoryHook,
  getRepositoryDelivery,
  getRepositoryHook,
  listRepositoryDeliveries,
  listRepositoryHooks,
  redeliverOfRepository,
  testRepositoryHook,
} from "../../contract/forge/hooks/repository-hooks.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { DeliveryLog } from "./deliveries.service.ts";
import type { Hooks, OpenHome } from "./hooks.service.ts";
import {
  toDeliveryDetailsView,
  toDeliveryView,
  toHookChanges,
  toHookView,
  toNewHook,
} from "./hooks.view.ts";
import type { RepositoryHooks } from "./repository-hooks.service.ts";

/** Routes of the hooks of repositories and of their deliveries. */
export function repositoryHookRoutes({
  hooks,
  log,
  ofRepositories,
}: {
  readonly hooks: Hooks;
  readonly log: DeliveryLog;
  readonly ofRepositories: RepositoryHooks;
}): Route[] {
  const { open } = ofRepositories;
  return [
    handle(listRepositoryHooks, async ({ caller, params, query }) => {
      const id = await open(params, caller, "/hooks");
      const { hooks: page, total } = await hooks.listOf(id, query);
      return { status: 200, body: page.map(toHookView), total };
    }),
    handle(createRepositoryHook, async ({ caller, params, body }) => ({
      status: 201,
      body: toHookView(
        await hooks.create((db) => open(params, caller, "/hooks", db), toNewHook(body)),
      ),
    })),
    handle(getRepositoryHook, async ({ caller, params }) => ({
      status: 200,
      body: toHookView(
        await hooks.get(await open(params, caller, `/hooks/${params.id}`), params.id),
      ),
    })),
    handle(editRepositoryHook, async ({ caller, params, query, body }) => {
      const home: OpenHome = (db) => open(params, caller, `/hooks/${params.id}`, db);
      const changes = toHookChanges(body, query.keep_authorization_header);
      return { status: 200, body: toHookView(await hooks.edit(home, params.id, changes)) };
    }),
    handle(deleteRepositoryHook, async ({ caller, params }) => {
      await hooks.remove((db) => open(params, caller, `/hooks/${params.id}`, db), params.id);
      return { status: 204 };
    }),
    handle(testRepositoryHook, async ({ caller, params, query }) => {
      await ofRepositories.test(params, query.ref, caller);
      return { status: 204 };
    }),
    handle(listRepositoryDeliveries, async ({ caller, params, query }) => {
      const home = await open(params, caller, `/hooks/${params.id}/deliveries`);
      const { deliveries, total } = await log.list(home, params.id, query);
      return { status: 200, body: deliveries.map(toDeliveryView), total };
    }),
    handle(getRepositoryDelivery, async ({ caller, params }) => {
      const { id: hookId, delivery_id: id } = params;
      const home = await open(params, caller, `/hooks/${hookId}/deliveries/${id}`);
      const delivery = await log.get({ home, hookId, id }, caller);
      return { status: 200, body: toDeliveryDetailsView(delivery) };
    }),
    handle(redeliverOfRepository, async ({ caller, params }) => {
      const { id: hookId, delivery_id: id } = params;
      const rest = `/hooks/${hookId}/deliveries/${id}/redeliver`;
      const home: OpenHome = (db) => open(params, caller, rest, db);
      const delivery = await log.redeliver(home, { hookId, id }, caller);
      return { status: 201, body: toDeliveryView(delivery) };
    }),
  ];
}
