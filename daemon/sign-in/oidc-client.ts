// daemon/sign-in: sign-in by an OpenID provider, for the pages of forge and vault; it knows neither. Start here (what is asked of the
// provider, and which of its answers are believed), then oidc-pages.tsx (the way through the browser) and flows.ts (sign-ins under way).
import type { Configuration, CustomFetch } from "openid-client";
import { AppError } from "../errors.ts";
import type { GuardedRequest } from "../outbound/guarded-request.ts";

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly scopes: string;
  readonly groupsClaim: string;
}

/** A person at the provider, after all checks. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** In lower case. Undefined unless the provider says that it has verified it. */
  readonly email: string | undefined;
  /** The name that the person has at the provider; empty for none. */
  readonly username: string;
  readonly fullName: string;
  readonly groups: readonly string[];
}

/** What must come back with the answer of the provider. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export type OidcClient = ReturnType<typeof createOidcClient>;

/** How long the description of the provider is believed. */
const DISCOVERY_MS = 3_600_000;
const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 512 * 1024;
const GROUPS_MAX = 1_000;
const TEXT_MAX = 255;

/**
 * Signs people in by the authorization code flow of OpenID Connect Core 1.0 with PKCE (RFC 7636), state and nonce. The ID token's
 * signature, issuer, audience, time and nonce are checked, although it comes from the provider itself.
 */
export function createOidcClient({
  settings,
  request,
  clock,
}: {
  readonly settings: OidcSettings;
  /** Sends requests within the address policy. */
  readonly request: GuardedRequest;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}) {
  let known: { readonly config: Promise<Configuration>; readonly at: number } | undefined;
  return {
    /** Returns the address at which the person signs in, and what must come back from there. Throws `unavailable`. */
    async begin(redirectUri: string): Promise<PendingSignIn & { readonly url: string }> {
      const oidc = await import("openid-client");
      const config = await discover();
      const pending = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
      };
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: settings.scopes,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: "S256",
      });
      if (!/^https?:$/.test(url.protocol)) throw unavailable("its sign-in page has no web address");
      return { ...pending, url: url.href };
    },

    /**
     * Exchanges the code in the address to which the provider sent the browser, and checks all answers. Throws
     * `invalid_credentials` for an answer that does not fit, `unavailable` for a provider that does not answer.
     */
    async finish(callback: URL, pending: PendingSignIn): Promise<Identity> {
      const oidc = await import("openid-client");
      const config = await discover();
      try {
        const tokens = await oidc.authorizationCodeGrant(config, callback, {
          pkceCodeVerifier: pending.verifier,
          expectedState: pending.state,
          expectedNonce: pending.nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw refused(new Error("no ID token"));
        // Many providers put only the subject into the ID token.
        const isComplete =
          claims["email"] !== undefined && claims[settings.groupsClaim] !== undefined;
        const more =
          isComplete || config.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
        return toIdentity({ ...more, ...claims }, settings);
      } catch (error) {
        throw findOutage(error) ?? refused(error);
      }
    },
  };

  /** Returns the description of the provider, which is fetched again after a failure. */
  function discover(): Promise<Configuration> {
    // A clock that was set back makes the description old as well.
    if (known !== undefined && Math.abs(clock() - known.at) < DISCOVERY_MS) return known.config;
    const config = load();
    const entry = { config, at: clock() };
    known = entry;
    config.catch(() => {
      if (known === entry) known = undefined;
    });
    return config;
  }

  async function load(): Promise<Configuration> {
    const oidc = await import("openid-client");
    const { clientId, clientSecret } = settings;
    const customFetch = createFetch(request);
    const isPlain = settings.issuer.startsWith("http:");
    const execute = isPlain ? [oidc.allowInsecureRequests] : [];
    try {
      const found = await oidc.discovery(
        new URL(settings.issuer),
        clientId,
        undefined,
        oidc.None(),
        { execute, [oidc.customFetch]: customFetch, timeout: TIMEOUT_MS / 1000 },
      );
      const server = found.serverMetadata();
      // Basic is what a provider supports that does not say (Discovery 1.0, 3).
      const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
      const authenticate =
        clientSecret === undefined
          ? oidc.None()
          : methods.includes("client_secret_basic")
            ? oidc.ClientSecretBasic(clientSecret)
            : oidc.ClientSecretPost(clientSecret);
      const config = new oidc.Configuration(server, clientId, undefined, authenticate);
      config[oidc.customFetch] = customFetch;
      config.timeout = TIMEOUT_MS / 1000;
      if (isPlain) oidc.allowInsecureRequests(config);
      oidc.enableNonRepudiationChecks(config);
      return config;
    } catch (error) {
      throw unavailable("it does not answer as an OpenID provider", error);
    }
  }
}

/** Returns the identity that claims describe. Texts of the provider are cut to the length of ours. */
function toIdentity(
  claims: Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string },
  { groupsClaim }: OidcSettings,
): Identity {
  const text = (name: string) => {
    const value = claims[name];
    return typeof value === "string" ? value.trim().slice(0, TEXT_MAX) : "";
  };
  const email = text("email").toLowerCase();
  const groups = claims[groupsClaim];
  const { iss: issuer, sub: subject } = claims;
  if (subject === "" || subject.length > TEXT_MAX)
    throw refused(new Error("the subject is empty or too long"));
  return {
    issuer,
    subject,
    email: claims["email_verified"] === true && email !== "" ? email : undefined,
    username: text("preferred_username"),
    fullName: text("name"),
    groups: (Array.isArray(groups) ? groups : [groups])
      .filter((group) => typeof group === "string")
      .slice(0, GROUPS_MAX),
  };
}

/** Makes the library send its requests within the address policy. Redirects are not followed: the provider names its addresses. */
function createFetch(request: GuardedRequest): CustomFetch {
  return async (url, { method, headers, body }) => {
    const outcome = await request({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers,
      body: body === null || body === undefined ? "" : String(body),
      privateHeaders: ["authorization"],
      followsRedirects: false,
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: ANSWER_BYTES_MAX,
    });
    if (outcome.kind !== "answered") throw unavailable(outcome.reason);
    if (outcome.isCut) throw unavailable("its answer is too long");
    if (outcome.status >= 500) throw unavailable(`it answers with the status ${outcome.status}`);
    const isEmpty = [204, 205, 304].includes(outcome.status);
    return new Response(isEmpty ? null : new Uint8Array(outcome.body), {
      status: outcome.status,
      headers: outcome.headers,
    });
  };
}

/** Returns the refusal in an error, which the library wraps: a provider that does not answer has refused nothing. */
function findOutage(error: unknown): AppError | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof AppError) return each;
  return undefined;
}

const unavailable = (reason: string, cause?: unknown) =>
  new AppError("unavailable", `The provider cannot be used at the moment: ${reason}.`, { cause });

const refused = (cause: unknown) =>
  new AppError("invalid_credentials", "The answer of the provider was refused. Begin again.", {
    cause,
  });
