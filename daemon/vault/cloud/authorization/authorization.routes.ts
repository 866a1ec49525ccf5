import { cloudConnectionEndpoints } from "../../../contract/vault/cloud/connections.ts";
import type { Route, ServerRequest } from "../../../http/handle.ts";
import { reply } from "../../../http/serve.ts";
import { serveSome } from "../../handle.ts";
import type { CloudAuthorization } from "./authorization.service.ts";
import { toCallbackReply, toOpenedReply, toStartView } from "./authorization.view.ts";

/** Routes of signing in at vendors. */
export const authorizationRoutes = (authorization: CloudAuthorization): Route[] => [
  ...serveSome(cloudConnectionEndpoints, {
    authorize: async ({ caller, params, query }) =>
      toStartView(await authorization.start(caller, params.provider, query)),
    openAuthorization: async ({ params }) =>
      reply(await toOpenedReply(await authorization.bind(params.ticket))),
    finishAuthorization: async ({ params, query, request }) =>
      reply(
        await toCallbackReply(
          await authorization.accept(params.provider, { ...query, cookie: cookieReader(request) }),
        ),
      ),
    confirmAuthorization: async ({ params, body, request }) => {
      body.file?.stream.resume();
      const { address } = request;
      const confirmed = { ...body.fields, cookie: cookieReader(request), address };
      return reply(await toCallbackReply(await authorization.confirm(params.provider, confirmed)));
    },
  }),
];

/** Reads cookies of a request by name; the first of several with one name. */
function cookieReader({ headers }: ServerRequest): (name: string) => string | undefined {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return (name) => pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
