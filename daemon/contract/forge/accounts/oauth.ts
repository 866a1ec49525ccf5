import { z } from "zod";
import { anyone, forgeUser, perAddress } from "../../endpoint.ts";
import {
  optionalFlag,
  optionalText,
  optionalWords,
  pathInteger,
  requiredText,
  wireId,
  wireTime,
} from "../common.ts";
import { resource } from "../resource.ts";

const apiOnly = "an application is registered once, on the page of the account or by a program";

/** An application; `client_secret` is in the responses that make one, and empty in others. */
const applicationShape = z.object({
  id: wireId,
  name: z.string(),
  client_id: z.string(),
  client_secret: z.string(),
  redirect_uris: z.array(z.string()),
  confidential_client: z.boolean(),
  skip_secondary_authorization: z.boolean(),
  created: wireTime,
});
export type WireOauthApplication = z.output<typeof applicationShape>;

const applicationBody = z.object({
  name: requiredText({ max: 255 }),
  redirect_uris: optionalWords,
  confidential_client: optionalFlag,
  skip_secondary_authorization: optionalFlag,
});

/** The applications of the caller. */
export const oauthApplicationEndpoints = resource(
  {
    name: "forge.user.oauth_applications",
    path: "/api/v1/user/applications/oauth2",
    id: { id: pathInteger },
    shape: applicationShape,
    gate: forgeUser("user"),
  },
  ({ list, create, get, remove, operation }) => ({
    listOauthApplications: list("Your OAuth2 applications, oldest first", { apiOnly }),
    createOauthApplication: create(
      "Register an OAuth2 application; the response shows its secret",
      applicationBody,
      { refuses: [400], apiOnly },
    ),
    getOauthApplication: get("An OAuth2 application of yours", { refuses: [404], apiOnly }),
    updateOauthApplication: operation({
      as: "edit",
      method: "PATCH",
      item: true,
      summary: "Change an OAuth2 application; it gets a new secret, which the response shows",
      body: applicationBody,
      replies: { 200: applicationShape },
      refuses: [400, 404],
      apiOnly,
    }),
    deleteOauthApplication: remove("Delete an OAuth2 application with all that it was granted", {
      refuses: [404],
      apiOnly,
    }),
  }),
);

/** The body of a refusal (RFC 6749, 5.2). */
const oauthRefusal = z.object({ error: z.string(), error_description: z.string() });

const spokenByTools = "programs that sign in speak it";
/** Requests of one address in a minute, each of which may guess a code or a secret. */
const limit = perAddress(120, 60);

/** The provider of OAuth 2 and OpenID Connect. Members are spelled as its clients read them. */
export const oauthProviderEndpoints = {
  ...resource(
    { name: "forge.oauth", path: "/login/oauth", gate: anyone, refusal: oauthRefusal },
    ({ operation }) => ({
      exchangeOauthCode: operation({
        as: "token",
        method: "POST",
        at: "access_token",
        summary: "Exchange a code or a refresh token for an access token",
        body: z.object({
          grant_type: optionalText(),
          client_id: optionalText(),
          client_secret: optionalText(),
          code: optionalText(),
          redirect_uri: optionalText(),
          code_verifier: optionalText(),
          refresh_token: optionalText(),
        }),
        replies: {
          200: z.object({
            access_token: z.string(),
            token_type: z.literal("bearer"),
            expires_in: z.int(),
            refresh_token: z.string(),
            scope: z.string(),
            id_token: z.string().optional(),
          }),
        },
        refusesOnly: [400, 401, 429],
        limit,
        apiOnly: spokenByTools,
      }),
      getOauthUser: operation({
        as: "userinfo",
        method: "GET",
        at: "userinfo",
        summary: "Who an access token belongs to",
        replies: {
          200: z.object({
            sub: z.string(),
            name: z.string(),
            preferred_username: z.string(),
            profile: z.string(),
            picture: z.string(),
            email: z.string().optional(),
            email_verified: z.boolean().optional(),
            groups: z.array(z.string()).optional(),
          }),
        },
        refusesOnly: [401, 403],
        apiOnly: spokenByTools,
      }),
      getOauthKeys: operation({
        as: "keys",
        method: "GET",
        at: "keys",
        summary: "The public keys that identity tokens are signed with",
        replies: { 200: z.object({ keys: z.array(z.record(z.string(), z.string())) }) },
        refusesOnly: [401],
        apiOnly: spokenByTools,
      }),
    }),
  ),
  ...resource(
    { name: "forge.oauth", path: "/.well-known", gate: anyone, refusal: oauthRefusal },
    ({ operation }) => ({
      getOpenidConfiguration: operation({
        as: "configuration",
        method: "GET",
        at: "openid-configuration",
        summary: "The addresses and abilities of the provider of OpenID Connect",
        replies: { 200: z.record(z.string(), z.union([z.string(), z.array(z.string())])) },
        refusesOnly: [401],
        apiOnly: spokenByTools,
      }),
    }),
  ),
};
