import { collapseSlashes } from "../../contract/api-of.ts";
import type { AppError } from "../../errors.ts";
import type { RenderedError } from "../../http/handle.ts";
import { refusalHeaders, statusOfCode } from "../../http/replies.ts";

/**
 * Renders a refusal as the forge does: `{message, url}`, with a few cases in plain text or without
 * the link.
 * @param documentation address of the API's documentation, the member `url`
 * @param path of the endpoint that refused; undefined when none was found
 */
export function renderError(
  error: AppError,
  { target }: { readonly target: string },
  documentation: string,
  path?: string,
): RenderedError {
  const { code, message, data } = error;
  const status = statusOfCode[code];
  const headers = refusalHeaders(error);
  if (code === "moved") {
    const moved = path && data.names && toMovedPath(target, path, data.names);
    return toRedirect(moved || (data.location ?? "/"), target);
  }
  switch (data.reason) {
    case "former_name":
    case "not_rendered":
      return plainText(status, `${message}\n`);
    case "account_state":
      return { status, headers, body: { message } };
    default:
      return { status, headers, body: { message, url: documentation } };
  }
}

/** Returns a response in plain text. */
export function plainText(status: number, text: string): RenderedError {
  return { status, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: text };
}

/**
 * Returns the path of a target with the present names. Replaces the former ones by their position, because they may be
 * percent-encoded there, or equal to another segment of the route. Returns undefined without a segment to replace.
 */
export function toMovedPath(
  target: string,
  route: string,
  names: Readonly<Record<string, string>>,
): string | undefined {
  const [path = ""] = target.split("?");
  const parameters = route.split("/");
  let isReplaced = false;
  const segments = collapseSlashes(path)
    .split("/")
    .map((segment, index) => {
      const parameter = parameters[index] ?? "";
      const name = parameter.startsWith(":") ? names[parameter.slice(1)] : undefined;
      if (name === undefined) return segment;
      isReplaced = true;
      return encodeURIComponent(name) + (segment.endsWith(".git") ? ".git" : "");
    });
  return isReplaced ? segments.join("/") : undefined;
}

function toRedirect(location: string, target: string): RenderedError {
  const query = location.includes("?") ? "" : queryWithoutToken(target);
  return { status: 307, headers: { Location: location + query }, body: undefined };
}

/** Returns the query of a target with its question mark. Removes tokens, which a header must not repeat. */
function queryWithoutToken(target: string): string {
  const mark = target.indexOf("?");
  if (mark === -1) return "";
  const query = new URLSearchParams(target.slice(mark + 1));
  if (!query.has("token") && !query.has("access_token")) return target.slice(mark);
  query.delete("token");
  query.delete("access_token");
  const rest = query.toString();
  return rest === "" ? "" : `?${rest}`;
}
