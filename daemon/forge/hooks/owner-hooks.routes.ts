import { organizationHooks, ownHooks } from "../../contract/forge/hooks/owner-hooks.ts";
import type { Route } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
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
import type { OwnerHooks } from "./owner-hooks.service.ts";

type HookPlace = ReturnType<OwnerHooks["ofUser"]>;

/** Returns the owner of the hooks of a request. Only paths of organizations have `org`. */
type OpenHooks = (
  params: { readonly org?: string; readonly id?: unknown },
  caller: ForgeCaller,
  /** The transaction of a change; a read needs none. */
  db?: Parameters<OpenHome>[0],
) => HookPlace | Promise<HookPlace>;

/** Returns the routes of the hooks of organizations and users, and of their deliveries. */
export function ownerHookRoutes({
  hooks,
  log,
  ofOwners,
}: {
  readonly hooks: Hooks;
  readonly log: DeliveryLog;
  readonly ofOwners: OwnerHooks;
}): Route[] {
  return [
    ...routesOf(organizationHooks, ({ org = "" }, caller, queries) =>
      ofOwners.ofOrganization({ org }, caller, queries),
    ),
    ...routesOf(ownHooks, (_params, caller) => ofOwners.ofUser(caller)),
  ];

  function routesOf(at: typeof organizationHooks | typeof ownHooks, open: OpenHooks): Route[] {
    return [
      handle(at.list, async ({ caller, params, query }) => {
        const { hooks: page, total } = await hooks.listOf(await open(params, caller), query);
        return { status: 200, body: page.map(toHookView), total };
      }),
      handle(at.create, async ({ caller, params, body }) => ({
        status: 201,
        body: toHookView(await hooks.create((db) => open(params, caller, db), toNewHook(body))),
      })),
      handle(at.get, async ({ caller, params }) => ({
        status: 200,
        body: toHookView(await hooks.get(await open(params, caller), params.id)),
      })),
      handle(at.edit, async ({ caller, params, query, body }) => {
        const changes = toHookChanges(body, query.keep_authorization_header);
        const hook = await hooks.edit((db) => open(params, caller, db), params.id, changes);
        return { status: 200, body: toHookView(hook) };
      }),
      handle(at.delete, async ({ caller, params }) => {
        await hooks.remove((db) => open(params, caller, db), params.id);
        return { status: 204 };
      }),
      handle(at.listDeliveries, async ({ caller, params, query }) => {
        const home = await open(params, caller);
        const { deliveries, total } = await log.list(home, params.id, query);
        return { status: 200, body: deliveries.map(toDeliveryView), total };
      }),
      handle(at.getDelivery, async ({ caller, params }) => {
        const { id: hookId, delivery_id: id } = params;
        const path = { home: await open(params, caller), hookId, id };
        return { status: 200, body: toDeliveryDetailsView(await log.get(path, caller)) };
      }),
      handle(at.redeliver, async ({ caller, params }) => {
        const { id: hookId, delivery_id: id } = params;
        const home: OpenHome = (db) => open(params, caller, db);
        const delivery = await log.redeliver(home, { hookId, id }, caller);
        return { status: 201, body: toDeliveryView(delivery) };
      }),
    ];
  }
}
