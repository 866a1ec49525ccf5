/**
 * Makes ids: UUID v7 in lower case, so ids of later milliseconds sort after earlier ones.
 * `clock` gives epoch milliseconds, `randomBytes` unpredictable bytes.
 */
export function createUuid7(
  clock: () => number,
  randomBytes: (length: number) => Uint8Array,
): () => string {
  return () => {
    const bytes = Buffer.alloc(16);
    bytes.set(randomBytes(10), 6);
    bytes.writeUIntBE(clock(), 0, 6);
    bytes[6] = 0x70 | (bytes.readUInt8(6) & 0x0f);
    bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f);
    const hex = bytes.toString("hex");
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20),
    ].join("-");
  };
}
