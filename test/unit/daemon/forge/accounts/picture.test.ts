import { describe, expect, test } from "vitest";
import { readPicture } from "../../../../../daemon/forge/accounts/picture.ts";

const latin = (text: string) => Buffer.from(text, "latin1");
const segment = (marker: number, data: Buffer) => {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
};
const frame = (width: number, height: number) => {
  const data = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  data.writeUInt16BE(height, 1);
  data.writeUInt16BE(width, 3);
  return segment(0xc0, data);
};
const start = Buffer.from([0xff, 0xd8]);
const end = Buffer.from([0xff, 0xd9]);
/** Two scans, with a stuffed byte, a restart marker and a table between them that looks like an end. */
const scans = Buffer.concat([
  segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
  Buffer.from([1, 0xff, 0, 2, 0xff, 0xd0, 3]),
  segment(0xc4, Buffer.from([0xff, 0xd9, 0xff, 0xd9])),
  segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
  Buffer.from([4, 5]),
]);

describe("JPEG images", () => {
  test("metadata and bytes after the end of a JPEG are dropped, and the rest is unchanged", () => {
    const adobe = segment(0xee, latin("Adobe"));
    const whole = [
      start,
      adobe,
      segment(0xe1, latin("Exif\0\0 52.5 N")),
      segment(0xfe, latin("taken at home")),
      frame(640, 480),
      scans,
      end,
    ];
    const picture = readPicture(Buffer.concat([...whole, latin("<script>PK\x03\x04")]));
    expect(picture.contentType).toBe("image/jpeg");
    expect(Buffer.from(picture.bytes)).toEqual(
      Buffer.concat([start, adobe, frame(640, 480), scans, end]),
    );
  });

  const exif = (order: "II" | "MM", orientation: number, offset = 8) => {
    const tiff = Buffer.alloc(64, 0);
    const short = (value: number, at: number) =>
      order === "II" ? tiff.writeUInt16LE(value, at) : tiff.writeUInt16BE(value, at);
    const long = (value: number, at: number) =>
      order === "II" ? tiff.writeUInt32LE(value, at) : tiff.writeUInt32BE(value, at);
    tiff.write(order, "latin1");
    short(42, 2);
    long(offset, 4);
    short(2, 8);
    short(0x010f, 10);
    short(0x0112, 22);
    short(3, 24);
    long(1, 26);
    short(orientation, 30);
    return segment(0xe1, Buffer.concat([latin("Exif\0\0"), tiff, latin("52.5 N")]));
  };

  test("of EXIF only the orientation is kept, in either byte order", () => {
    for (const order of ["II", "MM"] as const) {
      const turned = [start, exif(order, 6), frame(640, 480), scans, end];
      const stripped = Buffer.from(readPicture(Buffer.concat(turned)).bytes);
      expect(stripped.toString("latin1")).not.toContain("52.5 N");
      const again = Buffer.from(readPicture(stripped).bytes);
      expect(again).toEqual(stripped);
      // Marker and length, "Exif" and two zeros, 20 bytes of TIFF, then the value in big-endian order.
      expect(stripped.subarray(2, 4)).toEqual(Buffer.from([0xff, 0xe1]));
      expect(stripped.readUInt16BE(2 + 4 + 6 + 18)).toBe(6);
    }
  });

  test.each([
    ["as it is stored", exif("II", 1)],
    ["unknown", exif("II", 9)],
    ["beyond the end of the segment", exif("MM", 6, 0xffff_fff0)],
  ])("EXIF whose orientation is %s is dropped", (_what, metadata) => {
    const whole = Buffer.concat([start, metadata, frame(640, 480), scans, end]);
    expect(Buffer.from(readPicture(whole).bytes)).toEqual(
      Buffer.concat([start, frame(640, 480), scans, end]),
    );
  });

  test.each([
    ["has no frame", [start, scans, end]],
    ["has no end", [start, frame(8, 8), scans]],
    ["has a segment that is longer than the file", [start, Buffer.from([0xff, 0xe0, 0xff, 0xff])]],
    ["has bytes between segments", [start, latin("x"), frame(8, 8), scans, end]],
    ["is too large", [start, frame(5000, 8), scans, end]],
  ])("an image is refused that %s", (_what, parts) => {
    expect(() => readPicture(Buffer.concat(parts))).toThrow(/the picture/);
  });

  test("a JPEG without an end marker is read in linear time", () => {
    const flood = Buffer.concat([start, frame(8, 8), scans, Buffer.alloc(1_000_000, 0xff)]);
    expect(() => readPicture(flood)).toThrow("the picture is damaged");
  });
});

describe("WebP and GIF images", () => {
  const riff = (type: string, data: Buffer) => {
    const head = Buffer.alloc(8);
    head.write(type, "latin1");
    head.writeUInt32LE(data.length, 4);
    return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
  };
  const webp = (...chunks: Buffer[]) => riff("RIFF", Buffer.concat([latin("WEBP"), ...chunks]));

  test("metadata chunks of a WebP are dropped with their flags", () => {
    const header = Buffer.from([0b0001_1100, 0, 0, 0, 99, 0, 0, 49, 0, 0]);
    const bits = riff("VP8L", Buffer.from([0x2f, 0, 0, 0, 0]));
    const made = webp(
      riff("VP8X", header),
      bits,
      riff("EXIF", latin("gps")),
      riff("XMP ", latin("xmp!")),
    );
    const picture = readPicture(made);
    const strippedHeader = Buffer.from([0b0001_0000, 0, 0, 0, 99, 0, 0, 49, 0, 0]);
    expect(picture.contentType).toBe("image/webp");
    expect(Buffer.from(picture.bytes)).toEqual(webp(riff("VP8X", strippedHeader), bits));
  });

  test("the sizes of both simple forms of WebP are read", () => {
    const lossless = Buffer.from([0x2f, 0, 0, 0, 0]);
    lossless.writeUInt32LE(4095 | (9 << 14), 1);
    expect(readPicture(webp(riff("VP8L", lossless))).contentType).toBe("image/webp");
    const lossy = Buffer.from([0, 0, 0, 0x9d, 1, 0x2a, 0, 0, 16, 0]);
    lossy.writeUInt16LE(4097, 6);
    expect(() => readPicture(webp(riff("VP8 ", lossy)))).toThrow("4097 x 16 pixels");
  });

  test("a GIF has the size of its screen", () => {
    const gif = Buffer.concat([latin("GIF89a"), Buffer.from([8, 0, 8, 0, 0, 0, 0, 0x3b])]);
    expect(readPicture(gif)).toEqual({ contentType: "image/gif", bytes: gif });
    expect(() => readPicture(gif.subarray(0, 9))).toThrow("the picture is damaged");
  });

  test("a WebP with a chunk beyond the end of the file is refused", () => {
    const cut = webp(riff("VP8L", Buffer.alloc(50))).subarray(0, 30);
    expect(() => readPicture(cut)).toThrow("the picture is damaged");
  });
});
