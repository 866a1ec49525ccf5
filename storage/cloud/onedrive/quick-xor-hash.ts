const HASH_BYTES = 20;
const HASH_BITS = HASH_BYTES * 8;
/** Each byte is shifted by this many bits from the one before it, around a ring of 160 bits. */
const SHIFT_BITS = 11;

/**
 * Starts a hash. Bytes whose distance is a multiple of 160 map to the same position, so they are folded first: four at
 * a time, because files are large. QuickXorHash, Microsoft's hash of a file's bytes: not cryptographic, but the only
 * one that every OneDrive reports.
 */
export function createQuickXorHash() {
  const words = new Uint32Array(HASH_BITS / 4);
  const folded = new Uint8Array(words.buffer);
  let length = 0;

  function foldBytes(bytes: Uint8Array): void {
    let at = length % HASH_BITS;
    for (let index = 0; index < bytes.length; index++) {
      folded[at] = (folded[at] ?? 0) ^ (bytes[index] ?? 0);
      at = at + 1 === HASH_BITS ? 0 : at + 1;
    }
    length += bytes.length;
  }

  /** Whole rounds of the ring, aligned to its start. */
  function foldRounds(bytes: Uint8Array): void {
    const aligned = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
    const all = new Uint32Array(aligned.buffer, aligned.byteOffset, bytes.length / 4);
    for (let index = 0; index < all.length; index += words.length)
      for (let at = 0; at < words.length; at++)
        words[at] = (words[at] ?? 0) ^ (all[index + at] ?? 0);
    length += bytes.length;
  }

  return {
    update(bytes: Uint8Array): void {
      const head = Math.min(bytes.length, (HASH_BITS - (length % HASH_BITS)) % HASH_BITS);
      const rounds = Math.floor((bytes.length - head) / HASH_BITS) * HASH_BITS;
      foldBytes(bytes.subarray(0, head));
      foldRounds(bytes.subarray(head, head + rounds));
      foldBytes(bytes.subarray(head + rounds));
    },
    /** In base64, as in the API. */
    digest(): string {
      const hash = Buffer.alloc(HASH_BYTES);
      const xor = (at: number, byte: number) => {
        hash[at % HASH_BYTES] = (hash[at % HASH_BYTES] ?? 0) ^ byte;
      };
      folded.forEach((byte, index) => {
        const bit = (index * SHIFT_BITS) % HASH_BITS;
        const shifted = byte << (bit % 8);
        xor(bit >> 3, shifted & 0xff);
        xor((bit >> 3) + 1, shifted >> 8);
      });
      const tail = Buffer.alloc(8);
      tail.writeBigUInt64LE(BigInt(length));
      tail.forEach((byte, index) => xor(HASH_BYTES - 8 + index, byte));
      return hash.toString("base64");
    },
  };
}
