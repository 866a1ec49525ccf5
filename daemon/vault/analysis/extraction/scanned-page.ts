import type { PDFPageProxy } from "pdfjs-dist";
import { PIXELS_MAX } from "./ocr.ts";
import { refuseDamaged } from "./outcome.ts";
import { loadPdfJs } from "./pdf-js.ts";

/** Pixels per point of a drawn page: 300 dots per inch, which recognition is trained for. */
const SCALE_MAX = 300 / 72;

/** Points of a pixel's side at which a larger image is sampled. */
const SAMPLES_MAX = 3;

/** Kinds of decoded images in pdf.js: one bit, three bytes or four bytes a pixel. */
const ONE_BIT = 1;
const RGB = 2;

/** `[a, b, c, d, e, f]` of PDF: x' = ax + cy + e, y' = bx + dy + f. */
type Matrix = readonly [number, number, number, number, number, number];

interface DecodedImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly kind: number;
  /** A stencil: zero bits are painted, the others are transparent. */
  readonly isMask: boolean;
}

interface PlacedImage {
  readonly image: DecodedImage;
  /** Maps the unit square to points of the page. */
  readonly matrix: Matrix;
}

/**
 * Draws the images of a page, as a scanner left them, in gray on white, turned as the page is shown. Text, lines and clipping
 * are left out. Returns a PNM file; `undecodable` for a page whose images are all damaged, undefined for a page without images.
 * Needs no canvas.
 */
export async function drawScannedPage(
  page: PDFPageProxy,
): Promise<Uint8Array | "undecodable" | undefined> {
  const found = await placeImages(page);
  const images = found.filter((image) => image !== "undecodable");
  if (images.length === 0) return found.length === 0 ? undefined : "undecodable";
  const finest = Math.max(
    ...images.map(({ image, matrix: [a, b, c, d] }) =>
      Math.max(image.width / Math.hypot(a, b), image.height / Math.hypot(c, d)),
    ),
  );
  const points = page.getViewport({ scale: 1 });
  const fitting = Math.sqrt(PIXELS_MAX / (points.width * points.height));
  const scale = Math.min(finest, SCALE_MAX, fitting);
  const viewport = page.getViewport({ scale });
  const width = Math.floor(viewport.width);
  const height = Math.floor(viewport.height);
  if (!(width > 0 && height > 0)) return undefined;
  const header = Buffer.from(`P5 ${width} ${height} 255\n`);
  const file = new Uint8Array(header.length + width * height).fill(255);
  file.set(header);
  const pixels = file.subarray(header.length);
  for (const { image, matrix } of images)
    paint(
      { pixels, width, height },
      image,
      multiply(viewport.transform as unknown as Matrix, matrix),
    );
  return file;
}

/** Whether a page shows an image. */
export async function hasPicture(page: PDFPageProxy): Promise<boolean> {
  const { OPS } = await loadPdfJs();
  const { fnArray } = await page.getOperatorList().catch(refuseDamaged);
  const placing = [OPS.paintImageXObject, OPS.paintInlineImageXObject, OPS.paintImageMaskXObject];
  return fnArray.some((operator) => placing.includes(operator));
}

/** Reads the operators of a page that place images. */
async function placeImages(page: PDFPageProxy): Promise<(PlacedImage | "undecodable")[]> {
  const { OPS } = await loadPdfJs();
  const { fnArray, argsArray } = await page.getOperatorList().catch(refuseDamaged);
  const images: (PlacedImage | "undecodable")[] = [];
  const stack: Matrix[] = [];
  let matrix: Matrix = [1, 0, 0, 1, 0, 0];
  for (const [index, operator] of fnArray.entries()) {
    const args = argsArray[index] as readonly unknown[] | null;
    switch (operator) {
      case OPS.save:
        stack.push(matrix);
        break;
      case OPS.restore:
      case OPS.paintFormXObjectEnd:
        matrix = stack.pop() ?? matrix;
        break;
      case OPS.transform:
        matrix = multiply(matrix, args as unknown as Matrix);
        break;
      case OPS.paintFormXObjectBegin:
        stack.push(matrix);
        if (args?.[0]) matrix = multiply(matrix, args[0] as Matrix);
        break;
      case OPS.paintImageXObject:
      case OPS.paintInlineImageXObject:
      case OPS.paintImageMaskXObject: {
        const isMask = operator === OPS.paintImageMaskXObject;
        const image = await findImage(page, args?.[0], isMask);
        images.push(image === undefined ? "undecodable" : { image, matrix });
        break;
      }
    }
  }
  return images;
}

