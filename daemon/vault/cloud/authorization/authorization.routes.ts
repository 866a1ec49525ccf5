import { authorize, finishAuthorization } from "../../../contract/vault/cloud/connections.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { CloudAuthorization } from "./authorization.service.ts";
import { toCallbackReply, toStartReply } from "./authorization.view.ts";

/** Routes of signing in at providers. */
export const authorizationRoutes = (authorization: CloudAuthorization): Route[] => [
  handle(authorize, async ({ caller, params, query }) =>
    toStartReply(await authorization.start(caller, params.provider, query)),
  ),
  handle(finishAuthorization, async ({ params, query }) =>
    toCallbackReply(await authorization.finish(params.provider, query)),
  ),
];
