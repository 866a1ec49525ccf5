import { crc32, deflateSync } from "node:zlib";
import type { Bitmap } from "./bitmap.ts";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BYTES = 3;

/** Writes a picture as PNG (ISO/IEC 15948), eight bits a color. */
export function writePng({ width, height, data }: Bitmap): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits of red, green and blue; no interlacing.
  header.set([8, 2, 0, 0, 0], 8);
  const stride = width * BYTES;
  const rows = Buffer.alloc((stride + 1) * height);
  const above = new Uint8Array(stride);
  for (let y = 0; y < height; y += 1) {
    const row = data.subarray(y * stride, (y + 1) * stride);
    rows.set(filterRow(row, y === 0 ? above : data.subarray((y - 1) * stride)), y * (stride + 1));
  }
  return Buffer.concat([
    SIGNATURE,
    toChunk("IHDR", header),
    toChunk("IDAT", deflateSync(rows, { level: 9 })),
    toChunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Returns a row with the filter before it whose differences are the smallest: none, sub, up or Paeth. */
function filterRow(row: Uint8Array, above: Uint8Array): Uint8Array {
  const filters = [0, 1, 2, 4].map((type) => {
    const filtered = new Uint8Array(row.length + 1);
    filtered[0] = type;
    let sum = 0;
    for (let at = 0; at < row.length; at += 1) {
      const left = row[at - BYTES] ?? 0;
      const up = above[at] ?? 0;
      const corner = at < BYTES ? 0 : (above[at - BYTES] ?? 0);
      const expected = [0, left, up, 0, paeth(left, up, corner)][type] ?? 0;
      const difference = ((row[at] ?? 0) - expected) & 255;
      filtered[at + 1] = difference;
      sum += Math.min(difference, 256 - difference);
    }
    return { filtered, sum };
  });
  return filters.reduce((best, each) => (each.sum < best.sum ? each : best)).filtered;
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner;
  const distances = [left, up, corner].map((each) => Math.abs(estimate - each));
  const nearest = Math.min(...distances);
  return [left, up, corner][distances.indexOf(nearest)] ?? 0;
}

function toChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), chunk.length - 4);
  return chunk;
}
