import { Readable } from "node:stream";
import { getAvatar } from "../../contract/forge/accounts/avatars.ts";
import type { ByteSource, Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";

const DAY_SECONDS = 86_400;

/** The route of pictures. It looks nobody up, so it tells nobody which addresses have an account. */
export function avatarRoutes(): Route[] {
  return [
    handle(getAvatar, async ({ params }) => ({
      status: 200,
      bytes: await toPicture(params.hash),
      headers: {
        "Cache-Control": `public, max-age=${DAY_SECONDS}`,
        // An SVG that is opened by itself is a document: it may run nothing and load nothing.
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      },
    })),
  ];
}

async function toPicture(hash: string): Promise<ByteSource> {
  // What draws is loaded by the first who looks.
  const { getIdenticon } = await import("./identicon.ts");
  const buffer = getIdenticon(hash);
  return {
    size: buffer.byteLength,
    contentType: "image/svg+xml",
    etag: `identicon-${hash}`,
    lastModified: undefined,
    buffer,
    open: async () => Readable.from([buffer]),
  };
}
