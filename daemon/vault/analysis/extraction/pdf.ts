import { readFile } from "node:fs/promises";
import { getDocumentProxy } from "unpdf";
import { Unreadable } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";

/** Pages whose text is read; the text limit usually ends earlier. */
const PAGES_MAX = 5_000;

/** Extracts a PDF page by page. Scripts, fonts and images are neither run nor loaded. */
export async function extractPdf(path: string, sink: TextSink): Promise<void> {
  const bytes = new Uint8Array(await readFile(path));
  const pdf = await getDocumentProxy(bytes, {
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
    verbosity: 0,
  }).catch((error: unknown) => {
    throw new Unreadable(
      error instanceof Error && error.name === "PasswordException" ? "encrypted" : "damaged",
      error,
    );
  });
  try {
    for (let number = 1; number <= Math.min(pdf.numPages, PAGES_MAX) && !sink.isFull; number++) {
      const page = await pdf.getPage(number).catch((error: unknown) => {
        throw new Unreadable("damaged", error);
      });
      const { items } = await page.getTextContent();
      for (const item of items) {
        if (!("str" in item)) continue;
        if (!sink.add(item.str)) break;
        if (item.hasEOL) sink.breakLine();
      }
      sink.breakLine();
      page.cleanup();
    }
  } finally {
    await pdf.destroy();
  }
}
