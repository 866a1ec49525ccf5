import { Readable } from "node:stream";
import type { GrantFailure, OAuthVendor } from "./oauth.ts";
import { createTokens, type Tokens } from "./oauth-tokens.ts";
import type { ConnectRequest, ProviderDeps } from "./provider.ts";
import {
  createTransport,
  type ProviderAnswer,
  type ProviderRequest,
  type Transport,
} from "./transport.ts";

/** A request to a vendor's service. */
export interface AuthorizedRequest extends ProviderRequest {
  /**
   * Sends the request without the token: for pre-signed URLs, such as those of downloads and upload
   * sessions.
   */
  readonly withoutToken?: boolean;
}

/** Sends requests with a connection's access token. */
export type AuthorizedSender = ReturnType<typeof createAuthorizedSender>;

/** A connection's tokens, and the sender that uses them. Every vendor's adapter opens these first. */
export function openSignedIn(
  vendor: OAuthVendor,
  request: ConnectRequest,
  deps: ProviderDeps,
  api: readonly string[],
): { readonly tokens: Tokens; readonly sender: AuthorizedSender } {
  const transport = createTransport(deps.direct);
  const tokens = createTokens(vendor, request, { ...deps, transport });
  const elsewhere = createTransport(deps.guarded);
  return { tokens, sender: createAuthorizedSender({ transport, elsewhere, tokens, api }) };
}

/**
 * Creates the sender of one connection. Sends the token to the given origins only, even if a vendor's response names
 * another; requests to other origins go without it, through `elsewhere`, which should enforce the address policy.
 */
export function createAuthorizedSender(deps: {
  /** Calls the vendor's own service, or its stand-in: `createTransport(deps.direct)`. */
  readonly transport: Transport;
  /** Calls URLs from the vendor's responses: `createTransport(deps.guarded)`. */
  readonly elsewhere: Transport;
  readonly tokens: Tokens;
  /** URLs of the API; only their origins count. */
  readonly api: readonly string[];
}) {
  const origins = new Set(deps.api.map((address) => new URL(address).origin));

  async function sendWith(request: AuthorizedRequest, token: string) {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    return deps.transport.send({ ...request, headers });
  }

  return {
    /**
     * Sends a request. Renews a rejected token (401) and retries once, or twice where the first retry used a token that
     * another process had renewed; the last 401 is `reauth`. A streamed body cannot be sent again: a token that another
     * process had renewed, and with which no request has succeeded yet, is renewed before it. When the vendor refuses the token
     * all the same, it is renewed for the next request, and this one is `offline`. Rejects only with the error of a body that failed by
     * itself. Like the transport, it follows no redirect.
     */
    async send(request: AuthorizedRequest): Promise<ProviderAnswer | GrantFailure> {
      const isOurs = origins.has(new URL(request.url).origin);
      if (!isOurs) return deps.elsewhere.send(request);
      if (request.withoutToken === true) return deps.transport.send(request);

      let token = await deps.tokens.take(request.signal);
      if (token.kind === "ok" && token.isTakenOver === true && request.body instanceof Readable)
        token = await deps.tokens.replace(token.token, request.signal);
      if (token.kind !== "ok") return giveUp(request, token);
      let answer = await sendWith(request, token.token);
      for (let retries = 0; isRefused(answer); retries++) {
        // A token that another process renewed may have ended long ago; one that this process renewed has not.
        const mayRetry = retries === 0 || (retries === 1 && token.isTakenOver === true);
        answer.discard();
        if (!mayRetry) return { kind: "reauth", note: "refused twice" };
        token = await deps.tokens.replace(token.token, request.signal);
        if (token.kind !== "ok") return giveUp(request, token);
        if (request.body instanceof Readable)
          return { kind: "offline", sent: false, note: "token refused" };
        answer = await sendWith(request, token.token);
      }
      if (answer.kind === "answered") deps.tokens.accept(token.token);
      return answer;
    },
  };
}

function isRefused(
  answer: Awaited<ReturnType<Transport["send"]>>,
): answer is Extract<typeof answer, { kind: "answered" }> & { readonly status: 401 } {
  return answer.kind === "answered" && answer.status === 401;
}

function giveUp(request: AuthorizedRequest, failure: GrantFailure): GrantFailure {
  if (request.body instanceof Readable) request.body.destroy();
  return failure;
}
