import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";

const SMALL_BYTES = 1024 * 1024;

/** A link or a named pipe that took the place of a file is neither followed nor waited for. */
export const READ_FLAGS =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a small file at once, because it may be replaced at any moment, and the first byte of a large one. Returns undefined
 * when it cannot be read; for a large file a function that reads it.
 */
export async function readWhole(
  file: FileHandle,
  size: number,
): Promise<Buffer | ((onShorter: () => void) => AsyncGenerator<Buffer, void, void>) | undefined> {
  try {
    if (size <= SMALL_BYTES) return await file.readFile();
    await file.read(Buffer.alloc(1), 0, 1, 0);
    return (onShorter) => readExactly(file, size, onShorter);
  } catch (error) {
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}

export async function* inOne(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  yield bytes;
}

/** Yields exactly `size` bytes of a file, because its header has been written: zeros where it became shorter, as tar does. */
async function* readExactly(
  file: FileHandle,
  size: number,
  onShorter: () => void,
): AsyncGenerator<Buffer, void, void> {
  let read = 0;
  while (read < size) {
    const chunk = Buffer.alloc(Math.min(READ_BYTES, size - read));
    const bytesRead = await file.read(chunk, 0, chunk.byteLength, read).then(
      (part) => part.bytesRead,
      // A failing disk: the rest of the archive is still worth having, and the caller names this file.
      () => 0,
    );
    if (bytesRead === 0) {
      onShorter();
      for (let left = size - read; left > 0; left -= READ_BYTES)
        yield Buffer.alloc(Math.min(READ_BYTES, left));
      return;
    }
    read += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

const READ_BYTES = 256 * 1024;
