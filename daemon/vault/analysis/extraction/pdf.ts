import { readFile } from "node:fs/promises";
import { getDocumentProxy } from "unpdf";
import type { PDFDocumentProxy, PDFPageProxy } from "unpdf/pdfjs";
import { createRecognizer, PIXELS_MAX, type Recognizer } from "./ocr.ts";
import { Unreadable } from "./outcome.ts";
import { drawScannedPage } from "./scanned-page.ts";
import type { TextSink } from "./text-sink.ts";

/** Pages whose text is read; the text limit usually ends earlier. */
const PAGES_MAX = 5_000;

/** Scanned pages of one file that are recognized. */
const SCANNED_PAGES_MAX = 20;

/** Time after which no further page is recognized, so that the pages before it are kept: below the budget of a file. */
const RECOGNITION_MS = 150_000;

/**
 * Extracts a PDF page by page. Scripts and fonts are neither run nor loaded; images are decoded only with `recognizes`,
 * to recognize the text of pages without text. Returns whether pages without text were left out.
 */
export async function extractPdf(
  path: string,
  sink: TextSink,
  recognizes: boolean,
): Promise<boolean> {
  const pdf = await openPdf(path);
  const scans = recognizes ? createScanReader(sink) : undefined;
  let isPartial = false;
  try {
    for (let number = 1; number <= Math.min(pdf.numPages, PAGES_MAX) && !sink.isFull; number++) {
      const page = await pdf.getPage(number).catch((error: unknown) => {
        throw new Unreadable("damaged", error);
      });
      const hasText = await addText(page, sink);
      if (!hasText && !(await scans?.read(page))) isPartial = true;
      sink.breakLine();
      page.cleanup();
    }
    if (scans?.hasUndecodable === true && sink.text() === "")
      throw new Unreadable("unsupported_format");
    return isPartial;
  } finally {
    scans?.close();
    await pdf.destroy();
  }
}

async function openPdf(path: string): Promise<PDFDocumentProxy> {
  return getDocumentProxy(new Uint8Array(await readFile(path)), {
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
    maxImageSize: PIXELS_MAX,
    verbosity: 0,
  }).catch((error: unknown) => {
    throw new Unreadable(
      error instanceof Error && error.name === "PasswordException" ? "encrypted" : "damaged",
      error,
    );
  });
}

/** Returns whether the page has text. */
async function addText(page: PDFPageProxy, sink: TextSink): Promise<boolean> {
  const { items } = await page.getTextContent();
  let hasText = false;
  for (const item of items) {
    if (!("str" in item)) continue;
    if (item.str.trim() !== "") hasText = true;
    if (!sink.add(item.str)) break;
    if (item.hasEOL) sink.breakLine();
  }
  return hasText;
}

/** Recognizes pages until a limit of pages or time. `read` returns false for a page that was left out. */
function createScanReader(sink: TextSink) {
  const startedAt = performance.now();
  let recognizer: Recognizer | undefined;
  let pages = 0;
  let hasUndecodable = false;
  return {
    /** Whether a page had only images that cannot be decoded. */
    get hasUndecodable() {
      return hasUndecodable;
    },
    async read(page: PDFPageProxy): Promise<boolean> {
      if (pages >= SCANNED_PAGES_MAX || performance.now() - startedAt > RECOGNITION_MS)
        return false;
      const picture = await drawScannedPage(page);
      if (picture === undefined) return true;
      if (picture === "undecodable") {
        hasUndecodable = true;
        return false;
      }
      pages += 1;
      recognizer ??= await createRecognizer();
      recognizer.read(picture, sink);
      return true;
    },
    close: () => recognizer?.close(),
  };
}
