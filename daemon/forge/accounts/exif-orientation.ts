const EXIF = Buffer.from("Exif\0\0", "latin1");
const ORIENTATION = 0x0112;
const SHORT = 3;
/** Size of a TIFF directory entry, and the maximum number of entries that are read. */
const ENTRY_BYTES = 12;
const ENTRIES_MAX = 512;

/**
 * Reads the orientation of a picture from an application segment of a JPEG file (Exif 2.3, 4.6.4: 2 to 8). Returns
 * undefined for 1, the stored orientation, and for a segment that is damaged or has no orientation.
 */
export function readOrientation(segment: Buffer): number | undefined {
  try {
    return findOrientation(segment);
  } catch (error) {
    // Offsets beyond the end of the segment.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function findOrientation(segment: Buffer): number | undefined {
  const body = segment.subarray(4);
  if (!body.subarray(0, EXIF.length).equals(EXIF)) return undefined;
  const tiff = body.subarray(EXIF.length);
  const order = tiff.toString("latin1", 0, 2);
  if (order !== "II" && order !== "MM") return undefined;
  const readShort = (at: number) =>
    order === "II" ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at);
  const directory = order === "II" ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  const count = Math.min(readShort(directory), ENTRIES_MAX);
  for (let entry = 0; entry < count; entry += 1) {
    const at = directory + 2 + entry * ENTRY_BYTES;
    if (readShort(at) !== ORIENTATION || readShort(at + 2) !== SHORT) continue;
    const value = readShort(at + 8);
    return value >= 2 && value <= 8 ? value : undefined;
  }
  return undefined;
}

/** Returns an application segment with only the orientation. */
export function toOrientationSegment(orientation: number): Buffer {
  const tiff = Buffer.alloc(26);
  tiff.write("MM", "latin1");
  tiff.writeUInt16BE(42, 2);
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(ORIENTATION, 10);
  tiff.writeUInt16BE(SHORT, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  const head = Buffer.from([0xff, 0xe1, 0, 2 + EXIF.length + tiff.length]);
  return Buffer.concat([head, EXIF, tiff]);
}
