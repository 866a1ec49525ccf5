import { Readable } from "node:stream";
import type { BytesAnswer } from "../../http/handle.ts";
import { notFound } from "../refusals.ts";
import type { OpenedAvatar } from "./avatars.service.ts";

const DAY_SECONDS = 86_400;
const SIDE_PIXELS = 290;

const HEADERS = {
  "Cache-Control": `public, max-age=${DAY_SECONDS}`,
  // Browsers treat an image as a document if it is opened directly; it must not run or load anything.
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
} as const;

/** An uploaded picture. */
export function toUploadedAnswer({ avatar, open }: OpenedAvatar): BytesAnswer {
  const { size, contentType, sha256 } = avatar;
  return {
    status: 200,
    bytes: { size, contentType, etag: sha256, lastModified: undefined, open },
    headers: HEADERS,
  };
}

/**
 * Returns a picture that depends only on the hash in its address. Throws `not_found` unless the hash has 32 to 64 lower-case
 * hex digits.
 */
export async function toDrawnAnswer(hash: string): Promise<BytesAnswer> {
  if (!/^[0-9a-f]{32,64}$/.test(hash)) throw notFound();
  // Loaded by the first request: few daemons ever draw a picture.
  const { toSvg } = await import("jdenticon");
  const buffer = Buffer.from(toSvg(hash, SIDE_PIXELS, { backColor: "#ffffff" }));
  return {
    status: 200,
    bytes: {
      size: buffer.byteLength,
      contentType: "image/svg+xml",
      etag: `identicon-${hash}`,
      lastModified: undefined,
      buffer,
      open: async () => Readable.from([buffer]),
    },
    headers: HEADERS,
  };
}
