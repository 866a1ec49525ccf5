import type { JsonObject } from "./json.ts";
import { readJsonObject } from "./response-json.ts";
import type { Failure } from "./outcomes.ts";
import type { Credentials, OAuthSpec, ProviderDeps, ServerSettings } from "./provider.ts";
import { createTransport, retryAfterSeconds, type Transport } from "./transport.ts";

/** A vendor's OAuth 2 service: the differences between vendors that follow the standard. */
export interface OAuthVendor {
  /** Names of server settings in code, such as `googleClientId`. */
  readonly clientIdSetting: string;
  readonly clientSecretSetting: string;
  /** Further settings that signing in requires. */
  readonly otherSettings?: readonly string[];
  /** The authorization endpoint; made with `toEndpoint`, so that a stand-in can replace it. */
  authorizationEndpoint(server: ServerSettings): string;
  tokenEndpoint(server: ServerSettings): string;
  /** The requested scopes; sent joined by spaces. */
  readonly scopes: readonly string[];
  /** The required scopes: a sign-in that omits one is `forbidden`. */
  readonly neededScopes?: readonly string[];
  /** Parameters of the vendor in addition to the standard's, such as `access_type: "offline"`. */
  readonly authorizationParameters?: Readonly<Record<string, string>>;
}

/** The response of a token endpoint. */
export interface Grant {
  readonly accessToken: string;
  /** Undefined if the vendor issues no new token; the old one stays valid. */
  readonly refreshToken: string | undefined;
  /** Epoch milliseconds from which on the token should be renewed; undefined when its expiry is unknown. */
  readonly renewAt: number | undefined;
}

/** Failures of a token request: `reauth` only when the vendor rejects the grant itself. */
export type GrantFailure = Extract<
  Failure,
  { kind: "reauth" | "forbidden" | "offline" | "rate_limited" }
>;

/** Names of the credentials that a sign-in returns. `renew_at` is epoch milliseconds as text. */
export const ACCESS_TOKEN = "access_token";
export const REFRESH_TOKEN = "refresh_token";
export const RENEW_AT = "renew_at";

/** The note of a `forbidden` when the user did not grant all required scopes. */
export const SCOPE_MISSING = "scope not granted";

const TOKEN_TIMEOUT_MS = 30_000;
/** Tolerance for clock skew and request time: renews this long before expiry, or at half of a short lifetime. */
const EARLIER_MS = 60_000;

/**
 * Returns the vendor's endpoint, or the same path at the origin that the administrator configured instead of all the vendor's
 * origins.
 */
export function toEndpoint(vendorUrl: string, baseUrl: string | undefined): string {
  if (baseUrl === undefined || baseUrl === "") return vendorUrl;
  const { pathname, search } = new URL(vendorUrl);
  return baseUrl.replace(/\/+$/, "") + pathname + search;
}

/** Creates the sign-in of a provider type: the authorization code flow of RFC 6749 with PKCE (RFC 7636, S256). */
export function createOAuthSpec(vendor: OAuthVendor): OAuthSpec {
  const { clientIdSetting, clientSecretSetting, otherSettings = [] } = vendor;
  return {
    serverSettings: [clientIdSetting, clientSecretSetting, ...otherSettings],
    clientIdSetting,
    clientSecretSetting,

    authorizationUrl({ server, redirectUrl, state, codeChallenge }) {
      const url = new URL(vendor.authorizationEndpoint(server));
      const parameters = {
        ...vendor.authorizationParameters,
        response_type: "code",
        client_id: server[clientIdSetting] ?? "",
        redirect_uri: redirectUrl,
        scope: vendor.scopes.join(" "),
        state,
        code_challenge: codeChallenge,
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(parameters))
        if (value !== "") url.searchParams.set(name, value);
      return url.href;
    },

    async exchange({ server, redirectUrl, code, codeVerifier }, deps) {
      const outcome = await askForGrant(
        vendor,
        {
          grant_type: "authorization_code",
          code,
          redirect_uri: redirectUrl,
          code_verifier: codeVerifier,
        },
        { transport: createTransport(deps.direct), clock: deps.clock, server },
      );
      if (outcome.kind !== "ok") return outcome;
      // Without a refresh token the connection would expire within the hour, without a visible reason.
      if (outcome.grant.refreshToken === undefined)
        return { kind: "forbidden", note: "no refresh token" };
      return { kind: "ok", credentials: toCredentials(outcome.grant, "") };
    },
  };
}

