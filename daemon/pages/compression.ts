import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { SentPage } from "./page-handler.ts";

/** A smaller text gains nothing. */
const BYTES_MIN = 1024;
/** Levels that take about a millisecond for a page; higher ones take ten times as long for a few percent. */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 6;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

const encodings = {
  br: (text: string) =>
    toBrotli(text, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: (text: string) => toGzip(text, { level: GZIP_LEVEL }),
} as const;
type Encoding = keyof typeof encodings;

/** Compressed bodies: those of assets are requested again. */
const known = new WeakMap<SentPage, Map<Encoding, Promise<Buffer>>>();

/**
 * Compresses the text of a page as the client accepts it, on a thread of Node's pool. Returns undefined when it is sent as
 * it is. Texts with the token of a form may be compressed: no other site can send a request with the session
 * (`SameSite=Strict`), so none can guess the token by the size of a page with its own text (BREACH).
 */
export async function compressBody(
  page: SentPage,
  headers: IncomingHttpHeaders,
): Promise<
  { readonly headers: Readonly<Record<string, string>>; readonly bytes: Buffer } | undefined
> {
  const { body } = page;
  if (typeof body !== "string" || body.length < BYTES_MIN) return undefined;
  const encoding = chooseEncoding(headers["accept-encoding"]);
  if (encoding === undefined) return undefined;
  const ofPage = known.get(page) ?? new Map<Encoding, Promise<Buffer>>();
  known.set(page, ofPage);
  const bytes = ofPage.get(encoding) ?? encodings[encoding](body);
  ofPage.set(encoding, bytes);
  const vary = [page.headers["Vary"], "Accept-Encoding"].filter(Boolean).join(", ");
  return { headers: { "Content-Encoding": encoding, Vary: vary }, bytes: await bytes };
}

/** Returns the encoding that a client accepts, brotli if both; undefined for none. */
export function chooseEncoding(accepted: string | string[] = ""): Encoding | undefined {
  const names = new Set(
    String(accepted)
      .toLowerCase()
      .split(",")
      .map((part) => part.replaceAll(/\s/g, ""))
      .filter((part) => !/;q=0(?:\.0*)?$/.test(part))
      .map((part) => part.split(";", 1).join()),
  );
  return (["br", "gzip"] as const).find((name) => names.has(name));
}
