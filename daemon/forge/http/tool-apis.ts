import type { Api, RenderedError } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";

/**
 * Creates the API of the forge for git clients. Accounts, tokens and sign-in limits are those of the forge. Errors are
 * plain text, which git shows to its user, with the header that makes git ask for credentials.
 */
export function createGitApi(forge: Api<ForgeCaller>): Api<ForgeCaller> {
  return {
    ...forge,
    headers: { "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN" },
    renderError(error, request) {
      const { status, headers } = forge.renderError(error, request);
      const advice = error.code === "invalid_credentials" ? TOKEN_ADVICE : "";
      const body = status === 307 ? "" : `${error.message}\n${advice}`;
      return toPlainText({ status, headers, body });
    },
    renderEarlyRefusal: (status, message) =>
      toPlainText({ status, headers: {}, body: `${message}\n` }),
    internalError: () => toPlainText({ status: 500, headers: {}, body: "internal error\n" }),
  };
}

/** git sends no codes of a second factor. */
export const TOKEN_ADVICE =
  "git takes an access token as the password, and an account with a second factor needs one: " +
  "croft token create NAME --scope write:repository\n";

function toPlainText({ status, headers, body }: RenderedError): RenderedError {
  const challenge = status === 401 ? { "WWW-Authenticate": 'Basic realm="croft"' } : undefined;
  const plain = { "Content-Type": "text/plain; charset=utf-8" };
  return { status, headers: { ...headers, ...plain, ...challenge }, body };
}

/**
 * Creates the API of the forge for package tools. Accounts, tokens and refusals are those of the forge. Errors also
 * have the member `error`, which npm shows to its user, and the header that makes tools send credentials.
 */
export function createPackagesApi(forge: Api<ForgeCaller>): Api<ForgeCaller> {
  return {
    ...forge,
    renderError: (error, request) => toToolError(forge.renderError(error, request), error.message),
    renderEarlyRefusal: (status, message) =>
      toToolError(forge.renderEarlyRefusal(status, message), message),
    internalError: () => toToolError(forge.internalError(), "internal error"),
  };
}

function toToolError(rendered: RenderedError, message: string): RenderedError {
  const headers =
    rendered.status === 401
      ? { ...rendered.headers, "WWW-Authenticate": 'Basic realm="croft"' }
      : rendered.headers;
  const { body } = rendered;
  return typeof body === "object" && body !== null
    ? { ...rendered, headers, body: { error: message, ...body } }
    : { ...rendered, headers };
}
