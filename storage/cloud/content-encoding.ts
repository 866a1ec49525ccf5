import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { StreamAborted } from "./outcomes.ts";
import type { ProviderAnswer } from "./transport.ts";

/** Returns the content encoding of a response that was not negotiated; undefined when the body is not encoded. */
export function encodingOf({ headers }: Pick<ProviderAnswer, "headers">): string | undefined {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  return encoding === "" || encoding === "identity" ? undefined : encoding;
}

/**
 * Decodes the body of a response. Like the transport's own stream it ends with `StreamAborted` when the connection closes early,
 * or with zlib's error when the body does not match its declared encoding.
 */
export function openPlain(answer: ProviderAnswer, length: number | undefined): Readable {
  const encoding = encodingOf(answer);
  const raw = answer.stream(length);
  if (encoding === undefined) return raw;
  const decoder = createDecoder(encoding);
  // The reader of the decoded stream gets the error.
  raw.on("error", (error) => decoder?.destroy(error));
  if (decoder === undefined)
    return raw.destroy(
      new StreamAborted({ kind: "offline", sent: true, note: "unknown_encoding" }),
    );
  decoder.on("close", () => raw.destroy());
  return raw.pipe(decoder);
}

function createDecoder(encoding: string) {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
