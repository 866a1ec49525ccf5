import type { Api, ServerRequest } from "../../http/handle.ts";
import { type CallOperation, withHeaders } from "../../pages/operations.ts";
import { readSessionCookie, type SessionCookie } from "../../pages/sessions.ts";
import { REFRESH_SECONDS, toRefreshCookie } from "../accounts/refresh-cookie.ts";
import { badAccessToken } from "../accounts/refusals.ts";
import type { VaultCaller } from "../caller.ts";
import type { PageSessions } from "./sessions.ts";
import { HOME } from "./addresses.ts";
import { type VaultPageSession } from "./vault-page.ts";

/** The cookie of the vault's pages. Browsers send it to no other address. */
export const COOKIE: SessionCookie = {
  name: "croft_vault_session",
  lifetimeMs: REFRESH_SECONDS * 1000,
  path: HOME,
};

type Operations = (request: ServerRequest, caller: VaultCaller | undefined) => CallOperation;

/**
 * Calls operations with the session of the browser in the place of the API's cookie, so that a change of the password
 * ends all sessions but this one, and a sign-out ends it.
 */
export function createPageOperations(operations: Operations): Operations {
  return (request, caller) => {
    const secret = readSessionCookie(request, COOKIE);
    const cookie = secret === undefined ? undefined : toRefreshCookie(secret);
    return operations(withHeaders(request, { cookie }), caller);
  };
}

/**
 * The API for the scripts of the pages, below `/vault/api`: its caller is the session of the browser, together with the
 * token of its forms as the header `X-Form-Token`, which no other site can send.
 */
export function createPagesApi(
  api: Api<VaultCaller>,
  sessions: Pick<PageSessions, "find">,
): Api<VaultCaller> {
  return {
    ...api,
    normalizePath: (path) => path.slice(HOME.length),

    async authenticate(request) {
      const session = await findSession(request);
      if (session === undefined || request.headers["x-form-token"] !== session.formToken)
        throw badAccessToken();
      return session.caller;
    },

    isStillSignedIn: async (_caller, request) => (await findSession(request)) !== undefined,
  };

  async function findSession(request: ServerRequest): Promise<VaultPageSession | undefined> {
    const secret = readSessionCookie(request, COOKIE);
    return secret === undefined ? undefined : sessions.find(secret, request);
  }
}
