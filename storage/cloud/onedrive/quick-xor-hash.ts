/** Microsoft's hash of a file's bytes: not a secure one, but the one that every OneDrive tells. */
export interface QuickXorHash {
  update(bytes: Uint8Array): void;
  /** In base64, as the wire has it. */
  digest(): string;
}

const HASH_BYTES = 20;
const HASH_BITS = HASH_BYTES * 8;
/** Each byte is placed so many bits behind the one before it, around a ring of 160 bits. */
const SHIFT_BITS = 11;

/** Starts a hash. Bytes whose distance is a multiple of 160 fall onto the same place, so that they are folded first. */
export function createQuickXorHash(): QuickXorHash {
  const folded = new Uint8Array(HASH_BITS);
  let length = 0;
  return {
    update(bytes) {
      let at = length % HASH_BITS;
      for (const byte of bytes) {
        folded[at] = (folded[at] ?? 0) ^ byte;
        at = at + 1 === HASH_BITS ? 0 : at + 1;
      }
      length += bytes.length;
    },
    digest() {
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
