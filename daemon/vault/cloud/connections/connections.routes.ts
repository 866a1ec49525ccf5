import { cloudConnectionEndpoints } from "../../../contract/vault/cloud/connections.ts";
import type { Route } from "../../../http/handle.ts";
import { reply } from "../../../http/serve.ts";
import { serveSome } from "../../handle.ts";
import type { CloudConnections } from "./connections.service.ts";
import {
  toConnectionView,
  toConnectReply,
  toProviderPage,
  toRemovedView,
} from "./connections.view.ts";

/** Routes of connections and of the kinds of storage. */
export const connectionRoutes = (connections: CloudConnections): Route[] => [
  ...serveSome(cloudConnectionEndpoints, {
    listProviders: async ({ query }) => toProviderPage(connections.listProviders(), query),
    createConnection: async ({ caller, body }) =>
      reply(toConnectReply(201, await connections.create(caller, body))),
    listConnections: async ({ caller, query }) => {
      const { connections: items, total } = await connections.list(caller, query);
      return { items: items.map(toConnectionView), total, ...query };
    },
    getConnection: async ({ caller, params }) =>
      toConnectionView(await connections.get(caller, params.connection_id)),
    updateConnection: async ({ caller, params, body }) =>
      reply(toConnectReply(200, await connections.update(caller, params.connection_id, body))),
    deleteConnection: async ({ caller, params }) =>
      toRemovedView(await connections.remove(caller, params.connection_id)),
    testConnection: async ({ caller, params }) =>
      toConnectionView(await connections.test(caller, params.connection_id)),
  }),
];
