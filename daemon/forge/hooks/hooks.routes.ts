import type { BodyOf, ParamsOf, QueryOf } from "../../contract/endpoint.ts";
import { adminHookEndpoints } from "../../contract/forge/hooks/admin-hooks.ts";
import { organizationHooks, ownHooks } from "../../contract/forge/hooks/owner-hooks.ts";
import {
  repositoryHooks,
  testRepositoryHook,
} from "../../contract/forge/hooks/repository-hooks.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import { type GrantedPlace, reopenPlace, toPlaceId } from "../organizations/places.ts";
import type { PageWindow } from "../page-window.ts";
import type { DeliveryLog } from "./deliveries.service.ts";
import type { HookHome, Hooks, OpenHome } from "./hooks.service.ts";
import {
  toDeliveryDetailsView,
  toDeliveryView,
  toHookChanges,
  toHookView,
  toNewHook,
} from "./hooks.view.ts";
import type { RepositoryHooks } from "./repository-hooks.service.ts";

/** A request about the hooks of a place; one about those of the instance opens nothing. */
interface PlaceInput {
  readonly opened?: GrantedPlace;
  readonly caller: ForgeCaller;
}

interface HookInput extends PlaceInput {
  readonly params: ParamsOf<typeof admin.getHook>;
}

interface DeliveryInput extends PlaceInput {
  readonly params: ParamsOf<typeof admin.getDelivery>;
}

/** Returns the routes of the hooks of the instance, repositories, organizations and users, and of their deliveries. */
export function hookRoutes({
  hooks,
  log,
  ofRepositories,
}: {
  readonly hooks: Hooks;
  readonly log: DeliveryLog;
  readonly ofRepositories: RepositoryHooks;
}): Route[] {
  const ofHome = {
    create: async ({ opened, body }: PlaceInput & { readonly body: NewHookBody }) =>
      toHookView(await hooks.create(reopenHome(opened), toNewHook(body))),
    get: async ({ opened, params }: HookInput) =>
      toHookView(await hooks.get(toHome(opened), params.id)),
    edit: async ({
      opened,
      params,
      query,
      body,
    }: HookInput & {
      readonly query: QueryOf<typeof admin.editHook>;
      readonly body: BodyOf<typeof admin.editHook>;
    }) => {
      const changes = toHookChanges(body, query.keep_authorization_header);
      return toHookView(await hooks.edit(reopenHome(opened), params.id, changes));
    },
    delete: ({ opened, params }: HookInput) => hooks.remove(reopenHome(opened), params.id),
    listDeliveries: async ({
      opened,
      params,
      query,
    }: HookInput & { readonly query: QueryOf<typeof admin.listDeliveries> }) => {
      const { deliveries, total } = await log.list(toHome(opened), params.id, query);
      return page(deliveries.map(toDeliveryView), total);
    },
    getDelivery: async ({ opened, params, caller }: DeliveryInput) => {
      const path = { home: toHome(opened), hookId: params.id, id: params.delivery_id };
      return toDeliveryDetailsView(await log.get(path, caller));
    },
    redeliver: async ({ opened, params, caller }: DeliveryInput) => {
      const path = { hookId: params.id, id: params.delivery_id };
      return toDeliveryView(await log.redeliver(reopenHome(opened), path, caller));
    },
  };
  const ofPlace = {
    ...ofHome,
    list: async ({ opened, query }: { opened: GrantedPlace; query: PageWindow }) => {
      const { hooks: found, total } = await hooks.listOf(toPlaceId(opened), query);
      return page(found.map(toHookView), total);
    },
  };
  return [
    ...serve(admin, {
      listHooks: async ({ query }) => {
        const { hooks: found, total } = await hooks.list(query.type, query);
        return page(found.map(toHookView), total);
      },
      createHook: ofHome.create,
      getHook: ofHome.get,
      editHook: ofHome.edit,
      deleteHook: ofHome.delete,
      listDeliveries: ofHome.listDeliveries,
      getDelivery: ofHome.getDelivery,
      redeliver: ofHome.redeliver,
    }),
    ...serve(repositoryHooks, ofPlace),
    ...serve(
      { testRepositoryHook },
      {
        testRepositoryHook: ({ opened, params, query, caller }) =>
          ofRepositories.test(opened, { id: params.id, ref: query.ref }, caller),
      },
    ),
    ...serve(organizationHooks, ofPlace),
    ...serve(ownHooks, ofPlace),
  ];
}

const admin = adminHookEndpoints;

type NewHookBody = BodyOf<typeof admin.createHook>;

const toHome = (opened: GrantedPlace | undefined): HookHome =>
  opened === undefined ? "instance" : toPlaceId(opened);

/** Opens the home again in the transaction of a change. */
const reopenHome =
  (opened: GrantedPlace | undefined): OpenHome =>
  async (tx) =>
    toHome(opened && (await reopenPlace(tx, opened)));
