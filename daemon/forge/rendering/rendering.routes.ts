import { renderMarkdown, renderMarkdownRaw, renderMarkup } from "../../contract/forge/rendering.ts";
import { AppError, assertNever } from "../../errors.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { handle } from "../handle.ts";
import { toText } from "./raw-body.ts";
import type { Rendering, RenderOutcome } from "./rendering.service.ts";

/** The routes of rendering (forge behaviour, 18.1): open to everybody, within a limit for each address or account. */
export function renderingRoutes({ rendering, addressKey }: RenderingRoutesDeps): Route[] {
  const toAsker = (caller: ForgeCaller | undefined, { address }: ServerRequest) =>
    caller === undefined ? `a:${addressKey(address)}` : `u:${caller.actor.id}`;
  return [
    handle(renderMarkdown, async ({ caller, body, request }) => {
      const wanted = { ...toRequest(body), filePath: "", askedBy: toAsker(caller, request) };
      return toReply(await rendering.render(wanted));
    }),
    handle(renderMarkdownRaw, async ({ caller, body, request }) => {
      const text = toText(body, request.headers["content-type"]);
      const wanted = { ...toRequest({ Text: text }), filePath: "" };
      return toReply(await rendering.render({ ...wanted, askedBy: toAsker(caller, request) }));
    }),
    handle(renderMarkup, async ({ caller, body, request }) => {
      const filePath = body.FilePath ?? "";
      const wanted = { ...toRequest(body), filePath, askedBy: toAsker(caller, request) };
      return toReply(await rendering.render(wanted));
    }),
  ];
}

export interface RenderingRoutesDeps {
  readonly rendering: Rendering;
  /** The key of an address: an IPv6 network counts as one. */
  readonly addressKey: (address: string) => string;
}

interface Members {
  readonly Text?: string | null | undefined;
  readonly Mode?: string | null | undefined;
  readonly Context?: string | null | undefined;
  readonly Wiki?: boolean | null | undefined;
}

function toRequest({ Text, Mode, Context, Wiki }: Members) {
  return { text: Text ?? "", mode: Mode ?? "", context: Context ?? "", isWiki: Wiki ?? false };
}

const headers = {
  "Content-Type": "text/html; charset=utf-8",
  // Should anything ever get past the sanitizer: shown as a page of its own, the answer may do nothing.
  "Content-Security-Policy":
    "sandbox; default-src 'none'; img-src * data:; media-src *; style-src 'unsafe-inline'",
};

function toReply(outcome: RenderOutcome) {
  switch (outcome.kind) {
    case "rendered":
      return { status: 200 as const, body: outcome.html, headers };
    case "unknown_mode":
      throw refuse(`unsupported render mode: ${outcome.mode}`);
    case "unsupported":
      throw refuse("unable to find a render");
    case "over_limit":
      throw refuse(outcome.message);
    default:
      return assertNever(outcome);
  }
}

/** 422 in plain text, as the reference answers what it cannot render. */
function refuse(message: string): AppError {
  return new AppError("unprocessable", message, { reason: "not_rendered" });
}
