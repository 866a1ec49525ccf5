import {
  oauthApplicationEndpoints,
  oauthProviderEndpoints,
} from "../../contract/forge/accounts/oauth.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { OauthApplications } from "./applications.service.ts";
import type { IdentityClaims } from "./identity-claims.ts";
import { readClient } from "./oauth-api.ts";
import {
  toApplicationRequest,
  toApplicationView,
  toClient,
  toConfiguration,
  toExchange,
  toTokensView,
} from "./oauth.view.ts";
import type { OauthProvider } from "./provider.service.ts";

/** Routes of the applications of a user, below `/api/v1`. */
export function oauthApplicationRoutes(applications: OauthApplications): Route[] {
  return serve(oauthApplicationEndpoints, {
    listOauthApplications: async ({ caller, query }) => {
      const { records, total } = await applications.list(caller, query);
      return page(
        records.map((each) => toApplicationView(each)),
        total,
      );
    },
    createOauthApplication: async ({ caller, body }) => {
      const { application, secret } = await applications.create(caller, toApplicationRequest(body));
      return toApplicationView(application, secret);
    },
    getOauthApplication: async ({ caller, params }) =>
      toApplicationView(await applications.get(caller, params.id)),
    updateOauthApplication: async ({ caller, params, body }) => {
      const { application, secret } = await applications.update(
        caller,
        params.id,
        toApplicationRequest(body),
      );
      return toApplicationView(application, secret);
    },
    deleteOauthApplication: ({ caller, params }) => applications.remove(caller, params.id),
  });
}

/** Routes that programs call to sign in. */
export function oauthProviderRoutes(
  provider: OauthProvider,
  { identity, urls }: { readonly identity: IdentityClaims; readonly urls: ForgeUrls },
): Route[] {
  return serve(oauthProviderEndpoints, {
    exchangeOauthCode: async ({ body, request }) => {
      const client = readClient(request.headers.authorization, toClient(body));
      const issued = await provider.exchange(toExchange(body), client);
      return toTokensView(issued, await identity.sign(issued));
    },
    getOauthKeys: async () => ({ keys: await identity.listKeys() }),
    getOauthUser: ({ caller }) => identity.describeCaller(caller),
    getOpenidConfiguration: async () => toConfiguration(urls),
  });
}
