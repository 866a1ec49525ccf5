import type { AppError } from "../../errors.ts";
import type { RenderedError } from "../../http/handle.ts";
import { refusalHeaders, statusOfCode } from "../../http/replies.ts";

/**
 * Renders a refusal as the forge does (forge behaviour, 3): `{message, url}`, with a few cases in plain text or without
 * the link.
 * @param documentation address of the API's documentation, the member `url`
 */
export function renderError(
  error: AppError,
  { target }: { readonly target: string },
  documentation: string,
): RenderedError {
  const { code, message, data } = error;
  const status = statusOfCode[code];
  const headers = refusalHeaders(error);
  if (code === "moved") return toRedirect(data.location ?? "/", target);
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
