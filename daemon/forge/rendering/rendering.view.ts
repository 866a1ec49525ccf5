import { Readable } from "node:stream";
import { AppError, assertNever } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { orNotFound } from "../refusals.ts";
import { TEXT_BYTES_MAX } from "../../rendering/document.ts";
import { findLogo } from "../../rendering/html/logos.ts";
import type { RenderOutcome } from "../../rendering/rendering.service.ts";

const DAY_SECONDS = 86_400;

interface Members {
  readonly Text?: string | null | undefined;
  readonly Mode?: string | null | undefined;
  readonly Context?: string | null | undefined;
  readonly Wiki?: boolean | null | undefined;
}

/** Returns the input of a rendering from the members of a body. */
export function toRequest({ Text, Mode, Context, Wiki }: Members) {
  return { text: Text ?? "", mode: Mode ?? "", context: Context ?? "", isWiki: Wiki ?? false };
}

/** The headers of rendered text. */
export const renderedHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  // A second line of defence behind the sanitizer, for a browser that shows the response as a page.
  "Content-Security-Policy":
    "sandbox; default-src 'none'; img-src * data:; media-src *; style-src 'unsafe-inline'",
};

/** Returns the text of an outcome of rendering. */
export function toRendered(outcome: RenderOutcome): string {
  switch (outcome.kind) {
    case "rendered":
      return outcome.html;
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

/** Returns the refusal of a text that cannot be rendered: 422 in plain text, as in the reference. */
function refuse(message: string): AppError {
  return new AppError("unprocessable", message, { reason: "not_rendered" });
}

/**
 * Returns the text of a raw body; empty for a form. Throws `unprocessable` when the body is not
 * UTF-8 or too large.
 */
export function toText(body: Buffer, contentType: string | undefined): string {
  if (/form-urlencoded|multipart\/form-data/i.test(contentType ?? "")) return "";
  if (body.byteLength > TEXT_BYTES_MAX)
    throw new AppError("unprocessable", "the text is too large");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new AppError("unprocessable", "the text is not UTF-8", { cause });
  }
}

/** Returns a picture that rendered text refers to. */
export function toPicture(file: string): BytesAnswer {
  const buffer = Buffer.from(orNotFound(findLogo(file)));
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
