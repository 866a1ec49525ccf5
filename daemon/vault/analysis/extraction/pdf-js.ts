import { fileURLToPath } from "node:url";
import type { PDFPageProxy } from "pdfjs-dist";
import { PIXELS_MAX } from "./ocr.ts";
import { refuseDamaged, Unreadable } from "./outcome.ts";

/** The package of pdf.js, in which its data is: `bin/bundle.ts` lists the files of it that croft carries. */
const PACKAGE = new URL("../../../../node_modules/pdfjs-dist/package.json", import.meta.url);
const folder = (path: string) => fileURLToPath(new URL(path, PACKAGE));

/**
 * Opens a PDF file. Its scripts and fonts are neither run nor loaded. What it names of the data of pdf.js is from a closed list:
 * the predefined CMaps (ISO 32000-1, 9.7.5.2) of Chinese, Japanese and Korean fonts, the standard fonts, and the decoders of fax,
 * JBIG2 and JPEG 2000 in WebAssembly. Throws `Unreadable`: `encrypted` for a file with a password, else `damaged`.
 */
export async function openPdf(bytes: Uint8Array) {
  const { getDocument } = await loadPdfJs();
  const task = getDocument({
    data: Uint8Array.from(bytes),
    cMapUrl: folder("cmaps/"),
    cMapPacked: true,
    standardFontDataUrl: folder("standard_fonts/"),
    wasmUrl: folder("wasm/"),
    useWorkerFetch: false,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
    maxImageSize: PIXELS_MAX,
    verbosity: 0,
  });
  const close = () => task.destroy();
  const document = await task.promise.catch(async (error: unknown) => {
    await close();
    const isEncrypted = error instanceof Error && error.name === "PasswordException";
    throw new Unreadable(isEncrypted ? "encrypted" : "damaged", error);
  });
  return {
    pages: document.numPages,
    /** Opens a page, counted from 1. Throws `Unreadable` when it is damaged. */
    openPage: (number: number): Promise<PDFPageProxy> =>
      document.getPage(number).catch(refuseDamaged),
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Loads pdf.js, with its half that reads files in the same thread. It prints that it cannot draw without a canvas, which the process
 * of the extraction ignores.
 */
export async function loadPdfJs() {
  await import("pdfjs-dist/legacy/build/pdf.worker.min.mjs");
  return import("pdfjs-dist/legacy/build/pdf.min.mjs");
}
