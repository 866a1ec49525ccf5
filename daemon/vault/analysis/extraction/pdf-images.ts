import { PIXELS_MAX } from "./ocr.ts";

/** Bytes before and behind the width of a picture that its dictionary may have. */
const DICTIONARY_BYTES_MAX = 1_024;

/**
 * Returns whether a PDF file has a picture of more than `PIXELS_MAX` pixels, which pdf.js leaves out of its page without a word.
 * Pictures are streams, whose dictionaries are never compressed (ISO 32000-1, 7.5.7).
 */
export function hasHugePicture(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = file.indexOf("/Width"); at !== -1; at = file.indexOf("/Width", at + 1)) {
    const before = file.toString("latin1", Math.max(0, at - DICTIONARY_BYTES_MAX), at);
    const after = file.toString("latin1", at, at + DICTIONARY_BYTES_MAX);
    const dictionary =
      before.slice(before.lastIndexOf(" obj") + 1) + (after.split("stream", 1)[0] ?? "");
    const width = readNumber(dictionary, /\/Width\s{1,8}(\d{1,10})/);
    const height = readNumber(dictionary, /\/Height\s{1,8}(\d{1,10})/);
    if (width * height > PIXELS_MAX) return true;
  }
  return false;
}

function readNumber(dictionary: string, pattern: RegExp): number {
  return Number(pattern.exec(dictionary)?.[1] ?? 0);
}
