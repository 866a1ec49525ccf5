import { Readable } from "node:stream";
import { getLogo } from "../../contract/forge/logos.ts";
import { renderMarkdown, renderMarkdownRaw, renderMarkup } from "../../contract/forge/rendering.ts";
import { AppError, assertNever } from "../../errors.ts";
import type { BytesAnswer, Route, ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { handle } from "../handle.ts";
import { notFound } from "../refusals.ts";
import { TEXT_BYTES_MAX } from "./document.ts";
import { findLogo } from "./html/logos.ts";
import type { Rendering, RenderOutcome } from "./rendering.service.ts";

export interface RenderingRoutesDeps {
  readonly rendering: Rendering;
  /** Returns the key of an address; an IPv6 network has one. */
  readonly addressKey: (address: string) => string;
}

/** Returns the routes of rendering (forge behaviour, 18.1), open to anonymous callers, and of its pictures. */
export function renderingRoutes({ rendering, addressKey }: RenderingRoutesDeps): Route[] {
  const toCallerKey = (caller: ForgeCaller | undefined, { address }: ServerRequest) =>
    caller === undefined ? `a:${addressKey(address)}` : `u:${caller.actor.id}`;
  return [
    handle(renderMarkdown, async ({ caller, body, request }) => {
      const callerKey = toCallerKey(caller, request);
      return toReply(
        await rendering.render({ ...toRequest(body), filePath: "", caller: callerKey }),
      );
    }),
    handle(renderMarkdownRaw, async ({ caller, body, request }) => {
      const text = toText(body, request.headers["content-type"]);
      const callerKey = toCallerKey(caller, request);
      return toReply(
        await rendering.render({ ...toRequest({ Text: text }), filePath: "", caller: callerKey }),
      );
    }),
    handle(renderMarkup, async ({ caller, body, request }) => {
      const filePath = body.FilePath ?? "";
      const callerKey = toCallerKey(caller, request);
      return toReply(await rendering.render({ ...toRequest(body), filePath, caller: callerKey }));
    }),
    handle(getLogo, async ({ params }) => toPicture(params.file)),
  ];
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
  // Second line of defence behind the sanitizer, for a browser that shows the answer as a page.
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

/** Returns the refusal of a text that cannot be rendered: 422 in plain text, as the reference's. */
function refuse(message: string): AppError {
  return new AppError("unprocessable", message, { reason: "not_rendered" });
}

/**
 * Returns the text of a raw body: empty for a form, whose fields name no text (forge behaviour, 18.1). Throws
 * `unprocessable` when the body is not UTF-8 or too large.
 */
function toText(body: Buffer, contentType: string | undefined): string {
  if (/form-urlencoded|multipart\/form-data/i.test(contentType ?? "")) return "";
  if (body.byteLength > TEXT_BYTES_MAX)
    throw new AppError("unprocessable", "the text is too large");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new AppError("unprocessable", "the text is not UTF-8", { cause });
  }
}

const DAY_SECONDS = 86_400;

function toPicture(file: string): BytesAnswer {
  const svg = findLogo(file);
  if (svg === undefined) throw notFound();
  const buffer = Buffer.from(svg);
  return {
    status: 200,
    bytes: {
      size: buffer.byteLength,
      contentType: "image/svg+xml",
      etag: `logo-${file}`,
      lastModified: undefined,
      buffer,
      open: async () => Readable.from([buffer]),
    },
    headers: {
      "Cache-Control": `public, max-age=${DAY_SECONDS}`,
      "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
  };
}
