import { AppError } from "../../errors.ts";
import { statusOfCode } from "../../http/replies.ts";
import type { StandalonePage } from "../../pages/standalone-page.tsx";
import { toContentDisposition } from "../cloud/bytes/content-disposition.ts";
import { isPreviewable, toEssence } from "../cloud/bytes/previewable.ts";
import type { AnswerHeaders, BytesAnswer } from "../../http/handle.ts";
import type { SentFile } from "./link-contents.ts";
import { createMessagePage } from "./link-pages.tsx";

/** Search engines and caches keep nothing of a link, and its address is in no referrer. */
const PRIVATE = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Robots-Tag": "noindex, nofollow",
} as const;

/** A page as the response. */
export const toPageReply = <const S extends number>(
  status: S,
  { html, headers }: StandalonePage,
): { readonly status: S; readonly body: string; readonly headers: AnswerHeaders } => ({
  status,
  body: html,
  headers: { ...headers, ...PRIVATE },
});

/** A refusal while a link is used, in the words of a page. */
export async function toRefusalReply(error: unknown) {
  if (!(error instanceof AppError)) throw error;
  const status = statusOfCode[error.code];
  switch (status) {
    case 429:
      return toPageReply(429, await createMessagePage("Too many requests", error.message));
    case 404:
      return toPageReply(404, await createMessagePage("Not found", "The file is gone."));
    default:
      return toPageReply(
        503,
        await createMessagePage(
          "Not available at the moment",
          "The file cannot be read at the moment. Try again later.",
        ),
      );
  }
}

/** The bytes of a link. In its place only a type that cannot run script is shown. */
export function toFileReply(file: SentFile, disposition: "inline" | "attachment"): BytesAnswer {
  const { filename, contentType, ...bytes } = file;
  const type = toEssence(contentType);
  const isInline = disposition === "inline" && isPreviewable(type);
  const shownType = type.startsWith("text/") ? `${type}; charset=utf-8` : type;
  return {
    status: 200,
    headers: {
      ...PRIVATE,
      "Content-Disposition": isInline ? "inline" : toContentDisposition(filename),
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "sandbox; default-src 'none'",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
    bytes: { ...bytes, contentType: isInline ? shownType : contentType },
  };
}
