// The Bloom filters of changed paths that git keeps in a commit-graph (gitformat-commit-graph(5), chunks BIDX and BDAT).

/** The two hashes of a path, from which a filter derives all others. */
interface PathHash {
  readonly first: number;
  readonly second: number;
}

/**
 * The hashes of a path. Version 1 of the filters sign-extends bytes above 127 if the C compiler's `char` is signed,
 * so a non-ASCII path has two candidates.
 */
export type PathHashes = readonly PathHash[];

const FIRST_SEED = 0x293ae76f;
const SECOND_SEED = 0x7e646e2c;

/** Hashes a path, with slashes and without one at its end. */
export function hashPath(path: string): PathHashes {
  const bytes = Buffer.from(path);
  const hash = (isSigned: boolean) => ({
    first: murmur3(FIRST_SEED, bytes, isSigned),
    second: murmur3(SECOND_SEED, bytes, isSigned),
  });
  return bytes.some((byte) => byte > 127) ? [hash(false), hash(true)] : [hash(false)];
}

/** A filter: the bytes from `start` to `end`. A view of them would cost more than the lookup. */
export interface PathFilter {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly hashCount: number;
}

/** Returns false only if the path is certainly not in the filter. An empty filter excludes nothing. */
export function mayContain(filter: PathFilter, hashes: PathHashes): boolean {
  if (filter.end === filter.start) return true;
  for (const hash of hashes) if (hasBits(filter, hash)) return true;
  return false;
}

function hasBits({ bytes, start, end, hashCount }: PathFilter, { first, second }: PathHash) {
  const bits = (end - start) * 8;
  for (let index = 0; index < hashCount; index += 1) {
    const bit = ((first + Math.imul(index, second)) >>> 0) % bits;
    if (((bytes[start + (bit >>> 3)] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** MurmurHash3 with 32 bits. */
function murmur3(seed: number, bytes: Uint8Array, isSigned: boolean): number {
  const at = (index: number) => {
    const byte = bytes[index] ?? 0;
    return isSigned ? (byte << 24) >> 24 : byte;
  };
  const scramble = (word: number) => {
    const product = Math.imul(word, 0xcc9e2d51);
    return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
  };
  const whole = bytes.byteLength & ~3;
  let hash = seed;
  for (let index = 0; index < whole; index += 4) {
    const word = at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24);
    hash ^= scramble(word);
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let index = bytes.byteLength - 1; index >= whole; index -= 1)
    tail ^= at(index) << (8 * (index - whole));
  if (whole < bytes.byteLength) hash ^= scramble(tail);
  hash ^= bytes.byteLength;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
