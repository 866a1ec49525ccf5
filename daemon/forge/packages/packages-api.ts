import type { Api, RenderedError } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";

/**
 * The forge as package tools meet it: the same people, tokens and refusals, but with the member `error`, where npm looks
 * for what to tell, and with the header that makes tools send credentials.
 */
export function createPackagesApi(forge: Api<ForgeCaller>): Api<ForgeCaller> {
  return {
    ...forge,
    renderError: (error) => toToolError(forge.renderError(error), error.message),
    internalError: () => toToolError(forge.internalError(), "internal error"),
  };
}

/** Whether an address belongs to the registries. */
export function isPackagePath(path: string): boolean {
  return path.startsWith("/api/packages/");
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
