import { crc32, deflateSync, inflateRawSync } from "node:zlib";

/** A picture of one bit a pixel: rows of whole bytes, zero is black. */
export interface Bitmap {
  readonly width: number;
  readonly height: number;
  readonly rows: Uint8Array;
}

/** Shows "Rent receipt March", as a browser drew it. */
export const receipt: Bitmap = {
  width: 320,
  height: 64,
  rows: inflateRawSync(
    Buffer.from(
      "7dOxaoQwGMDxWKG3FPICh3kRyUenPkiHe4UTJLF0uJvqCxR9lHp0OA6O+grCDVkVF4U0X1FLMZ5Du3XwP4XkR0gCQV" +
        "xaWkJUo3FtrRCJiJ8j94bvGmZcN6dHLp13jI0d9q6Zc+mVO8y6uND3JTWPBWaGqj138NSC2+4ONbVdFJKSGjcDol0V" +
        "eQ6eau60K1KubOf5foiGxcxrKvUcp3iuedMIXl7se8BahGgAElm3apd3DnRjZGUdkHD52jk5uFileN6A2WpZV5YTpN" +
        "9PkrUsnd59bIBsNdrO44MT5A4LMrgHToKpY57UvQONF+xdTn1x7ZLBSdCy/nH62r2A5Y4p5qxzk3uw/NsxIytUu86l" +
        "vg7M1B3p8C5x4jVt/845+tvA8IlT0VqE1MiIkcZREXvCHPlNgGTiLlkoBDWygMy4ag8HzBFuA8xsNyn+5Qf5725pae" +
        "mPfQE=",
      "base64",
    ),
  ),
};

/** The picture `receipt` in JPEG 2000, by Pillow at a twentieth of its size. */
export const receiptJpeg2000: Uint8Array = Buffer.from(
  "AAAADGpQICANCocKAAAAFGZ0eXBqcDIgAAAAAGpwMiAAAAAtanAyaAAAABZpaGRyAAAAQAAAAUAAAQcHAAAAAAAPY29s" +
    "cgEAAAAAABEAAAO5anAyY/9P/1EAKQAAAAABQAAAAEAAAAAAAAAAAAAAAUAAAABAAAAAAAAAAAAAAQcBAf9SAAwAAAAB" +
    "AAIEBAAA/1wAEUJfUlAFUAVQR1fTV9NXYv9kACUAAUNyZWF0ZWQgYnkgT3BlbkpQRUcgdmVyc2lvbiAyLjUuNP+QAAoA" +
    "AAAAAzoAAf+T5+PdH4yQFABb7e+LFfgc4F0i15rtqncLITq3+CgCuHQUPuoFQZiPw/chOChdNqNzUTRYa1yF+rneAX8B" +
    "rRIum532krfT+n4KY/33owBox3dFnt3SM8Ks+7RLnrZhfh1c3kfKNfjPhlBbuR4d/KlV+4Zk1F1EIKWUUURdE8oyViH9" +
    "sY5UpJ2p0ni7dnH1AewCkDv/fjqZ9J3gU1Ce+Wy4I2vqym/U/lQMkl39/IJZ0BOwHJMmapX1ns0lJW8wukPwoanndeYB" +
    "q63RqzSWwYAVNMIJjsEj2ssiiX7GGrExxWvllzoQsG82L5qPgyZP7xQAXKOYec8Kn6IxUbKX7YpE3e/Fc2/DpDPaQLl3" +
    "uQG9SkWUncRfIiL66JyRAWMgUVdy5Qk+rkooc8RNUhlADIkNzxl02I/mBzTp1yg/xkkYBKc3pjVjpw7hwaSN2dGXcI8i" +
    "E6AkvYbLWmva+Mss5DT+1JO6GguNHHNLap+dmCLWwQUpFy1alMdG2aQy24q8dttKgM9KyVAgtm4F4PTqO1xZ+I7Cm3pX" +
    "APO9sOGdtjPYAvXiwGA8ik1YhNg1MQRiy+IeSLFVfSGTAyd6VDoFsXzVFT7PDqfCo+3WIKH2w6S3J/GNrll5TPWgm91G" +
    "SzqcXZ6rhW9SMNUCJuvx86X52dx86L50INC+Htnhk++GF6oynb2Ne2O+lr9NxGJ3+8aa8Q88ys/SSoB5WB45numpv7El" +
    "rjTBu+TqxMOJC55/wCaHfpA2ewyzndO+Y3HEfPGFGc8rP8v2IxJu08k4g9bS1TGBLRiYQBdkTbcymTBktd+tI6RYEtl7" +
    "iMN70vkegGmxpYf6opZt8yJEt6BOhbyeFxh4mK4XeJmNhEyknYzUxeZOpGiGujDoX8hFC7SsHYeKivATO5Rnd5/RJYSR" +
    "V4cdwiWg5l9fQK7gq5T4sIKpQtm0Jttt8bPKafwwV0M6RL4JUFoH9IZjcIOM/z2NlbQ9o66mffxfHAZITT4t1AbNzt6t" +
    "HpWHqLavBq7QeJxLVgyKX88TFJtblKZPYWzV+1Qy0DklZJLp77WD4MdR0IuCft4btCWZ690ESLRXsfX7hvX/2Q==",
  "base64",
);

