import { readFile } from "node:fs/promises";
import { getDocumentProxy } from "unpdf";
import type { PDFDocumentProxy, PDFPageProxy } from "unpdf/pdfjs";
import { createRecognizer, PIXELS_MAX, type Recognizer } from "./ocr.ts";
import { Unreadable, type UnreadableReason } from "./outcome.ts";
import { drawScannedPage, hasPicture } from "./scanned-page.ts";
import type { TextSink } from "./text-sink.ts";

/** Scanned pages of one file that are recognized. */
const SCANNED_PAGES_MAX = 20;

/**
 * Processor time after which no further page is read, so that the text of the pages before it is kept: below the budget of a
 * file, which ends the extraction without a text.
 */
const READING_MS = 45_000;

/** Time after which no further page is recognized. What `READING_MS` allows besides stays below the budget as well. */
const RECOGNITION_MS = 100_000;

/**
 * Extracts a PDF page by page. Scripts and fonts are neither run nor loaded; images are decoded only with `recognizes`,
 * to recognize the text of pages without text. `clock` measures processor time. Returns why pages are missing from the text,
 * undefined for the whole text.
 */
export async function extractPdf(
  path: string,
  sink: TextSink,
  recognizes: boolean,
  clock: () => number = processorMs,
): Promise<UnreadableReason | undefined> {
  const pdf = await openPdf(path);
  const scans = recognizes ? createScanReader(sink, clock) : createScanFinder();
  const deadline = clock() + READING_MS + (recognizes ? RECOGNITION_MS : 0);
  let isOutOfTime = false;
  try {
    for (let number = 1; number <= pdf.numPages && !sink.isCut; number++) {
      isOutOfTime = clock() > deadline;
      if (isOutOfTime) break;
      const page = await pdf.getPage(number).catch((error: unknown) => {
        throw new Unreadable("damaged", error);
      });
      if (!(await addText(page, sink))) await scans.read(page);
      sink.breakLine();
      page.cleanup();
    }
    return scans.missing ?? (isOutOfTime ? "timed_out" : undefined);
  } finally {
    scans.close();
    await pdf.destroy();
  }
}

/** Processor time of this thread; elapsed time where Node cannot measure it (before 23.9). */
function processorMs(): number {
  if (!("threadCpuUsage" in process)) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
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

/** Reads pages without text. */
interface ScanReader {
  read(page: PDFPageProxy): Promise<void>;
  /** Why text of these pages is missing. */
  readonly missing: UnreadableReason | undefined;
  close(): void;
}

/** Reads nothing, and looks for pages whose text would have to be recognized. */
function createScanFinder(): ScanReader {
  let missing: UnreadableReason | undefined;
  return {
    get missing() {
      return missing;
    },
    async read(page) {
      if (missing === undefined && (await hasPicture(page))) missing = "ocr_off";
    },
    close: () => undefined,
  };
}

/** Recognizes pages until a limit of pages or time. */
function createScanReader(sink: TextSink, clock: () => number): ScanReader {
  const endsAt = clock() + RECOGNITION_MS;
  let recognizer: Recognizer | undefined;
  let pages = 0;
  let missing: UnreadableReason | undefined;
  return {
    get missing() {
      return missing;
    },
    async read(page) {
      if (pages >= SCANNED_PAGES_MAX || clock() > endsAt) {
        if (missing === undefined && (await hasPicture(page)))
          missing = pages >= SCANNED_PAGES_MAX ? "too_large" : "timed_out";
        return;
      }
      const picture = await drawScannedPage(page);
      if (picture === undefined) return;
      if (picture === "undecodable") {
        missing ??= "unsupported_format";
        return;
      }
      pages += 1;
      recognizer ??= await createRecognizer();
      recognizer.read(picture, sink);
    },
    close: () => recognizer?.close(),
  };
}