/** Returns the credentials to save of a grant. `refreshToken` is the earlier one, valid unless a new one was issued. */
export function toCredentials(grant: Grant, refreshToken: string): Credentials {
  return {
    [ACCESS_TOKEN]: grant.accessToken,
    [REFRESH_TOKEN]: grant.refreshToken ?? refreshToken,
    ...(grant.renewAt === undefined ? {} : { [RENEW_AT]: String(grant.renewAt) }),
  };
}

/** Requests a token from the vendor's endpoint, once, with a code or a refresh token. */
export async function askForGrant(
  vendor: OAuthVendor,
  parameters: Readonly<Record<string, string>>,
  by: { readonly transport: Transport } & Pick<ProviderDeps, "clock" | "server">,
): Promise<{ readonly kind: "ok"; readonly grant: Grant } | GrantFailure> {
  const requestedAt = by.clock();
  const form = new URLSearchParams({
    ...parameters,
    client_id: by.server[vendor.clientIdSetting] ?? "",
    client_secret: by.server[vendor.clientSecretSetting] ?? "",
  });
  const answer = await by.transport.send({
    method: "POST",
    url: vendor.tokenEndpoint(by.server),
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: form.toString(),
    // The caller may abort: a response with a new refresh token must not be lost with it.
    signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
  });
  if (answer.kind === "offline") return answer;
  const body = await readJsonObject(answer);
  const fields = body.kind === "ok" ? body.value : undefined;
  if (answer.status === 429)
    return {
      kind: "rate_limited",
      retryAfterSeconds: retryAfterSeconds(answer.headers, by.clock()),
      note: "token endpoint",
    };
  if (answer.status !== 200) return toFailure(answer.status, fields?.["error"]);
  if (body.kind === "offline") return body;
  const grant = toGrant(body.value, requestedAt);
  if (grant === undefined) return { kind: "offline", sent: true, note: "no token in the answer" };
  return lacksScope(vendor, fields?.["scope"])
    ? { kind: "forbidden", note: SCOPE_MISSING }
    : { kind: "ok", grant };
}

function toGrant(fields: JsonObject, requestedAt: number): Grant | undefined {
  const {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: expiresIn,
    token_type: tokenType,
  } = fields;
  if (typeof accessToken !== "string" || !isToken(accessToken)) return undefined;
  if (typeof tokenType === "string" && tokenType.toLowerCase() !== "bearer") return undefined;
  const lifeMs = Number(expiresIn) * 1000;
  return {
    accessToken,
    refreshToken:
      typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
    renewAt: lifeMs > 0 ? requestedAt + Math.max(lifeMs - EARLIER_MS, lifeMs / 2) : undefined,
  };
}

/** Characters that an Authorization header allows (RFC 6750, 2.1). */
function isToken(text: string): boolean {
  return /^[\w~+/.=-]{1,16384}$/.test(text);
}

/** Users can deselect scopes; a response without scopes means all of them (RFC 6749, 5.1). */
function lacksScope({ neededScopes = [] }: OAuthVendor, scope: unknown): boolean {
  if (typeof scope !== "string") return false;
  const granted = new Set(scope.split(/\s+/));
  return neededScopes.some((needed) => !granted.has(needed));
}

/** Errors that invalidate the grant itself: the user must sign in again. */
const overErrors: readonly unknown[] = [
  "invalid_grant",
  "interaction_required",
  "login_required",
  "consent_required",
  "access_denied",
];

function toFailure(status: number, error: unknown): GrantFailure {
  const note = `token endpoint ${status}`;
  if (status >= 500) return { kind: "offline", sent: true, note };
  if (overErrors.includes(error)) return { kind: "reauth", note: String(error) };
  // The administrator's client is rejected: signing in again would not help.
  if (error === "invalid_client" || error === "unauthorized_client")
    return { kind: "forbidden", note: error };
  return { kind: "offline", sent: true, note };
}
