import type { Api, RenderedError } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";

/**
 * The API of the forge for git clients: the same accounts, tokens and sign-in limits, but errors in plain text, which
 * git shows to its user, and with the header that makes git ask for credentials.
 */
export function createGitApi(forge: Api<ForgeCaller>): Api<ForgeCaller> {
  return {
    ...forge,
    headers: { "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN" },
    renderError(error, request) {
      const { status, headers } = forge.renderError(error, request);
      return toPlainText({ status, headers, body: status === 307 ? "" : `${error.message}\n` });
    },
    internalError: () => toPlainText({ status: 500, headers: {}, body: "internal error\n" }),
  };
}

function toPlainText({ status, headers, body }: RenderedError): RenderedError {
  const challenge = status === 401 ? { "WWW-Authenticate": 'Basic realm="croft"' } : undefined;
  const plain = { "Content-Type": "text/plain; charset=utf-8" };
  return { status, headers: { ...headers, ...plain, ...challenge }, body };
}
