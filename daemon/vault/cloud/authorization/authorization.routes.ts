import { cloudConnectionEndpoints } from "../../../contract/vault/cloud/connections.ts";
import type { Route, ServerRequest } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { CloudAuthorization } from "./authorization.service.ts";
import { toCallbackReply, toOpenedReply, toStartReply } from "./authorization.view.ts";

/** Routes of signing in at vendors. */
export const authorizationRoutes = (authorization: CloudAuthorization): Route[] => [
  handle(cloudConnectionEndpoints.authorize, async ({ caller, params, query }) =>
    toStartReply(await authorization.start(caller, params.provider, query)),
  ),
  handle(cloudConnectionEndpoints.openAuthorization, async ({ params }) =>
    toOpenedReply(await authorization.bind(params.ticket)),
  ),
  handle(cloudConnectionEndpoints.finishAuthorization, async ({ params, query, request }) =>
    toCallbackReply(
      await authorization.accept(params.provider, { ...query, cookie: cookieReader(request) }),
    ),
  ),
  handle(cloudConnectionEndpoints.confirmAuthorization, async ({ params, body, request }) => {
    body.file?.stream.resume();
    const { address } = request;
    const confirmed = { ...body.fields, cookie: cookieReader(request), address };
    return toCallbackReply(await authorization.confirm(params.provider, confirmed));
  }),
];

/** Reads cookies of a request by name; the first of several with one name. */
function cookieReader({ headers }: ServerRequest): (name: string) => string | undefined {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return (name) => pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
