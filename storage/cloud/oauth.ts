import { readJsonObject, type JsonObject } from "./json.ts";
import type { Failure } from "./outcomes.ts";
import type { Credentials, OAuthSpec, ProviderDeps, ServerSettings } from "./provider.ts";
import { createTransport, retryAfterSeconds, type Transport } from "./transport.ts";

/** How a vendor's OAuth 2 service is spoken to: what differs between those that keep the standard. */
export interface OAuthVendor {
  /** Settings of the server by their names in code, such as `googleClientId`. */
  readonly clientIdSetting: string;
  readonly clientSecretSetting: string;
  /** Further settings without which nobody can sign in. */
  readonly otherSettings?: readonly string[];
  /** The page where the person agrees; made with `toEndpoint`, so that a stand-in can take its place. */
  authorizationEndpoint(server: ServerSettings): string;
  tokenEndpoint(server: ServerSettings): string;
  /** What is asked for; sent joined by spaces. */
  readonly scopes: readonly string[];
  /** Those of them without which nothing works: a sign-in that leaves one out is `forbidden`. */
  readonly neededScopes?: readonly string[];
  /** What the vendor wants in the address besides the standard's parameters, such as `access_type: "offline"`. */
  readonly authorizationParameters?: Readonly<Record<string, string>>;
}

/** What a token endpoint gives. */
export interface Grant {
  readonly accessToken: string;
  /** Undefined when the vendor gives no new one: the old one stays good. */
  readonly refreshToken: string | undefined;
  /** Epoch milliseconds from which on it should be renewed; undefined when its end is not known. */
  readonly renewAt: number | undefined;
}

/** How asking a token endpoint may fail: `reauth` only when the vendor refuses the grant itself. */
export type GrantFailure = Extract<
  Failure,
  { kind: "reauth" | "forbidden" | "offline" | "rate_limited" }
>;

/** Names of the credentials that a sign-in gives. `renew_at` is epoch milliseconds as text. */
export const ACCESS_TOKEN = "access_token";
export const REFRESH_TOKEN = "refresh_token";
export const RENEW_AT = "renew_at";

/** The note of a `forbidden` when the person did not agree to everything that is needed. */
export const SCOPE_MISSING = "scope not granted";

const TOKEN_TIMEOUT_MS = 30_000;
/** Clocks differ, and a request takes its time: a token is renewed so long before its end, or at half of a short life. */
const EARLIER_MS = 60_000;

/**
 * The vendor's endpoint, or the same path at the origin that the administrator has set in place of all the vendor's
 * origins.
 */
export function toEndpoint(vendorUrl: string, baseUrl: string | undefined): string {
  if (baseUrl === undefined || baseUrl === "") return vendorUrl;
  const { pathname, search } = new URL(vendorUrl);
  return baseUrl.replace(/\/+$/, "") + pathname + search;
}

/** The sign-in half of a provider type: the code flow of RFC 6749 with PKCE (RFC 7636, S256). */
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
      // Without one the connection would end within the hour, and nobody would know why.
      if (outcome.grant.refreshToken === undefined)
        return { kind: "forbidden", note: "no refresh token" };
      return { kind: "ok", credentials: toCredentials(outcome.grant, "") };
    },
  };
}

/** What is kept of a grant. `refreshToken` is the earlier one, which stays good unless a new one came. */
export function toCredentials(grant: Grant, refreshToken: string): Credentials {
  return {
    [ACCESS_TOKEN]: grant.accessToken,
    [REFRESH_TOKEN]: grant.refreshToken ?? refreshToken,
    ...(grant.renewAt === undefined ? {} : { [RENEW_AT]: String(grant.renewAt) }),
  };
}

/** Asks a vendor's token endpoint, once, for a code or a refresh token. */
export async function askForGrant(
  vendor: OAuthVendor,
  parameters: Readonly<Record<string, string>>,
  by: { readonly transport: Transport } & Pick<ProviderDeps, "clock" | "server">,
): Promise<{ readonly kind: "ok"; readonly grant: Grant } | GrantFailure> {
  const askedAt = by.clock();
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
    // Whoever waits may go away: an answer with a new refresh token must not get lost with them.
    signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
  });
  if (answer.kind === "offline") return answer;
  const body = await readJsonObject(answer);
  const said = body.kind === "ok" ? body.value : undefined;
  if (answer.status === 429)
    return {
      kind: "rate_limited",
      retryAfterSeconds: retryAfterSeconds(answer.headers, by.clock()),
      note: "token endpoint",
    };
  if (answer.status !== 200) return toFailure(answer.status, said?.["error"]);
  if (body.kind === "offline") return body;
  const grant = toGrant(body.value, askedAt);
  if (grant === undefined) return { kind: "offline", sent: true, note: "no token in the answer" };
  return lacksScope(vendor, said?.["scope"])
    ? { kind: "forbidden", note: SCOPE_MISSING }
    : { kind: "ok", grant };
}

function toGrant(said: JsonObject, askedAt: number): Grant | undefined {
  const {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: expiresIn,
    token_type: tokenType,
  } = said;
  if (typeof accessToken !== "string" || !isToken(accessToken)) return undefined;
  if (typeof tokenType === "string" && tokenType.toLowerCase() !== "bearer") return undefined;
  const lifeMs = Number(expiresIn) * 1000;
  return {
    accessToken,
    refreshToken:
      typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
    renewAt: lifeMs > 0 ? askedAt + Math.max(lifeMs - EARLIER_MS, lifeMs / 2) : undefined,
  };
}

/** What may stand in an Authorization header (RFC 6750, 2.1). */
function isToken(text: string): boolean {
  return /^[\w~+/.=-]{1,16384}$/.test(text);
}

/** People can untick what they are asked for; an answer without scopes means all of them (RFC 6749, 5.1). */
function lacksScope({ neededScopes = [] }: OAuthVendor, scope: unknown): boolean {
  if (typeof scope !== "string") return false;
  const granted = new Set(scope.split(/\s+/));
  return neededScopes.some((needed) => !granted.has(needed));
}

/** Errors by which a vendor says that the grant itself is over: only the person can give a new one. */
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
  // The administrator's client is refused: signing in again helps nobody.
  if (error === "invalid_client" || error === "unauthorized_client")
    return { kind: "forbidden", note: error };
  return { kind: "offline", sent: true, note };
}
