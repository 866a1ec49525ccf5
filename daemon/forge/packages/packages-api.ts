import type { Api, RenderedError } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";

/**
 * The API of the forge for package tools: the same accounts, tokens and refusals, but errors have the member `error`,
 * which npm shows to its user, and the header that makes tools send credentials.
 */
export function createPackagesApi(forge: Api<ForgeCaller>): Api<ForgeCaller> {
  return {
    ...forge,
    renderError: (error, request) => toToolError(forge.renderError(error, request), error.message),
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
