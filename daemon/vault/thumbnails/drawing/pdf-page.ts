import { readFile } from "node:fs/promises";
import type { Pdfium } from "@embedpdf/pdfium";
import { Unreadable } from "../../analysis/extraction/outcome.ts";
import { type Bitmap, scaleDown } from "./bitmap.ts";

const CODE = new URL("../../../../node_modules/@embedpdf/pdfium/dist/pdfium.wasm", import.meta.url);

/** `FPDF_GetLastError`: a password is missing or wrong. */
const ERROR_PASSWORD = 4;
/** `FPDF_RenderPageBitmap`: with the annotations. */
const WITH_ANNOTATIONS = 1;
const WHITE = 0xff_ff_ff_ff;

/**
 * Draws the first page of a PDF file, on white, at its final size: PDFium, in WebAssembly with its own memory for each file. It
 * has no scripts, and forms are drawn as they are saved. Throws `Unreadable`: `encrypted`, `damaged`.
 */
export async function drawFirstPage(bytes: Uint8Array, sideMax: number): Promise<Bitmap> {
  const { init } = await import("@embedpdf/pdfium");
  const code = await readFile(CODE);
  const pdfium = await init({ wasmBinary: Uint8Array.from(code).buffer });
  try {
    return draw(pdfium, bytes, sideMax);
  } catch (error) {
    // The module throws numbers and runtime errors of WebAssembly when its code fails.
    throw error instanceof Unreadable ? error : new Unreadable("damaged", error);
  }
}

function draw(pdfium: Pdfium, bytes: Uint8Array, sideMax: number): Bitmap {
  pdfium.PDFiumExt_Init();
  const input = pdfium.pdfium.wasmExports.malloc(bytes.length);
  pdfium.pdfium.HEAPU8.set(bytes, input);
  const file = pdfium.FPDF_LoadMemDocument(input, bytes.length, "");
  if (file === 0)
    throw new Unreadable(pdfium.FPDF_GetLastError() === ERROR_PASSWORD ? "encrypted" : "damaged");
  const page = pdfium.FPDF_LoadPage(file, 0);
  const points = [pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)] as const;
  const scale = sideMax / Math.max(...points);
  const [width, height] = points.map((side) => Math.max(1, Math.round(side * scale)));
  if (page === 0 || width === undefined || height === undefined || !Number.isFinite(width * height))
    throw new Unreadable("damaged");
  const bitmap = pdfium.FPDFBitmap_Create(width, height, 0);
  if (bitmap === 0) throw new Unreadable("damaged");
  pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, WHITE);
  pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, WITH_ANNOTATIONS);
  const start = pdfium.FPDFBitmap_GetBuffer(bitmap);
  const stride = pdfium.FPDFBitmap_GetStride(bitmap);
  // Drawing may have let the memory grow. Four bytes a pixel: blue, green, red, and one that is not used.
  const memory = pdfium.pdfium.HEAPU8;
  return scaleDown(
    {
      width,
      height,
      read(x, y) {
        const at = start + y * stride + x * 4;
        return ((memory[at + 2] ?? 0) << 16) | ((memory[at + 1] ?? 0) << 8) | (memory[at] ?? 0);
      },
    },
    sideMax,
  );
}
