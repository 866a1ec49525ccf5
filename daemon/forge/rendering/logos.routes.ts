import { Readable } from "node:stream";
import { getLogo } from "../../contract/forge/logos.ts";
import type { BytesAnswer, Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { notFound } from "../refusals.ts";
import { findLogo } from "./html/logos.ts";

const DAY_SECONDS = 86_400;

/** The route of the pictures that rendered text refers to. */
export function logoRoutes(): Route[] {
  return [handle(getLogo, async ({ params }) => toPicture(params.file))];
}

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
