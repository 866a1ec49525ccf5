import { open } from "node:fs/promises";
import type { UnreadableReason } from "./outcome.ts";

/** Bytes of the header (MS-CFB, 2.2). */
const HEADER_BYTES = 512;
/** Bytes of the directory that are searched; each entry takes 128. */
const DIRECTORY_BYTES = 65_536;

/** Streams by which a program stores its kind of document. */
const streams: readonly (readonly [name: string, reason: UnreadableReason])[] = [
  // A Word, Excel or PowerPoint file of the present format with a password.
  ["EncryptedPackage", "encrypted"],
  ["WordDocument", "legacy_format"],
  ["Workbook", "legacy_format"],
  ["Book", "legacy_format"],
  ["PowerPoint Document", "legacy_format"],
];

/** Returns why croft reads no text from a compound file, the container of Office before 2007. */
export async function explainCompoundFile(path: string): Promise<UnreadableReason> {
  const file = await open(path, "r");
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if ((await file.read(header, 0, HEADER_BYTES, 0)).bytesRead < HEADER_BYTES) return "damaged";
    const sectorBytes = header.readUInt16LE(30) === 12 ? 4_096 : 512;
    const start = (header.readUInt32LE(48) + 1) * sectorBytes;
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(DIRECTORY_BYTES),
      0,
      DIRECTORY_BYTES,
      start,
    );
    const directory = buffer.subarray(0, bytesRead);
    const found = streams.find(([name]) => directory.includes(Buffer.from(`${name}\0`, "utf16le")));
    return found?.[1] ?? "unsupported_format";
  } finally {
    await file.close();
  }
}
