import type { Readable } from "node:stream";
import type { CachedBytes } from "./cache-hits.ts";
import { isFetched, type CacheOutcome, type CacheRequest } from "./cache-request.ts";
import type { Fetched } from "./fill.ts";

/** Bytes that are not kept. A part of them is fetched anew, as a part. */
export function passThrough<Meta, Failure extends { readonly kind: string }>(
  request: CacheRequest<Meta, Failure>,
  fetched: Fetched<Meta>,
  controller: AbortController,
): CacheOutcome<Meta, Failure> {
  const { size, meta, stream } = fetched;
  let current: Readable = stream;
  const bytes: CachedBytes = {
    size,
    buffer: undefined,
    async open(span) {
      const isWhole = span === undefined || (span.start === 0 && span.end + 1 === size);
      if (isWhole && current === stream) return stream;
      current.destroy();
      const from = { start: span?.start ?? 0, end: span?.end, meta };
      const part = await request.fetch(from, controller.signal);
      if (!isFetched<Meta, Failure>(part)) throw new PartFailed(part);
      current = part.stream;
      return current;
    },
    release: () => {
      current.destroy();
      controller.abort();
    },
  };
  return { kind: "ok", bytes, meta };
}

/** A part of bytes that are not kept could not be fetched; `failure` is what `fetch` returned. */
export class PartFailed extends Error {
  readonly failure: { readonly kind: string };

  constructor(failure: { readonly kind: string }) {
    super(`a part could not be fetched: ${failure.kind}`);
    this.name = "PartFailed";
    this.failure = failure;
  }
}
