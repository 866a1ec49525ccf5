import type { OauthApplication } from "../../../storage/tables/forge/accounts/oauth.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { scopeWords } from "../../contract/forge/token-scopes.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import type {
  oauthApplicationEndpoints,
  oauthProviderEndpoints,
  WireOauthApplication,
} from "../../contract/forge/accounts/oauth.ts";
import { toUserView } from "../accounts/user.view.ts";
import { type ForgeUrls, toUrl, toWireTime } from "../urls.ts";
import type { ApplicationRequest } from "./applications.service.ts";
import { IDENTITY_ALGORITHM } from "./identity-tokens.ts";
import { identityWords } from "./oauth-scope.ts";
import type { ClientCredentials, ExchangeRequest, IssuedTokens } from "./provider.service.ts";

/** Converts an application. `secret` is empty unless the response is the one that makes it. */
export function toApplicationView(
  application: OauthApplication,
  secret = "",
): WireOauthApplication {
  return {
    id: application.id,
    name: application.name,
    client_id: application.clientId,
    client_secret: secret,
    redirect_uris: [...application.redirectUris],
    confidential_client: application.isConfidential,
    skip_secondary_authorization: application.skipsConsent,
    created: toWireTime(application.createdAt),
  };
}

/** Converts the body of a request for an application. */
export function toApplicationRequest(
  body: BodyOf<typeof oauthApplicationEndpoints.createOauthApplication>,
): ApplicationRequest {
  return {
    name: body.name,
    redirectUris: body.redirect_uris ?? [],
    isConfidential: body.confidential_client ?? false,
    skipsConsent: body.skip_secondary_authorization ?? false,
  };
}

type ExchangeBody = BodyOf<typeof oauthProviderEndpoints.exchangeOauthCode>;

/** Returns the credentials of a program in the body of a request for a token. */
export const toClient = (body: ExchangeBody): ClientCredentials => ({
  clientId: body.client_id ?? "",
  clientSecret: body.client_secret ?? "",
});

/** Converts the body of a request for a token. */
export const toExchange = (body: ExchangeBody): ExchangeRequest => ({
  grantType: body.grant_type ?? "",
  code: body.code ?? "",
  redirectUri: body.redirect_uri ?? "",
  codeVerifier: body.code_verifier ?? "",
  refreshToken: body.refresh_token ?? "",
});

/** Converts tokens for a program. */
export function toTokensView(issued: IssuedTokens, idToken: string | undefined) {
  return {
    access_token: issued.accessToken,
    token_type: "bearer",
    expires_in: issued.expiresInSeconds,
    refresh_token: issued.refreshToken,
    scope: issued.scope,
    ...(idToken === undefined ? {} : { id_token: idToken }),
  } as const;
}

/** Returns the claims about a user (OpenID Connect Core, 5.1) that the words of a scope give. */
export function toClaims(
  user: ForgeUser,
  { words, groups }: { readonly words: readonly string[]; readonly groups: readonly string[] },
  urls: ForgeUrls,
) {
  const view = toUserView(user, user, urls);
  return {
    sub: String(user.id),
    name: view.full_name || view.login,
    preferred_username: view.login,
    profile: view.html_url,
    picture: view.avatar_url,
    ...(words.includes("email") ? { email: user.email, email_verified: true } : {}),
    ...(words.includes("groups") ? { groups: [...groups] } : {}),
  };
}

/** Returns the metadata of the provider (OpenID Connect Discovery, 3). */
export function toConfiguration(urls: ForgeUrls): Record<string, string | string[]> {
  return {
    issuer: urls.publicUrl(),
    authorization_endpoint: toUrl(urls, "/login/oauth/authorize"),
    token_endpoint: toUrl(urls, "/login/oauth/access_token"),
    userinfo_endpoint: toUrl(urls, "/login/oauth/userinfo"),
    jwks_uri: toUrl(urls, "/login/oauth/keys"),
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [IDENTITY_ALGORITHM],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    code_challenge_methods_supported: ["S256"],
    scopes_supported: [...identityWords, ...scopeWords],
    claims_supported: [
      "aud",
      "exp",
      "iat",
      "iss",
      "nonce",
      "sub",
      "name",
      "preferred_username",
      "profile",
      "picture",
      "email",
      "email_verified",
      "groups",
    ],
  };
}
