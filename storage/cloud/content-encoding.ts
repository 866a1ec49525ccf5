import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { BrokenOff } from "./outcomes.ts";
import type { ProviderAnswer } from "./transport.ts";

/** How a body is encoded although nobody asked for it; undefined when its bytes are as they are. */
export function encodingOf({ headers }: Pick<ProviderAnswer, "headers">): string | undefined {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  return encoding === "" || encoding === "identity" ? undefined : encoding;
}

/**
 * The plain bytes of an answer's body, whatever it was encoded with. As the transport's own stream it breaks off with
 * `BrokenOff`, or with zlib's error when the body is none of that encoding.
 */
export function openPlain(answer: ProviderAnswer, length: number | undefined): Readable {
  const encoding = encodingOf(answer);
  const raw = answer.stream(length);
  if (encoding === undefined) return raw;
  const decoder = createDecoder(encoding);
  // Whoever reads what comes out hears of the error; nobody reads this.
  raw.on("error", (error) => decoder?.destroy(error));
  if (decoder === undefined)
    return raw.destroy(new BrokenOff({ kind: "offline", sent: true, note: "unknown_encoding" }));
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