/** Makes a PNG file. */
export function png({ width, height, rows }: Bitmap): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const stride = Math.ceil(width / 8);
  const filtered = Array.from({ length: rows.length / stride }, (_, row) =>
    Buffer.concat([Buffer.from([0]), rows.subarray(row * stride, (row + 1) * stride)]),
  );
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(filtered))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A page of `tiff`: a picture, or a smaller copy of another one. */
export interface TiffPage {
  readonly picture: Bitmap;
  readonly isThumbnail?: boolean;
}

/** Makes a TIFF file of several pages in the byte order of a scanner's choice. */
export function tiff(pages: readonly TiffPage[], order: "II" | "MM" = "II"): Buffer<ArrayBuffer> {
  const isLittle = order === "II";
  const parts: Buffer[] = [];
  let at = 8;
  for (const [index, { picture, isThumbnail = false }] of pages.entries()) {
    const { width, height, rows } = picture;
    const entries = [
      [254, 4, isThumbnail ? 1 : 2],
      [256, 4, width],
      [257, 4, height],
      [258, 4, 1],
      [259, 4, 1],
      [262, 4, 1],
      [273, 4, at],
      [277, 4, 1],
      [278, 4, height],
      [279, 4, rows.length],
    ] as const;
    const directory = new DataView(new ArrayBuffer(2 + entries.length * 12 + 4));
    directory.setUint16(0, entries.length, isLittle);
    for (const [row, [tag, type, value]] of entries.entries()) {
      directory.setUint16(2 + row * 12, tag, isLittle);
      directory.setUint16(4 + row * 12, type, isLittle);
      directory.setUint32(6 + row * 12, 1, isLittle);
      directory.setUint32(10 + row * 12, value, isLittle);
    }
    const end = at + rows.length + directory.byteLength;
    // The rows of the next page come first, and its directory after them.
    const next = pages[index + 1];
    directory.setUint32(
      directory.byteLength - 4,
      next === undefined ? 0 : end + next.picture.rows.length,
      isLittle,
    );
    parts.push(Buffer.from(rows), Buffer.from(directory.buffer));
    at = end;
  }
  const header = new DataView(new ArrayBuffer(8));
  header.setUint16(0, isLittle ? 0x4949 : 0x4d4d);
  header.setUint16(2, 42, isLittle);
  header.setUint32(4, 8 + (pages[0]?.picture.rows.length ?? 0), isLittle);
  return Buffer.concat([Buffer.from(header.buffer), ...parts]);
}

/** How a picture lies on a page of `scannedPdf`. */
export interface Placement {
  /** `a b c d e f` of the operator `cm`; the whole page by default. */
  readonly matrix?: readonly number[];
  /** Degrees by which the page is turned when it is shown. */
  readonly rotate?: number;
  /** The picture is a stencil for black. */
  readonly isMask?: boolean;
  readonly pages?: number;
  /** How the bytes of `rows` are encoded, such as `/Filter/JBIG2Decode`; plain by default. */
  readonly encoding?: string;
}

/** Makes a PDF as a scanner does: each page is the picture, a point a pixel. */
export function scannedPdf(
  { width, height, rows }: Bitmap,
  {
    matrix = [width, 0, 0, height, 0, 0],
    rotate = 0,
    isMask = false,
    pages = 1,
    encoding,
  }: Placement = {},
): Buffer<ArrayBuffer> {
  const isUpright = matrix[0] !== 0;
  const box = isUpright ? [width, height] : [height, width];
  const drawing = Buffer.from(`q ${matrix.join(" ")} cm /Im Do Q`);
  const packed = encoding === undefined ? deflateSync(rows) : Buffer.from(rows);
  const kind = isMask ? "/ImageMask true" : "/ColorSpace/DeviceGray";
  const numbers = Array.from({ length: pages }, (_, index) => 5 + index);
  return Buffer.concat([
    Buffer.from("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"),
    Buffer.from(
      `2 0 obj<</Type/Pages/Kids[${numbers.map((id) => `${id} 0 R`).join(" ")}]/Count ${pages}>>endobj\n`,
    ),
    stream(3, "", drawing),
    stream(
      4,
      `/Type/XObject/Subtype/Image/Width ${width}/Height ${height}/BitsPerComponent 1${kind}${encoding ?? "/Filter/FlateDecode"}`,
      packed,
    ),
    ...numbers.map((id) =>
      Buffer.from(
        `${id} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 ${box.join(" ")}]/Rotate ${rotate}` +
          "/Contents 3 0 R/Resources<</XObject<</Im 4 0 R>>>>>>endobj\n",
      ),
    ),
    Buffer.from("trailer<</Root 1 0 R>>\n%%EOF\n"),
  ]);
}

function stream(id: number, entries: string, content: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${id} 0 obj<<${entries}/Length ${content.length}>>stream\n`),
    content,
    Buffer.from("\nendstream endobj\n"),
  ]);
}
