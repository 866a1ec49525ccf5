import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";

/** First and last byte, both included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Large enough that the way through a stream costs little next to the copying. */
const CHUNK_BYTES = 512 * 1024;

/** The bytes of `span` of an open file, which the caller closes afterwards. Ends early never: a short file is an error. */
export function readSpan(handle: FileHandle, span: Span): Readable {
  let position = span.start;
  const stream = new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      const left = span.end + 1 - position;
      if (left <= 0) {
        stream.push(null);
        return;
      }
      const chunk = Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES));
      handle.read(chunk, 0, chunk.length, position).then(
        ({ bytesRead }) => {
          position += bytesRead;
          if (bytesRead === 0) stream.destroy(new Error("the file is shorter than it was"));
          else stream.push(bytesRead === chunk.length ? chunk : chunk.subarray(0, bytesRead));
        },
        (error: Error) => stream.destroy(error),
      );
    },
  });
  return stream;
}
