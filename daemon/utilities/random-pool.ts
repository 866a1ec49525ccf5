/** Bytes drawn at one time: asking the system for a few at a time costs more than the bytes. */
const POOL_BYTES = 4096;

/** The same unpredictable bytes, drawn in larger amounts. For ids by the thousand; keys and tokens ask for their own. */
export function createRandomPool(
  randomBytes: (size: number) => Uint8Array,
): (size: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array(0);
  let used = 0;
  return (size) => {
    if (used + size > pool.byteLength) {
      pool = randomBytes(Math.max(POOL_BYTES, size));
      used = 0;
    }
    used += size;
    return pool.subarray(used - size, used);
  };
}
