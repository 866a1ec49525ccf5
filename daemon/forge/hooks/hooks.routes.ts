import { adminHookEndpoints } from "../../contract/forge/hooks/admin-hooks.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { DeliveryLog } from "./deliveries.service.ts";
import type { Hooks } from "./hooks.service.ts";
import {
  toDeliveryDetailsView,
  toDeliveryView,
  toHookChanges,
  toHookView,
  toNewHook,
} from "./hooks.view.ts";

/** Routes of system and default hooks and of the delivery log. */
export function hookRoutes({
  hooks,
  log,
}: {
  readonly hooks: Hooks;
  readonly log: DeliveryLog;
}): Route[] {
  return [
    handle(adminHookEndpoints.listHooks, async ({ query }) => {
      const { hooks: page, total } = await hooks.list(query.type, query);
      return { status: 200, body: page.map(toHookView), total };
    }),
    handle(adminHookEndpoints.createHook, async ({ body }) => ({
      status: 201,
      body: toHookView(await hooks.create(ofInstance, toNewHook(body))),
    })),
    handle(adminHookEndpoints.getHook, async ({ params }) => ({
      status: 200,
      body: toHookView(await hooks.get("instance", params.id)),
    })),
    handle(adminHookEndpoints.editHook, async ({ params, query, body }) => ({
      status: 200,
      body: toHookView(
        await hooks.edit(
          ofInstance,
          params.id,
          toHookChanges(body, query.keep_authorization_header),
        ),
      ),
    })),
    handle(adminHookEndpoints.deleteHook, async ({ params }) => {
      await hooks.remove(ofInstance, params.id);
      return { status: 204 };
    }),
    handle(adminHookEndpoints.listDeliveries, async ({ params, query }) => {
      const { deliveries, total } = await log.list("instance", params.id, query);
      return { status: 200, body: deliveries.map(toDeliveryView), total };
    }),
    handle(
      adminHookEndpoints.getDelivery,
      async ({ caller, params: { id: hookId, delivery_id: id } }) => ({
        status: 200,
        body: toDeliveryDetailsView(await log.get({ home: "instance", hookId, id }, caller)),
      }),
    ),
    handle(
      adminHookEndpoints.redeliver,
      async ({ caller, params: { id: hookId, delivery_id: id } }) => ({
        status: 201,
        body: toDeliveryView(await log.redeliver(ofInstance, { hookId, id }, caller)),
      }),
    ),
  ];
}

const ofInstance = () => "instance" as const;
