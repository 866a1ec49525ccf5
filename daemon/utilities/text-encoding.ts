import { guessEncoding } from "./guess-encoding.ts";

type Utf16 = "utf-16le" | "utf-16be";
type Utf32 = "utf-32le" | "utf-32be";

/** Number of first bytes in which a page names its encoding; the HTML standard requires 1,024. */
const DECLARATION_BYTES = 4_096;
/** Number of first bytes by which UTF-16 without a byte order mark is detected. */
const SAMPLE_BYTES = 4_096;
/** Share of the characters that are below U+0100 in such a text. */
const LATIN_SHARE_MIN = 0.7;

/**
 * Decodes text: UTF-8 where it is valid, UTF-16 and UTF-32 by their byte order marks or zeros, else the encoding that the text
 * declares, else the one that its bytes suggest. `declared` is a label of the Encoding standard, such as Shift_JIS; unknown
 * ones are ignored.
 */
export function decodeText(bytes: Uint8Array, declared?: string): string {
  const widest = detectUtf32(bytes);
  if (widest !== undefined) return decodeUtf32(bytes, widest);
  const wide = detectUtf16(bytes);
  if (wide !== undefined) return new TextDecoder(wide).decode(bytes);
  const decoder = declared === undefined ? undefined : createDecoder(declared);
  // The only one of these encodings whose bytes are valid UTF-8.
  if (decoder?.encoding === "iso-2022-jp") return decoder.decode(bytes);
  if (declared === undefined && hasIso2022(bytes))
    return new TextDecoder("iso-2022-jp").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return (decoder ?? new TextDecoder(guessEncoding(bytes))).decode(bytes);
  }
}

/** Whether text switches to a Japanese character set as ISO-2022-JP does (RFC 1468). */
function hasIso2022(bytes: Uint8Array): boolean {
  const sample = Buffer.from(bytes.subarray(0, SAMPLE_BYTES)).toString("latin1");
  return sample.includes("\u001b$B") || sample.includes("\u001b$@");
}

/** Returns the encoding that an HTML page or XML document names at its beginning. */
export function findDeclaredEncoding(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, DECLARATION_BYTES));
  const found =
    /^\s*<\?xml[^>]{1,200}?encoding\s*=\s*["']([\w.:-]+)/i.exec(head) ??
    /<meta\s[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head);
  return found?.[1]?.toLowerCase();
}

/** Decodes a file that is shown as text: undefined for one with a NUL outside UTF-16 and UTF-32. */
export function decodeIfText(bytes: Uint8Array): string | undefined {
  const isWide = detectUtf32(bytes) !== undefined || detectUtf16(bytes) !== undefined;
  return isWide || !bytes.includes(0) ? decodeText(bytes) : undefined;
}

/** Whether bytes look like text: no NUL outside UTF-16 and UTF-32, few control characters. */
export function looksLikeText(bytes: Uint8Array): boolean {
  if (detectUtf32(bytes) !== undefined || detectUtf16(bytes) !== undefined) return true;
  const head = bytes.subarray(0, 8_192);
  let controls = 0;
  for (const byte of head) {
    if (byte === 0) return false;
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27)
      controls += 1;
  }
  return controls * 50 <= head.length;
}

/** Whether bytes begin with a byte order mark of UTF-16 or UTF-32. */
export function hasWideMark(bytes: Uint8Array): boolean {
  return /^(?:fffe|feff|0000feff)/.test(Buffer.from(bytes.subarray(0, 4)).toString("hex"));
}

/**
 * Detects UTF-32 by its byte order mark, or by a sample in which all units are characters and no control characters.
 */
function detectUtf32(bytes: Uint8Array): Utf32 | undefined {
  if (bytes.length < 4) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0) === 0xfffe_0000) return "utf-32le";
  if (view.getUint32(0) === 0x0000_feff) return "utf-32be";
  if (bytes.length % 4 !== 0) return undefined;
  const end = Math.min(bytes.length, SAMPLE_BYTES);
  const isText = (isLittle: boolean) => {
    for (let at = 0; at < end; at += 4) if (!isText32(view.getUint32(at, isLittle))) return false;
    return true;
  };
  if (isText(true)) return "utf-32le";
  return isText(false) ? "utf-32be" : undefined;
}

function isText32(unit: number): boolean {
  if (unit < 0x20) return unit === 9 || unit === 10 || unit === 12 || unit === 13;
  return isScalar(unit) && (unit < 0x7f || unit > 0x9f);
}

function isScalar(unit: number): boolean {
  return unit < 0xd800 || (unit > 0xdfff && unit <= 0x10_ffff);
}

function decodeUtf32(bytes: Uint8Array, encoding: Utf32): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isLittle = encoding === "utf-32le";
  const parts: string[] = [];
  // Pieces, because the number of arguments of a call is limited.
  for (let from = 0; from < bytes.length; from += SAMPLE_BYTES) {
    const units: number[] = [];
    for (let at = from; at + 4 <= Math.min(bytes.length, from + SAMPLE_BYTES); at += 4) {
      const unit = view.getUint32(at, isLittle);
      units.push(isScalar(unit) ? unit : 0xfffd);
    }
    parts.push(String.fromCodePoint(...units));
  }
  return parts.join("").replace(/^\ufeff/, "");
}

/** Blocks of 256 characters that a text of one alphabet uses: Latin with its spaces, its own and punctuation. */
const BLOCKS_MAX = 3;
/** Bytes from which the alphabet of a text is told. */
const ALPHABET_BYTES_MIN = 24;

/** Whether the upper bytes of a sample of UTF-16, which begin at `from`, name few blocks of characters. */
function isOfOneScript(sample: Uint8Array, from: 0 | 1): boolean {
  const upper = new Set(sample.filter((_, index) => index % 2 === from));
  return sample.length >= ALPHABET_BYTES_MIN && upper.size <= BLOCKS_MAX;
}

/** Detects UTF-16 by its byte order mark, or by the zeros beside its characters or spaces and no control characters. */
function detectUtf16(bytes: Uint8Array): Utf16 | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes.length < 4 || bytes.length % 2 === 1) return undefined;
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const zeros: [even: number, odd: number] = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2 === 0 ? 0 : 1] += 1;
  const [even, odd] = zeros;
  if ((even > 0 && odd > 0) || even + odd === 0) return undefined;
  const encoding = odd > 0 ? "utf-16le" : "utf-16be";
  const isLatin = even + odd >= (sample.length / 2) * LATIN_SHARE_MIN;
  if (!isLatin && !isOfOneScript(sample, odd > 0 ? 1 : 0)) return undefined;
  // oxlint-disable-next-line no-control-regex -- control characters tell a table of small numbers from text
  return /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/.test(new TextDecoder(encoding).decode(sample))
    ? undefined
    : encoding;
}

function createDecoder(label: string): TextDecoder | undefined {
  try {
    const decoder = new TextDecoder(label);
    // A page whose declaration can be read as ASCII is not in UTF-16.
    return decoder.encoding.startsWith("utf-") ? undefined : decoder;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
