import {
  createConnection,
  deleteConnection,
  getConnection,
  listConnections,
  listProviders,
  testConnection,
  updateConnection,
} from "../../../contract/vault/cloud/connections.ts";
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
  handle(listProviders, async ({ query }) => ({
    status: 200,
    body: toProviderPage(connections.listProviders(), query),
  })),
  handle(createConnection, async ({ caller, body }) =>
    toConnectReply(201, await connections.create(caller, body)),
  ),
  handle(listConnections, async ({ caller, query }) => {
    const { connections: items, total } = await connections.list(caller, query);
    return { status: 200, body: { items: items.map(toConnectionView), total, ...query } };
  }),
  handle(getConnection, async ({ caller, params }) => ({
    status: 200,
    body: toConnectionView(await connections.get(caller, params.connection_id)),
  })),
  handle(updateConnection, async ({ caller, params, body }) =>
    toConnectReply(200, await connections.update(caller, params.connection_id, body)),
  ),
  handle(deleteConnection, async ({ caller, params }) =>
    toRemovedReply(await connections.remove(caller, params.connection_id)),
  ),
  handle(testConnection, async ({ caller, params }) => ({
    status: 200,
    body: toConnectionView(await connections.test(caller, params.connection_id)),
  })),
];
