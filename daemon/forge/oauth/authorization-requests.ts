import type { Queries } from "../../../storage/engine/database.ts";
import {
  findApplicationByClientId,
  type OauthApplication,
} from "../../../storage/tables/forge/accounts/oauth.ts";
import { type OauthScope, parseOauthScope } from "./oauth-scope.ts";
import { findRedirectUri } from "./redirect-uri.ts";

/** A valid request for a code (RFC 6749, 4.1.1). */
export interface AuthorizationRequest {
  readonly kind: "valid";
  readonly application: OauthApplication;
  readonly redirectUri: string;
  /** As the application sent it, which repeats it for the token; empty without one. */
  readonly sentRedirectUri: string;
  readonly state: string;
  readonly scope: OauthScope;
  /** Of the method S256 (RFC 7636); empty without one. */
  readonly codeChallenge: string;
  readonly nonce: string;
}

/**
 * A request as it was checked. One whose application or address is not valid is shown to the user, because a redirect would lead to an
 * address that is not registered; any other refusal goes to the application.
 */
export type CheckedRequest =
  | AuthorizationRequest
  | { readonly kind: "shown"; readonly message: string }
  | { readonly kind: "refused"; readonly to: URL };

/** The parameters of a request, which the form of the consent sends again. */
export const requestParameters = [
  "client_id",
  "redirect_uri",
  "response_type",
  "state",
  "scope",
  "nonce",
  "code_challenge",
  "code_challenge_method",
] as const;

/** Longest parameter in characters. */
const PARAMETER_MAX = 4_096;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** Checks a request for a code. `issuer` is added to redirects (RFC 9207). */
export async function checkAuthorizationRequest(
  db: Queries,
  parameters: URLSearchParams,
  issuer: string,
): Promise<CheckedRequest> {
  const shown = (message: string) => ({ kind: "shown", message }) as const;
  for (const name of requestParameters) {
    const values = parameters.getAll(name);
    if (values.length > 1) return shown(`The parameter ${name} is repeated.`);
    if ((values[0] ?? "").length > PARAMETER_MAX || /\p{Cc}/u.test(values[0] ?? ""))
      return shown(`The parameter ${name} is not valid.`);
  }
  const read = (name: (typeof requestParameters)[number]) => parameters.get(name) ?? "";
  const application = await findApplicationByClientId(db, read("client_id"));
  if (application === undefined) return shown("No application has this client_id.");
  const redirectUri = findRedirectUri(application, read("redirect_uri"));
  if (redirectUri === undefined)
    return shown(`The application ${application.name} has not registered this redirect_uri.`);
  const state = read("state");
  const refused = (error: string, description: string): CheckedRequest => ({
    kind: "refused",
    to: toRedirect({ redirectUri, state }, issuer, { error, error_description: description }),
  });
  if (read("response_type") !== "code")
    return refused("unsupported_response_type", "only the response type code is supported");
  const codeChallenge = read("code_challenge");
  if (codeChallenge === "" && !application.isConfidential)
    return refused("invalid_request", "a public client must send a code_challenge (PKCE)");
  if (codeChallenge !== "" && read("code_challenge_method") !== "S256")
    return refused("invalid_request", "the code_challenge_method must be S256");
  if (codeChallenge !== "" && !CHALLENGE.test(codeChallenge))
    return refused("invalid_request", "the code_challenge is not a SHA-256");
  const parsed = parseOauthScope(read("scope"));
  if (parsed.kind === "invalid")
    return refused("invalid_scope", `the scope ${parsed.word.slice(0, 100)} does not exist`);
  const nonce = read("nonce");
  const sentRedirectUri = read("redirect_uri");
  return {
    kind: "valid",
    application,
    redirectUri,
    sentRedirectUri,
    state,
    scope: parsed.scope,
    codeChallenge,
    nonce,
  };
}

/** Returns the address that tells the application the outcome. */
export function toRedirect(
  { redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">,
  issuer: string,
  outcome: Readonly<Record<string, string>>,
): URL {
  const url = new URL(redirectUri);
  const added = { ...outcome, ...(state === "" ? {} : { state }), iss: issuer };
  for (const [name, value] of Object.entries(added)) url.searchParams.set(name, value);
  return url;
}
