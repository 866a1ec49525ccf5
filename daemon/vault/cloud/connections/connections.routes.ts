import { cloudConnectionEndpoints } from "../../../contract/vault/cloud/connections.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { CloudConnections } from "./connections.service.ts";
import {
  toConnectionView,
  toConnectReply,
  toProviderPage,
  toRemovedReply,
} from "./connections.view.ts";

/** Routes of connections and of the kinds of storage. */
export const connectionRoutes = (connections: CloudConnections): Route[] => [
  handle(cloudConnectionEndpoints.listProviders, async ({ query }) => ({
    status: 200,
    body: toProviderPage(connections.listProviders(), query),
  })),
  handle(cloudConnectionEndpoints.createConnection, async ({ caller, body }) =>
    toConnectReply(201, await connections.create(caller, body)),
  ),
  handle(cloudConnectionEndpoints.listConnections, async ({ caller, query }) => {
    const { connections: items, total } = await connections.list(caller, query);
    return { status: 200, body: { items: items.map(toConnectionView), total, ...query } };
  }),
  handle(cloudConnectionEndpoints.getConnection, async ({ caller, params }) => ({
    status: 200,
    body: toConnectionView(await connections.get(caller, params.connection_id)),
  })),
  handle(cloudConnectionEndpoints.updateConnection, async ({ caller, params, body }) =>
    toConnectReply(200, await connections.update(caller, params.connection_id, body)),
  ),
  handle(cloudConnectionEndpoints.deleteConnection, async ({ caller, params }) =>
    toRemovedReply(await connections.remove(caller, params.connection_id)),
  ),
  handle(cloudConnectionEndpoints.testConnection, async ({ caller, params }) => ({
    status: 200,
    body: toConnectionView(await connections.test(caller, params.connection_id)),
  })),
];
