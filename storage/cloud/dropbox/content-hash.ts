import { createHash, hash, type Hash } from "node:crypto";

const BLOCK_BYTES = 4 * 1024 * 1024;

/** Starts a hash: SHA-256 over the SHA-256 of each block of 4 MiB. Dropbox's hash of a file's bytes. */
export function createContentHash() {
  const whole = createHash("sha256");
  let block: Hash | undefined;
  let filled = 0;
  const endBlock = () => {
    if (block !== undefined) whole.update(block.digest());
    block = undefined;
    filled = 0;
  };
  return {
    update(bytes: Uint8Array): void {
      for (let at = 0; at < bytes.length;) {
        const part = bytes.subarray(at, at + BLOCK_BYTES - filled);
        block ??= createHash("sha256");
        block.update(part);
        filled += part.length;
        at += part.length;
        if (filled === BLOCK_BYTES) endBlock();
      }
    },
    /** In lower-case hex, as in the API. */
    digest(): string {
      endBlock();
      return whole.digest("hex");
    },
  };
}

/** Returns the hash of bytes in memory. */
export function hashContent(bytes: Uint8Array): string {
  if (bytes.length > 0 && bytes.length <= BLOCK_BYTES)
    return hash("sha256", hash("sha256", bytes, "buffer"), "hex");
  const content = createContentHash();
  content.update(bytes);
  return content.digest();
}
