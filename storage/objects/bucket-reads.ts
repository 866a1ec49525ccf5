import { Readable } from "node:stream";
import { encodingOf } from "../cloud/content-encoding.ts";
import { toExactBytes } from "../cloud/exact-bytes.ts";
import { StreamAborted } from "../cloud/outcomes.ts";
import type { ProviderAnswer } from "../cloud/transport.ts";
import { isRefused } from "../s3/failures.ts";
import { persist, toStorageError, type Bucket } from "./bucket.ts";

/** The first and the last byte of a range, both inclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Maximum number of times that an aborted read is resumed. */
const RESUMES_MAX = 3;

/**
 * Reads exactly these bytes of a key; undefined when it is missing or the object has another size. Retries failures before
 * the first byte. A stream that is aborted ends with `StreamAborted`. Throws `StorageError` `busy`.
 */
export async function openSpan(
  bucket: Bucket,
  { key, size }: { readonly key: string; readonly size: number },
  { start, end }: Span,
): Promise<{ readonly stream: Readable; readonly etag: string } | undefined> {
  const { client, signal } = bucket;
  const range = start === 0 && end === size - 1 ? undefined : { start, end };
  // A proxy may ignore ranges: then the range is cut from the whole.
  for (const headers of [range === undefined ? {} : { range: `bytes=${start}-${end}` }, {}]) {
    const sent = await persist(bucket, () => client.send({ method: "GET", key, headers, signal }));
    if (isRefused(sent)) {
      if (sent.failure.kind === "not_found" || sent.status === 416) return undefined;
      throw toStorageError("to read an object", sent.failure, sent);
    }
    const { answer } = sent;
    if ((wholeSizeOf(answer) ?? size) !== size) {
      answer.discard();
      return undefined;
    }
    const bytes = toExactBytes(answer, range, size);
    if (bytes.kind === "ok") return { stream: bytes.stream, etag: answer.headers["etag"] ?? "" };
    if (bytes.kind === "range_not_satisfiable") return undefined;
  }
  throw toStorageError("to read an object", {
    kind: "offline",
    sent: true,
    note: "unusable_ranges",
  });
}

/** Streams the same bytes, and resumes up to `resumesMax` times when the stream is aborted. */
export function resumable(
  first: Readable,
  span: Span,
  reopen: (start: number) => Promise<Readable | undefined>,
  resumesMax = RESUMES_MAX,
): Readable {
  let current = first;
  let isClosed = false;
  const take = (stream: Readable) => {
    // The generator reports an error once it reads; until then the stream needs a listener.
    current = stream.on("error", () => undefined);
    if (isClosed) stream.destroy();
  };
  async function* bytes() {
    let at = span.start;
    for (let resumes = 0; ; resumes++) {
      try {
        for await (const chunk of current as AsyncIterable<Buffer>) {
          at += chunk.length;
          yield chunk;
        }
        return;
      } catch (error) {
        if (!(error instanceof StreamAborted) || resumes === resumesMax || at > span.end)
          throw error;
        const rest = await reopen(at);
        if (rest === undefined) throw error;
        take(rest);
      }
    }
  }
  take(first);
  const stream = Readable.from(bytes(), { objectMode: false });
  // A generator that waits for its source notices no other event.
  stream.on("close", () => {
    isClosed = true;
    current.destroy();
  });
  return stream;
}

/** Returns the size of the whole object if the response states it: a compressed response has another one. */
function wholeSizeOf(answer: ProviderAnswer): number | undefined {
  if (encodingOf(answer) !== undefined) return undefined;
  const { status, headers } = answer;
  const text = status === 206 ? headers["content-range"] : headers["content-length"];
  const digits = /(?:^|\/)(\d{1,15})$/.exec(text ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}
