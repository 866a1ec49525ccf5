import type { Readable } from "node:stream";

/** A part of an upload. */
export interface Piece {
  /** Where its first byte belongs. */
  readonly start: number;
  readonly bytes: Buffer;
  /** The source has ended behind it, and its length was the declared one. */
  readonly isLast: boolean;
}

/** A source that gave other than what it declared. */
export class WrongLength extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WrongLength";
  }
}

/**
 * Cuts a stream into pieces of `pieceBytes`; only the last one is shorter, and it is empty for an empty stream only. A
 * piece is given when it is known whether another follows: what commits an upload goes out after the source has kept
 * its word. The next piece is read while one is sent, so that two are held. Throws the source's own error as it came,
 * and `WrongLength` when `size` was wrong. Whoever stops early destroys the stream.
 */
export async function* inPieces(
  content: Readable,
  pieceBytes: number,
  size: number | undefined,
): AsyncGenerator<Piece, void, undefined> {
  const pieces = cut(content, pieceBytes, size);
  const readNext = () => {
    const next = pieces.next();
    // A failure is told when its turn comes; until then nobody waits for it.
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

async function* cut(
  content: Readable,
  pieceBytes: number,
  size: number | undefined,
): AsyncGenerator<Piece, void, undefined> {
  let chunks: Buffer[] = [];
  let held = 0;
  let start = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    let rest = chunk;
    if (size !== undefined && start + held + rest.length > size)
      throw new WrongLength("longer than declared");
    while (rest.length > 0) {
      if (held === pieceBytes) {
        yield { start, bytes: Buffer.concat(chunks), isLast: false };
        start += held;
        chunks = [];
        held = 0;
      }
      const part = rest.subarray(0, pieceBytes - held);
      chunks.push(part);
      held += part.length;
      rest = rest.subarray(part.length);
    }
  }
  if (size !== undefined && start + held !== size) throw new WrongLength("shorter than declared");
  yield { start, bytes: Buffer.concat(chunks), isLast: true };
}
