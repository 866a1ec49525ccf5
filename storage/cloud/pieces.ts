// Cuts a stream into pieces, for all uploads piece by piece. The sessions of Google Drive, OneDrive and Dropbox are in their adapters, because they differ in their addresses, in the report of received bytes, and in their end.
import type { Readable } from "node:stream";
import type { Offline } from "./transport.ts";

/** A part of an upload. */
export interface Piece {
  /** Offset of its first byte. */
  readonly start: number;
  readonly bytes: Buffer;
  /** Whether it is the last one, and the source had its declared length. */
  readonly isLast: boolean;
}

/** The length of the source differs from the declared one. */
export class WrongLength extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WrongLength";
  }
}

/**
 * Runs an upload of `content` and destroys the stream at its end. Returns `offline` when `signal` ended it; rethrows errors of
 * the source.
 */
export async function withContent<Outcome>(
  { content, signal }: { readonly content: Readable; readonly signal: AbortSignal },
  work: () => Promise<Outcome>,
): Promise<Outcome | Offline> {
  // Until the stream is read it needs a listener, because an error must not end the process.
  content.on("error", () => undefined);
  try {
    return await work();
  } catch (error) {
    if (signal.aborted && content.errored === null)
      return { kind: "offline", sent: true, note: "aborted" };
    throw error;
  } finally {
    content.destroy();
  }
}

/**
 * Cuts a stream into pieces of `pieceBytes`; only the last one is shorter, and it is empty for an empty stream only. Yields a
 * piece once it is known whether another follows, so that an upload is committed only after the length of the source is
 * verified. Reads the next piece while one is sent, so two are in memory. Rethrows the source's own error unchanged,
 * and throws `WrongLength` when `size` was wrong. A caller that stops early destroys the stream.
 */
export async function* inPieces(
  content: Readable,
  pieceBytes: number,
  size: number | undefined,
): AsyncGenerator<Piece, void, undefined> {
  const pieces = cut(content, pieceBytes, size);
  const readNext = () => {
    const next = pieces.next();
    // The consumer gets the failure with its piece; until then the promise needs a handler.
    next.catch(() => undefined);
    return next;
  };
  for (let next = readNext(); ;) {
    const { done, value } = await next;
    if (done === true) return;
    next = readNext();
    yield value;
  }
}

/** Returns the part of a piece from an offset of the upload on; undefined when the piece ends before it. */
export function pieceFrom(piece: Piece, offset: number): Piece | undefined {
  const { start, bytes, isLast } = piece;
  if (offset <= start) return piece;
  if (offset >= start + bytes.length) return undefined;
  return { start: offset, bytes: bytes.subarray(offset - start), isLast };
}

async function* cut(
  content: Readable,
  pieceBytes: number,
  size: number | undefined,
): AsyncGenerator<Piece, void, undefined> {
  let chunks: Buffer[] = [];
  let bufferedBytes = 0;
  let start = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    let rest = chunk;
    if (size !== undefined && start + bufferedBytes + rest.length > size)
      throw new WrongLength("longer than declared");
    while (rest.length > 0) {
      if (bufferedBytes === pieceBytes) {
        yield { start, bytes: Buffer.concat(chunks), isLast: false };
        start += bufferedBytes;
        chunks = [];
        bufferedBytes = 0;
      }
      const part = rest.subarray(0, pieceBytes - bufferedBytes);
      chunks.push(part);
      bufferedBytes += part.length;
      rest = rest.subarray(part.length);
    }
  }
  if (size !== undefined && start + bufferedBytes !== size)
    throw new WrongLength("shorter than declared");
  yield { start, bytes: Buffer.concat(chunks), isLast: true };
}
