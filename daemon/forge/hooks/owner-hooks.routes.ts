import {
  createOrganizationHook,
  createOwnHook,
  deleteOrganizationHook,
  deleteOwnHook,
  editOrganizationHook,
  editOwnHook,
  getOrganizationDelivery,
  getOrganizationHook,
  getOwnDelivery,
  getOwnHook,
  listOrganizationDeliveries,
  listOrganizationHooks,
  listOwnDeliveries,
  listOwnHooks,
  redeliverOfOrganization,
  redeliverOwn,
} from "../../contract/forge/hooks/owner-hooks.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeHooks } from "./hooks.ts";
import {
  toDeliveryDetailsView,
  toDeliveryView,
  toHookChanges,
  toHookView,
  toNewHook,
} from "./hooks.view.ts";

/** Returns the routes of the hooks of organizations and users, and of what they delivered. */
export function ownerHookRoutes({ hooks, log, ofOwners }: ForgeHooks): Route[] {
  return [...organizationRoutes(), ...ownRoutes()];

  function organizationRoutes(): Route[] {
    const open = ofOwners.ofOrganization;
    return [
      handle(listOrganizationHooks, async ({ caller, params, query }) => {
        const { hooks: page, total } = await hooks.listOf(await open(params, caller), query);
        return { status: 200, body: page.map(toHookView), total };
      }),
      handle(createOrganizationHook, async ({ caller, params, body }) => ({
        status: 201,
        body: toHookView(await hooks.create(await open(params, caller), toNewHook(body))),
      })),
      handle(getOrganizationHook, async ({ caller, params }) => ({
        status: 200,
        body: toHookView(await hooks.get(await open(params, caller), params.id)),
      })),
      handle(editOrganizationHook, async ({ caller, params, query, body }) => {
        const changes = toHookChanges(body, query.keep_authorization_header);
        const hook = await hooks.edit(await open(params, caller), params.id, changes);
        return { status: 200, body: toHookView(hook) };
      }),
      handle(deleteOrganizationHook, async ({ caller, params }) => {
        await hooks.remove(await open(params, caller), params.id);
        return { status: 204 };
      }),
      handle(listOrganizationDeliveries, async ({ caller, params, query }) => {
        const home = await open(params, caller);
        const { deliveries, total } = await log.list(home, params.id, query);
        return { status: 200, body: deliveries.map(toDeliveryView), total };
      }),
      handle(getOrganizationDelivery, async ({ caller, params }) => {
        const path = { home: await open(params, caller), ...toDeliveryPath(params) };
        return { status: 200, body: toDeliveryDetailsView(await log.get(path, caller)) };
      }),
      handle(redeliverOfOrganization, async ({ caller, params }) => {
        const path = { home: await open(params, caller), ...toDeliveryPath(params) };
        return { status: 201, body: toDeliveryView(await log.redeliver(path, caller)) };
      }),
    ];
  }

  function ownRoutes(): Route[] {
    return [
      handle(listOwnHooks, async ({ caller, query }) => {
        const { hooks: page, total } = await hooks.listOf(ofOwners.ofUser(caller), query);
        return { status: 200, body: page.map(toHookView), total };
      }),
      handle(createOwnHook, async ({ caller, body }) => ({
        status: 201,
        body: toHookView(await hooks.create(ofOwners.ofUser(caller), toNewHook(body))),
      })),
      handle(getOwnHook, async ({ caller, params }) => ({
        status: 200,
        body: toHookView(await hooks.get(ofOwners.ofUser(caller), params.id)),
      })),
      handle(editOwnHook, async ({ caller, params, query, body }) => {
        const changes = toHookChanges(body, query.keep_authorization_header);
        const hook = await hooks.edit(ofOwners.ofUser(caller), params.id, changes);
        return { status: 200, body: toHookView(hook) };
      }),
      handle(deleteOwnHook, async ({ caller, params }) => {
        await hooks.remove(ofOwners.ofUser(caller), params.id);
        return { status: 204 };
      }),
      handle(listOwnDeliveries, async ({ caller, params, query }) => {
        const { deliveries, total } = await log.list(ofOwners.ofUser(caller), params.id, query);
        return { status: 200, body: deliveries.map(toDeliveryView), total };
      }),
      handle(getOwnDelivery, async ({ caller, params }) => {
        const path = { home: ofOwners.ofUser(caller), ...toDeliveryPath(params) };
        return { status: 200, body: toDeliveryDetailsView(await log.get(path, caller)) };
      }),
      handle(redeliverOwn, async ({ caller, params }) => {
        const path = { home: ofOwners.ofUser(caller), ...toDeliveryPath(params) };
        return { status: 201, body: toDeliveryView(await log.redeliver(path, caller)) };
      }),
    ];
  }
}

const toDeliveryPath = <H, D>({
  id,
  delivery_id,
}: {
  readonly id: H;
  readonly delivery_id: D;
}) => ({
  hookId: id,
  id: delivery_id,
});
