import { fileTypeFromBuffer } from "file-type";

/** How browsers are sent a file that a user has written. */
export interface ShownType {
  /** One that browsers show without running anything in it. */
  readonly contentType: string;
  /** Whether browsers may show it; otherwise they save it. */
  readonly isShown: boolean;
}

/** Number of bytes at the start of a file from which its type is detected. */
export const SNIFFED_BYTES = 4_100;

/** Types that no browser runs. HTML and SVG are text here; anything unknown is saved. */
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

/** Detects the type of a file from its first bytes. */
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

/** Headers of such a file: it must not act on this origin, whatever type a browser takes it for. */
export const HARMLESS = {
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  "X-Content-Type-Options": "nosniff",
} as const;