/** An argument is the image, its name, or for masks an image whose data is a name. */
async function findImage(
  page: PDFPageProxy,
  argument: unknown,
  isMask: boolean,
): Promise<DecodedImage | undefined> {
  const resolve = (name: unknown): Promise<unknown> | unknown => {
    if (typeof name !== "string") return name;
    const objects = name.startsWith("g_") ? page.commonObjs : page.objs;
    return new Promise((found) => objects.get(name, found));
  };
  const found = (await resolve(argument)) as Partial<DecodedImage> | null;
  const inner = (await resolve(found?.data)) as DecodedImage["data"] | Partial<DecodedImage> | null;
  const data = inner !== null && inner !== undefined && "data" in inner ? inner.data : inner;
  const { width = 0, height = 0, kind = ONE_BIT } = found ?? {};
  if (!(data instanceof Uint8Array) && !(data instanceof Uint8ClampedArray)) return undefined;
  if (width * height === 0 || data.length < bytesOf(width, height, isMask ? ONE_BIT : kind))
    return undefined;
  return { width, height, data, kind: isMask ? ONE_BIT : kind, isMask };
}

function bytesOf(width: number, height: number, kind: number): number {
  if (kind === ONE_BIT) return Math.ceil(width / 8) * height;
  return width * height * (kind === RGB ? 3 : 4);
}

/** Draws an image: each pixel of its box on the page is looked up in the image. */
function paint(
  { pixels, width, height }: { pixels: Uint8Array; width: number; height: number },
  image: DecodedImage,
  matrix: Matrix,
): void {
  const [a, b, c, d, e, f] = matrix;
  const determinant = a * d - b * c;
  if (!Number.isFinite(1 / determinant)) return;
  const left = Math.max(0, Math.floor(e + Math.min(0, a) + Math.min(0, c)));
  const right = Math.min(width, Math.ceil(e + Math.max(0, a) + Math.max(0, c)));
  const top = Math.max(0, Math.floor(f + Math.min(0, b) + Math.min(0, d)));
  const bottom = Math.min(height, Math.ceil(f + Math.max(0, b) + Math.max(0, d)));
  const density = Math.sqrt((image.width * image.height) / Math.abs(determinant));
  const samples = Math.min(SAMPLES_MAX, Math.max(1, Math.round(density)));
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      let sum = 0;
      let count = 0;
      for (let sample = 0; sample < samples * samples; sample++) {
        const dx = x + ((sample % samples) + 0.5) / samples - e;
        const dy = y + (Math.floor(sample / samples) + 0.5) / samples - f;
        const u = (d * dx - c * dy) / determinant;
        const v = (a * dy - b * dx) / determinant;
        if (u < 0 || u >= 1 || v <= 0 || v > 1) continue;
        const column = Math.floor(u * image.width);
        // The first row of an image is at the top of the unit square.
        sum += grayOf(image, column, Math.floor((1 - v) * image.height));
        count += 1;
      }
      if (count === 0) continue;
      const gray = sum / count;
      const at = y * width + x;
      pixels[at] = image.isMask ? Math.min(pixels[at] ?? 255, gray) : gray;
    }
  }
}

function grayOf({ data, width, kind }: DecodedImage, column: number, row: number): number {
  if (kind === ONE_BIT) {
    const byte = data[row * Math.ceil(width / 8) + (column >> 3)] ?? 0;
    return (byte >> (7 - (column & 7))) & 1 ? 255 : 0;
  }
  const at = (row * width + column) * (kind === RGB ? 3 : 4);
  return ((data[at] ?? 0) * 299 + (data[at + 1] ?? 0) * 587 + (data[at + 2] ?? 0) * 114) / 1_000;
}

/** The matrix that applies `inner` first. */
function multiply(outer: Matrix, inner: Matrix): Matrix {
  const [a, b, c, d, e, f] = outer;
  const [g, h, i, j, k, l] = inner;
  return [
    a * g + c * h,
    b * g + d * h,
    a * i + c * j,
    b * i + d * j,
    a * k + c * l + e,
    b * k + d * l + f,
  ];
}
