import { AppError } from "../../errors.ts";
import { readOrientation, toOrientationSegment } from "./exif-orientation.ts";

/** An image that may be served, without metadata such as the place where it was taken; a JPEG keeps its orientation. */
export interface Picture {
  readonly contentType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  readonly bytes: Uint8Array;
}

/** Largest picture that may be uploaded, and its largest width and height (Gitea's defaults). */
export const PICTURE_BYTES_MAX = 1024 * 1024;
const SIDE_PIXELS_MAX = 4096;

/**
 * Reads an image as PNG, JPEG, GIF or WebP by its bytes. Drops metadata and any bytes after the end of the image.
 * Throws `unprocessable` for other files, damaged ones, and those that are too large.
 */
export function readPicture(bytes: Uint8Array): Picture {
  if (bytes.byteLength > PICTURE_BYTES_MAX)
    throw invalid(`the picture has more than ${PICTURE_BYTES_MAX} bytes`);
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = readers.find(({ starts }) => starts(input));
  if (read === undefined) throw invalid("the picture must be a PNG, JPEG, GIF or WebP image");
  const found = readOrUndefined(() => read.read(input));
  if (found === undefined) throw invalid("the picture is damaged");
  const { width, height } = found;
  if (width < 1 || height < 1 || width > SIDE_PIXELS_MAX || height > SIDE_PIXELS_MAX)
    throw invalid(
      `the picture has ${width} x ${height} pixels, at most ${SIDE_PIXELS_MAX} x ${SIDE_PIXELS_MAX} are allowed`,
    );
  return { contentType: read.contentType, bytes: Buffer.concat(found.parts) };
}

const invalid = (message: string) => new AppError("unprocessable", message);

interface ReadImage {
  readonly width: number;
  readonly height: number;
  /** The parts of the file that are kept, in order. */
  readonly parts: readonly Buffer[];
}

/** Reading beyond the end of a truncated file throws a RangeError. */
function readOrUndefined(read: () => ReadImage | undefined): ReadImage | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

interface Reader {
  readonly contentType: Picture["contentType"];
  starts(input: Buffer): boolean;
  /** Returns undefined for a damaged file, or throws a RangeError. */
  read(input: Buffer): ReadImage | undefined;
}

const PNG_START = Buffer.from("89504e470d0a1a0a", "hex");

const readers: readonly Reader[] = [
  {
    contentType: "image/png",
    starts: (input) => input.subarray(0, 8).equals(PNG_START),
    read: readPng,
  },
  {
    contentType: "image/jpeg",
    starts: (input) => input.length > 3 && input.readUIntBE(0, 3) === 0xffd8ff,
    read: readJpeg,
  },
  {
    contentType: "image/gif",
    starts: (input) => /^GIF8[79]a$/.test(input.toString("latin1", 0, 6)),
    read: (input) => ({
      width: input.readUInt16LE(6),
      height: input.readUInt16LE(8),
      parts: [input],
    }),
  },
  {
    contentType: "image/webp",
    starts: (input) =>
      input.toString("latin1", 0, 4) === "RIFF" && input.toString("latin1", 8, 12) === "WEBP",
    read: readWebp,
  },
];

/** Texts, times and EXIF (PNG, third edition, 11.3). */
const PNG_METADATA = new Set(["tEXt", "zTXt", "iTXt", "tIME", "eXIf"]);

function readPng(input: Buffer): ReadImage | undefined {
  const parts: Buffer[] = [PNG_START];
  for (let at = PNG_START.length; ;) {
    const length = input.readUInt32BE(at);
    const type = input.toString("latin1", at + 4, at + 8);
    const end = at + 12 + length;
    if (end > input.length || (at === PNG_START.length && type !== "IHDR")) return undefined;
    if (!PNG_METADATA.has(type)) parts.push(input.subarray(at, end));
    if (type === "IEND")
      return { width: input.readUInt32BE(16), height: input.readUInt32BE(20), parts };
    at = end;
  }
}

/** EXIF, XMP, IPTC and comments; the other application segments describe the colour space. */
const JPEG_METADATA = new Set([0xe1, 0xed, 0xfe]);
const JPEG_EXIF = 0xe1;
const JPEG_END = 0xd9;
const JPEG_SCAN = 0xda;

function readJpeg(input: Buffer): ReadImage | undefined {
  const parts: Buffer[] = [input.subarray(0, 2)];
  let size: { readonly width: number; readonly height: number } | undefined;
  for (let at = 2; ;) {
    if (input.readUInt8(at) !== 0xff) return undefined;
    const marker = input.readUInt8(at + 1);
    if (marker === 0xff) {
      // A fill byte.
      at += 1;
      continue;
    }
    if (marker === JPEG_END) {
      parts.push(input.subarray(at, at + 2));
      return size && { ...size, parts };
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) size ??= { height: input.readUInt16BE(at + 5), width: input.readUInt16BE(at + 7) };
    let end = at + 2 + input.readUInt16BE(at + 2);
    if (marker === JPEG_SCAN) end = findNextMarker(input, end);
    if (end <= at + 3 || end > input.length) return undefined;
    if (!JPEG_METADATA.has(marker)) parts.push(input.subarray(at, end));
    else if (marker === JPEG_EXIF) parts.push(...keepOrientation(input.subarray(at, end)));
    at = end;
  }
}

/**
 * Removes everything but the orientation from EXIF: cameras store pictures unrotated, and browsers rotate them by it.
 */
function keepOrientation(segment: Buffer): Buffer[] {
  const orientation = readOrientation(segment);
  return orientation === undefined ? [] : [toOrientationSegment(orientation)];
}

/** Finds the end of the data of a scan: in it, 0xff is followed by 0 or by a restart marker. */
function findNextMarker(input: Buffer, from: number): number {
  for (let at = from; ; at += 1) {
    at = input.indexOf(0xff, at);
    if (at === -1) return input.length + 1;
    const next = input.readUInt8(at + 1);
    if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at;
  }
}

const WEBP_METADATA_FLAGS = 0b0000_1100;

function readWebp(input: Buffer): ReadImage | undefined {
  const chunks: Buffer[] = [];
  let size: { readonly width: number; readonly height: number } | undefined;
  const fileEnd = Math.min(8 + input.readUInt32LE(4), input.length);
  for (let at = 12; at + 8 <= fileEnd;) {
    const type = input.toString("latin1", at, at + 4);
    const length = input.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    if (end > fileEnd) return undefined;
    const chunk = Buffer.from(input.subarray(at, end));
    size ??= toWebpSize(type, chunk);
    if (type === "VP8X") chunk.writeUInt8(chunk.readUInt8(8) & ~WEBP_METADATA_FLAGS, 8);
    if (type !== "EXIF" && type !== "XMP ") chunks.push(chunk);
    at = end;
  }
  const head = Buffer.from(input.subarray(0, 12));
  head.writeUInt32LE(
    chunks.reduce((sum, { length }) => sum + length, 4),
    4,
  );
  return size && { ...size, parts: [head, ...chunks] };
}

function toWebpSize(type: string, chunk: Buffer) {
  if (type === "VP8X")
    return { width: chunk.readUIntLE(12, 3) + 1, height: chunk.readUIntLE(15, 3) + 1 };
  if (type === "VP8 ")
    return { width: chunk.readUInt16LE(14) & 0x3fff, height: chunk.readUInt16LE(16) & 0x3fff };
  if (type !== "VP8L") return undefined;
  const bits = chunk.readUInt32LE(9);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
