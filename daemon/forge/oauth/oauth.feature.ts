import type { ForgeCaller } from "../caller.ts";
import type { Api } from "../../http/handle.ts";
import type { ForgeFeature } from "../feature.ts";
import { createOauthApplications, type OauthApplicationsDeps } from "./applications.service.ts";
import { createIdentityClaims, type IdentityClaimsDeps } from "./identity-claims.ts";
import { createOauthApi } from "./oauth-api.ts";
import { oauthApplicationRoutes, oauthProviderRoutes } from "./oauth.routes.ts";
import { createOauthProvider, type OauthProviderDeps } from "./provider.service.ts";

export type ForgeOauthDeps = OauthApplicationsDeps &
  OauthProviderDeps &
  Omit<IdentityClaimsDeps, "findIdentityScope">;

/** Programs that sign in by OAuth 2. */
export function createForgeOauth(deps: ForgeOauthDeps) {
  const provider = createOauthProvider(deps);
  const identity = createIdentityClaims({ ...deps, ...provider });
  return {
    services: {
      /** For the pages. */
      oauth: provider,
      /** The provider, which has a surface of its own. */
      api: (forge: Api<ForgeCaller>) => createOauthApi(forge),
      providerRoutes: oauthProviderRoutes(provider, { identity, urls: deps.urls }),
    },
    routes: oauthApplicationRoutes(createOauthApplications(deps)),
  } satisfies ForgeFeature;
}
