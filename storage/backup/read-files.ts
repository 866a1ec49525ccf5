import type { Hash } from "node:crypto";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { ArchiveWriter } from "./archive-writer.ts";

const SMALL_BYTES = 1024 * 1024;

/** A link or a named pipe that took the place of a file is neither followed nor waited for. */
export const READ_FLAGS =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a small file at once, because it may be replaced at any moment, and only the first byte of a large one. Returns
 * `large` when `appendFile` is to read the file.
 */
export async function readWhole(
  file: FileHandle,
  size: number,
): Promise<Buffer | "large" | "unreadable"> {
  try {
    if (size <= SMALL_BYTES) return await file.readFile();
    await file.read(Buffer.alloc(1), 0, 1, 0);
    return "large";
  } catch (error) {
    if (error instanceof Error && "code" in error) return "unreadable";
    throw error;
  }
}

/**
 * Appends exactly `size` bytes of a file, because its header has been written: zeros where it became shorter, as tar does.
 * Adds them to `hash`.
 */
export async function appendFile(
  archive: ArchiveWriter,
  file: FileHandle,
  size: number,
  hash: Hash,
  onShorter: () => void,
): Promise<void> {
  let isShorter = false;
  for (let done = 0; done < size;)
    await archive.appendFrom(async (space) => {
      const wanted = space.subarray(0, size - done);
      let count = isShorter ? 0 : await readAt(file, wanted, done);
      if (count === 0) {
        if (!isShorter) onShorter();
        isShorter = true;
        count = wanted.fill(0).byteLength;
      }
      hash.update(wanted.subarray(0, count));
      done += count;
      return count;
    });
}

/** Returns 0 at the end of the file and for a failing disk: the rest of the archive is still worth having. */
async function readAt(file: FileHandle, into: Buffer, position: number): Promise<number> {
  return file.read(into, 0, into.byteLength, position).then(
    ({ bytesRead }) => bytesRead,
    () => 0,
  );
}
