import { AppError } from "../../errors.ts";
import type { Api, RenderedError } from "../../http/handle.ts";
import { refusalHeaders, statusOfCode } from "../../http/replies.ts";
import type { ForgeCaller } from "../caller.ts";
import { type ClientCredentials, refusal } from "./provider.service.ts";

const HEADERS = {
  "Cache-Control": "no-store",
  Pragma: "no-cache",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

/** The codes of refusals that have none of their own, by status. */
const CODES: Readonly<Record<number, string>> = {
  401: "invalid_token",
  403: "insufficient_scope",
  429: "slow_down",
  503: "temporarily_unavailable",
};

/**
 * Creates the API of the provider of OAuth 2 as the transport sees it. Credentials in a request for a token are those of the program,
 * not of a user. Errors have the form of RFC 6749.
 */
export function createOauthApi(forge: Api<ForgeCaller>): Api<ForgeCaller> {
  return {
    ...forge,
    headers: HEADERS,
    jsonContentType: "application/json;charset=utf-8",
    headersFor: () => undefined,
    authenticate: async (request, gate, readBody) =>
      request.target.startsWith("/login/oauth/access_token")
        ? undefined
        : forge.authenticate(request, gate, readBody),
    async decodeBody(declared, request, readBody) {
      try {
        return await forge.decodeBody(declared, request, readBody);
      } catch (error) {
        if (error instanceof AppError && error.code === "unprocessable")
          throw refusal("invalid_request", error.message);
        throw error;
      }
    },
    toValidationError: (where, error, declared) =>
      refusal("invalid_request", forge.toValidationError(where, error, declared).message),
    renderError(error) {
      const status = statusOfCode[error.code];
      const oauthCode = error.data.oauthCode ?? CODES[status] ?? "invalid_request";
      const challenge = oauthCode === "invalid_client" ? "Basic" : "Bearer";
      return toRefusal(
        status,
        {
          ...refusalHeaders(error),
          ...(status === 401 ? { "WWW-Authenticate": `${challenge} realm="croft"` } : {}),
        },
        { error: oauthCode, error_description: error.message },
      );
    },
    renderEarlyRefusal: (status, message) =>
      toRefusal(status, {}, { error: "invalid_request", error_description: message }),
    internalError: () =>
      toRefusal(500, {}, { error: "server_error", error_description: "internal error" }),
  };
}

const toRefusal = (
  status: number,
  headers: RenderedError["headers"],
  body: object,
): RenderedError => ({ status, headers: { ...headers, "Cache-Control": "no-store" }, body });

/**
 * Returns the credentials of a program: of Basic authentication, whose parts are percent-encoded (RFC 6749, 2.3.1), or of the body. Refuses
 * requests that have both, if they differ.
 */
export function readClient(
  authorization: string | undefined,
  body: ClientCredentials,
): ClientCredentials {
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=]+)$/i.exec(authorization ?? "") ?? [];
  if (authorization !== undefined && encoded === undefined)
    throw refusal("invalid_client", "the Authorization header is not of the type Basic");
  if (encoded === undefined) return body;
  const [clientId = "", ...rest] = Buffer.from(encoded, "base64").toString().split(":");
  const client = { clientId: decode(clientId), clientSecret: decode(rest.join(":")) };
  if (client.clientId.includes("\0")) throw refusal("invalid_client", "the client_id has a NUL");
  if (body.clientId !== "" && body.clientId !== client.clientId)
    throw refusal(
      "invalid_request",
      "client_id in request body inconsistent with Authorization header",
    );
  if (body.clientSecret !== "" && body.clientSecret !== client.clientSecret)
    throw refusal(
      "invalid_request",
      "client_secret in request body inconsistent with Authorization header",
    );
  return client;
}

/** Decodes a part of the credentials; one that some clients did not encode stays as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll("+", " "));
  } catch {
    return part;
  }
}
