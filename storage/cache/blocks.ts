import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";

/** First and last byte, both included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Blocks of files that were read lately, shared by all who read them: one read and one buffer for many. */
export interface Blocks {
  readonly maxBytes: number;
  /**
   * The part of a block from `position` on, at most up to `end`. The block must be whole in the file; `file` names its
   * content, which never changes.
   */
  read(file: string, handle: FileHandle, position: number, end: number): Promise<Uint8Array>;
  /** The bytes of `span`, block by block. The handle is closed by the caller, afterwards. */
  stream(file: string, handle: FileHandle, span: Span, size: number): Readable;
}

/** Large enough that the way through a stream costs little next to the copying. */
export const BLOCK_BYTES = 256 * 1024;

/** Keeps at most `maxBytes` of blocks, the least recently used go first. */
export function createBlocks(maxBytes: number): Blocks {
  const blocks = new Map<string, Promise<Uint8Array>>();
  const blocksMax = Math.max(1, Math.floor(maxBytes / BLOCK_BYTES));

  function getBlock(file: string, handle: FileHandle, index: number, length: number) {
    const key = `${file} ${index}`;
    const known = blocks.get(key);
    if (known !== undefined) {
      // A Map keeps the order of insertion: whatever is used is put at the end again.
      blocks.delete(key);
      blocks.set(key, known);
      return known;
    }
    const reading = readWhole(handle, index * BLOCK_BYTES, length);
    blocks.set(key, reading);
    reading.catch(() => {
      if (blocks.get(key) === reading) blocks.delete(key);
    });
    const [oldest] = blocks.keys();
    if (blocks.size > blocksMax && oldest !== undefined) blocks.delete(oldest);
    return reading;
  }

  async function read(
    file: string,
    handle: FileHandle,
    position: number,
    end: number,
    length = BLOCK_BYTES,
  ): Promise<Uint8Array> {
    const index = Math.floor(position / BLOCK_BYTES);
    const block = await getBlock(file, handle, index, length);
    const start = position - index * BLOCK_BYTES;
    return block.subarray(start, Math.min(block.byteLength, end + 1 - index * BLOCK_BYTES));
  }

  return {
    maxBytes,
    read: (file, handle, position, end) => read(file, handle, position, end),

    stream(file, handle, span, size) {
      let position = span.start;
      const stream = new Readable({
        highWaterMark: BLOCK_BYTES,
        read() {
          if (position > span.end) {
            stream.push(null);
            return;
          }
          const length = Math.min(
            BLOCK_BYTES,
            size - Math.floor(position / BLOCK_BYTES) * BLOCK_BYTES,
          );
          read(file, handle, position, span.end, length).then(
            (bytes) => {
              position += bytes.byteLength;
              stream.push(bytes);
            },
            (error: Error) => stream.destroy(error),
          );
        },
      });
      return stream;
    },
  };
}

/** So many bytes; a file that has fewer is an error. */
async function readWhole(
  handle: FileHandle,
  position: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length);
  for (let filled = 0; filled < length;) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) throw new Error("the file is shorter than it was");
    filled += bytesRead;
  }
  return bytes;
}
