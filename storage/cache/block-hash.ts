import { hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";

/**
 * What cached bytes are checked by: the SHA-256 of the SHA-256 of every MiB. The blocks are hashed beside the main thread and
 * side by side, which a hash over the whole could not be.
 */
const BLOCK_BYTES = 1024 * 1024;
/** Blocks that are being hashed at one time. */
const BLOCKS_AT_ONCE = 4;

/** The hash of an open file, in hex. */
export async function hashFile(handle: FileHandle): Promise<string> {
  const blocks: Promise<ArrayBuffer>[] = [];
  // Handed over by copy, so one buffer does for all blocks.
  const block = new Uint8Array(BLOCK_BYTES);
  for (let position = 0; ;) {
    const filled = await fillBlock(handle, block, position);
    if (filled > 0 || position === 0)
      blocks.push(crypto.subtle.digest("SHA-256", block.subarray(0, filled)));
    if (filled < BLOCK_BYTES) break;
    position += filled;
    await blocks.at(-BLOCKS_AT_ONCE);
  }
  const digests = await Promise.all(blocks);
  return hash("sha256", Buffer.concat(digests.map((one) => Buffer.from(one))));
}

async function fillBlock(handle: FileHandle, block: Uint8Array, position: number): Promise<number> {
  let filled = 0;
  while (filled < block.byteLength) {
    const left = block.byteLength - filled;
    const { bytesRead } = await handle.read(block, filled, left, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/** The hash of bytes in memory, in hex; they are of one block at most. */
export function hashSmall(bytes: Uint8Array): string {
  if (bytes.byteLength > BLOCK_BYTES) throw new Error("more than one block");
  return hash("sha256", hash("sha256", bytes, "buffer"));
}
