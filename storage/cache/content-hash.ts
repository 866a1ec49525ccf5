import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";

/** Large enough that the calls cost little, small enough (2 ms) that other requests do not wait. */
const CHUNK_BYTES = 1024 * 1024;

/** Returns the SHA-256 of an open file, in hex. */
export async function hashFile(handle: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let position = 0; ;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, position);
    if (bytesRead === 0) return hash.digest("hex");
    position += bytesRead;
    hash.update(chunk.subarray(0, bytesRead));
  }
}
