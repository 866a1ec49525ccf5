import { fileTypeFromBuffer } from "file-type";

/** How a user's file is sent to browsers. */
export interface ShownType {
  /** A type without active content. */
  readonly contentType: string;
  /** Whether browsers may show it; otherwise they save it. */
  readonly isShown: boolean;
}

/** Types without active content. HTML and SVG are sent as text; unknown types are saved. */
const shownTypes = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
  "image/bmp",
  "image/x-icon",
  "application/pdf",
  "audio/mpeg",
  "audio/ogg",
  "audio/wav",
  "video/mp4",
  "video/webm",
]);

/** Detects the type of a file from its first `SNIFFED_BYTES`. */
export async function findShownType(head: Uint8Array): Promise<ShownType> {
  const found = await fileTypeFromBuffer(head);
  if (found !== undefined && shownTypes.has(found.mime))
    return { contentType: found.mime, isShown: true };
  const isText = found === undefined || /xml|text/.test(found.mime);
  return isText && !head.includes(0)
    ? { contentType: "text/plain; charset=utf-8", isShown: true }
    : { contentType: UNKNOWN_TYPE, isShown: false };
}

/** The type of a file that browsers save. */
export const UNKNOWN_TYPE = "application/octet-stream";

/** Headers of a user's file: it must not run scripts in this origin, even if a browser sniffs another type. */
export const HARMLESS = {
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  "X-Content-Type-Options": "nosniff",
} as const;
