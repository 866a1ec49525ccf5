import type { Bitmap } from "./scans.ts";

/** `[probability, next after the likelier symbol, next after the other, switch]` (ITU-T T.88, table E.1). */
const STATES: readonly (readonly [number, number, number, number])[] = [
  [0x5601, 1, 1, 1],
  [0x3401, 2, 6, 0],
  [0x1801, 3, 9, 0],
  [0x0ac1, 4, 12, 0],
  [0x0521, 5, 29, 0],
  [0x0221, 38, 33, 0],
  [0x5601, 7, 6, 1],
  [0x5401, 8, 14, 0],
  [0x4801, 9, 14, 0],
  [0x3801, 10, 14, 0],
  [0x3001, 11, 17, 0],
  [0x2401, 12, 18, 0],
  [0x1c01, 13, 20, 0],
  [0x1601, 29, 21, 0],
  [0x5601, 15, 14, 1],
  [0x5401, 16, 14, 0],
  [0x5101, 17, 15, 0],
  [0x4801, 18, 16, 0],
  [0x3801, 19, 17, 0],
  [0x3401, 20, 18, 0],
  [0x3001, 21, 19, 0],
  [0x2801, 22, 19, 0],
  [0x2401, 23, 20, 0],
  [0x2201, 24, 21, 0],
  [0x1c01, 25, 22, 0],
  [0x1801, 26, 23, 0],
  [0x1601, 27, 24, 0],
  [0x1401, 28, 25, 0],
  [0x1201, 29, 26, 0],
  [0x1101, 30, 27, 0],
  [0x0ac1, 31, 28, 0],
  [0x09c1, 32, 29, 0],
  [0x08a1, 33, 30, 0],
  [0x0521, 34, 31, 0],
  [0x0441, 35, 32, 0],
  [0x02a1, 36, 33, 0],
  [0x0221, 37, 34, 0],
  [0x0141, 38, 35, 0],
  [0x0111, 39, 36, 0],
  [0x0085, 40, 37, 0],
  [0x0049, 41, 38, 0],
  [0x0025, 42, 39, 0],
  [0x0015, 43, 40, 0],
  [0x0009, 44, 41, 0],
  [0x0005, 45, 42, 0],
  [0x0001, 45, 43, 0],
  [0x5601, 46, 46, 0],
];

/** Encodes symbols of two values by their contexts (ITU-T T.88, annex E.2). */
function createArithmeticEncoder() {
  const states = new Map<number, { index: number; likely: number }>();
  const bytes: number[] = [0];
  let interval = 0x8000;
  let code = 0;
  let count = 12;
  const emit = () => {
    const last = bytes.length - 1;
    if (bytes[last] !== 0xff && code >= 0x8000000) {
      bytes[last] = (bytes[last] ?? 0) + 1;
      code &= 0x7ffffff;
    }
    if (bytes[last] === 0xff) {
      bytes.push((code >>> 20) & 0xff);
      code &= 0xfffff;
      count = 7;
    } else {
      bytes.push((code >>> 19) & 0xff);
      code &= 0x7ffff;
      count = 8;
    }
  };
  const renormalize = () => {
    do {
      interval = (interval << 1) & 0xffff;
      code = (code << 1) >>> 0;
      count -= 1;
      if (count === 0) emit();
    } while ((interval & 0x8000) === 0);
  };
  return {
    encode(context: number, symbol: number) {
      const state = states.get(context) ?? { index: 0, likely: 0 };
      states.set(context, state);
      const [probability, afterLikely, afterOther, isSwitch] = STATES[state.index] ?? [0, 0, 0, 0];
      interval -= probability;
      if (symbol === state.likely) {
        if ((interval & 0x8000) !== 0) {
          code += probability;
          return;
        }
        if (interval < probability) interval = probability;
        else code += probability;
        state.index = afterLikely;
      } else {
        if (interval < probability) code += probability;
        else interval = probability;
        if (isSwitch === 1) state.likely = 1 - state.likely;
        state.index = afterOther;
      }
      renormalize();
    },
    end(): Buffer {
      const limit = code + interval;
      code |= 0xffff;
      if (code >= limit) code -= 0x8000;
      code = (code << count) >>> 0;
      emit();
      code = (code << count) >>> 0;
      emit();
      if (bytes.at(-1) === 0xff) bytes.pop();
      return Buffer.from([...bytes.slice(1), 0xff, 0xac]);
    },
  };
}

/** Pixels of template 0 around the coded one, the newest last: `[dx, dy]` (ITU-T T.88, figure 3). */
const TEMPLATE: readonly (readonly [number, number])[] = [
  [-2, -2],
  [-1, -2],
  [0, -2],
  [1, -2],
  [2, -2],
  [-3, -1],
  [-2, -1],
  [-1, -1],
  [0, -1],
  [1, -1],
  [2, -1],
  [3, -1],
  [-4, 0],
  [-3, 0],
  [-2, 0],
  [-1, 0],
];

/** Makes the JBIG2 segments of a page that is one generic region, as a PDF embeds them. `claimed` is the size that they declare. */
export function jbig2(
  { width, height, rows }: Bitmap,
  claimed: { readonly width: number; readonly height: number } = { width, height },
): Buffer<ArrayBuffer> {
  const stride = Math.ceil(width / 8);
  const isBlack = (x: number, y: number) =>
    x >= 0 &&
    x < width &&
    y >= 0 &&
    (((rows[y * stride + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1) === 0
      ? 1
      : 0;
  const encoder = createArithmeticEncoder();
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const context = TEMPLATE.reduce((bits, [dx, dy]) => (bits << 1) | isBlack(x + dx, y + dy), 0);
      encoder.encode(context, isBlack(x, y));
    }
  const size = Buffer.alloc(8);
  size.writeUInt32BE(claimed.width, 0);
  size.writeUInt32BE(claimed.height, 4);
  const page = Buffer.concat([size, Buffer.alloc(11)]);
  // Place and operator of the region, template 0, and the adaptive pixels at their usual places.
  const head = Buffer.concat([
    size,
    Buffer.alloc(9),
    Buffer.from([0, 3, -1, -3, -1, 2, -2, -2, -2]),
  ]);
  return Buffer.concat([
    segment(0, 48, page),
    segment(1, 38, Buffer.concat([head, encoder.end()])),
  ]);
}

function segment(number: number, type: number, content: Buffer): Buffer {
  const header = Buffer.alloc(11);
  header.writeUInt32BE(number, 0);
  header[4] = type;
  header[6] = 1;
  header.writeUInt32BE(content.length, 7);
  return Buffer.concat([header, content]);
}
