import { readFile } from "node:fs/promises";
import type { TesseractModule } from "tesseract.js-core/tesseract-core-simd-lstm.js";
import { assertPixels, sizeOf } from "../../analysis/extraction/ocr.ts";
import { Unreadable } from "../../analysis/extraction/outcome.ts";
import { type Bitmap, type PixelSource, scaleDown, turn } from "./bitmap.ts";

/**
 * Draws a small picture of a PNG, JPEG, GIF, BMP, TIFF or WebP file, upright, on white; of several pictures in a file the
 * first. Throws `Unreadable`: `too_large` before a picture with too many pixels is decoded, `damaged`.
 *
 * The decoders are Leptonica's, in the WebAssembly module of text recognition. Each file gets its own memory.
 */
export async function drawPicture(bytes: Uint8Array, sideMax: number): Promise<Bitmap> {
  assertPixels(bytes);
  const { orientation = 1 } = sizeOf(bytes);
  const { module, memory } = await loadDecoders();
  const input = module._malloc(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, input);
  const address = decode(() => module._pixReadMem(input, bytes.length));
  module._free(input);
  if (address === 0) throw new Unreadable("damaged");
  return turn(scaleDown(toPixels(module, memory, address), sideMax), orientation);
}

const CODE = new URL(
  "../../../../node_modules/tesseract.js-core/tesseract-core-simd-lstm.wasm",
  import.meta.url,
);

interface Decoders {
  readonly module: TesseractModule;
  readonly memory: WebAssembly.Memory;
}

async function loadDecoders(): Promise<Decoders> {
  const { default: createModule } = await import("tesseract.js-core/tesseract-core-simd-lstm.js");
  const code = await readFile(CODE);
  let memory: WebAssembly.Memory | undefined;
  const quiet = () => {};
  const module = await createModule({
    print: quiet,
    printErr: quiet,
    // The module keeps its memory to itself, in which the decoded pixels are.
    instantiateWasm(imports, done) {
      const compiled = new WebAssembly.Module(code);
      const instance = new WebAssembly.Instance(compiled, imports);
      memory = Object.values(instance.exports).find((each) => each instanceof WebAssembly.Memory);
      done(instance, compiled);
      return instance.exports;
    },
  });
  if (memory === undefined) throw new Error("the module of the decoders has no memory");
  return { module, memory };
}

/** The module throws numbers and runtime errors of WebAssembly when its code fails. */
function decode(work: () => number): number {
  try {
    return work();
  } catch (error) {
    throw new Unreadable("damaged", error);
  }
}

/** Reads the pixels of Leptonica: rows of 32-bit words, the first pixel in the highest bits. */
function toPixels(
  { wrapPointer, getPointer, Pix, ...module }: TesseractModule,
  { buffer }: WebAssembly.Memory,
  address: number,
): PixelSource {
  const pix = wrapPointer(address, Pix);
  const [width, height, depth, words] = [pix.get_w(), pix.get_h(), pix.get_d(), pix.get_wpl()];
  const start = module._emscripten_bind_Pix_get_data_0(address);
  const isWhole =
    width > 0 &&
    height > 0 &&
    words * 32 >= width * depth &&
    start + words * height * 4 <= buffer.byteLength;
  if (!isWhole || ![1, 2, 4, 8, 16, 32].includes(depth)) throw new Unreadable("damaged");
  const data = new Uint32Array(buffer, start, words * height);
  const hasAlpha = pix.get_spp() === 4;
  if (depth === 32)
    return {
      width,
      height,
      read(x, y) {
        const word = data[y * words + x] ?? 0;
        return hasAlpha ? onWhite(word >>> 8, word & 255) : word >>> 8;
      },
    };
  const colors = readColors(module, getPointer(pix.get_colormap()), buffer) ?? toGrays(depth);
  const mask = 2 ** depth - 1;
  return {
    width,
    height,
    read(x, y) {
      const bit = x * depth;
      const word = data[y * words + (bit >>> 5)] ?? 0;
      return colors((word >>> (32 - depth - (bit & 31))) & mask);
    },
  };
}

function onWhite(color: number, alpha: number): number {
  const mix = (part: number) => Math.round(255 + ((part - 255) * alpha) / 255);
  return (mix(color >>> 16) << 16) | (mix((color >>> 8) & 255) << 8) | mix(color & 255);
}

type Colors = (value: number) => number;

/** One bit is black where it is set; more bits are gray. */
function toGrays(depth: number): Colors {
  if (depth === 1) return (value) => (value === 0 ? 0xffffff : 0);
  const valueMax = 2 ** depth - 1;
  return (value) => Math.round((value * 255) / valueMax) * 0x010101;
}

/** The colors of a palette, of four bytes: blue, green, red, alpha. */
function readColors(
  module: Pick<
    TesseractModule,
    "_emscripten_bind_PixColormap_get_array_0" | "_emscripten_bind_PixColormap_get_n_0"
  >,
  palette: number,
  buffer: ArrayBufferLike,
): Colors | undefined {
  if (palette === 0) return undefined;
  const start = module._emscripten_bind_PixColormap_get_array_0(palette);
  const count = module._emscripten_bind_PixColormap_get_n_0(palette);
  if (count > 256 || start + count * 4 > buffer.byteLength) throw new Unreadable("damaged");
  const bytes = Uint8Array.from(new Uint8Array(buffer, start, count * 4));
  const colors = Array.from({ length: count }, (_, at) => {
    const [blue = 0, green = 0, red = 0, alpha = 255] = bytes.subarray(at * 4, at * 4 + 4);
    return onWhite((red << 16) | (green << 8) | blue, alpha);
  });
  return (value) => colors[value] ?? 0;
}
