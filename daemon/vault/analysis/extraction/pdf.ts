import { readFile, stat } from "node:fs/promises";
import type { PDFPageProxy } from "pdfjs-dist";
import { joinDividedWords } from "./divided-words.ts";
import {
  createRecognizer,
  processorMs,
  RECOGNITION_MS,
  type Recognizer,
  SCANNED_PAGES_MAX,
  PIXELS_MAX,
} from "./ocr.ts";
import { refuseDamaged, Unreadable, type UnreadableReason, toBudgetMs } from "./outcome.ts";
import { readAnnotations } from "./pdf-annotations.ts";
import { openPdf } from "./pdf-js.ts";
import { type Fragment, toReadingOrder } from "./pdf-layout.ts";
import { drawScannedPage, hasPicture } from "./scanned-page.ts";
import type { TextSink } from "./text-sink.ts";

/**
 * Share of the budget of a file after which no further page is read. At the end of the budget the extraction ends without a
 * text, so that the text of the pages so far would be lost.
 */
const READING_SHARE = 0.75;

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
  const bytes = await readFile(path);
  await using pdf = await openPdf(bytes);
  // Of a page whose picture is left out, nothing else says so.
  const unseen = hasHugePicture(bytes) ? "too_large" : undefined;
  const scans = recognizes ? createScanReader(sink, unseen, clock) : createScanFinder(unseen);
  const readingMs = READING_SHARE * toBudgetMs((await stat(path)).size);
  const deadline = clock() + readingMs + (recognizes ? RECOGNITION_MS : 0);
  let isOutOfTime = false;
  let damage: UnreadableReason | undefined;
  try {
    for (let number = 1; number <= pdf.pages && !sink.isCut; number++) {
      isOutOfTime = clock() > deadline;
      if (isOutOfTime) break;
      try {
        const page = await pdf.openPage(number);
        if (!(await addText(page, sink))) await scans.read(page);
        page.cleanup();
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        // The pages behind it may be whole.
        damage ??= error.reason;
      }
      sink.breakLine();
    }
    return damage ?? scans.missing ?? (isOutOfTime ? "timed_out" : undefined);
  } finally {
    scans.close();
  }
}

/** Adds the text of a page and what was typed onto it. Returns whether the page itself has text. */
async function addText(page: PDFPageProxy, sink: TextSink): Promise<boolean> {
  const { items, styles } = await page.getTextContent().catch(refuseDamaged);
  const texts = items.filter((item) => "str" in item);
  const isVertical = ({ fontName }: TextItem) => styles[fontName]?.vertical === true;
  const printed = texts.map(({ str, hasEOL }) => (hasEOL ? `${str}\n` : str)).join("");
  const typed = await readAnnotations(page, printed);
  // Lines of vertical script are columns, and drawn in their order.
  const vertical = texts.filter(isVertical).map(({ str }) => str);
  const horizontal = texts.filter((item) => !isVertical(item));
  const byTurn = Map.groupBy(horizontal, ({ transform }) => turnOf(transform as number[]));
  const upright = [...(byTurn.get(0) ?? []).map((item) => toFragment(item, 0)), ...typed];
  byTurn.delete(0);
  const lines = [
    ...vertical,
    ...toReadingOrder(upright),
    ...[...byTurn].flatMap(([turn, turned]) =>
      toReadingOrder(turned.map((item) => toFragment(item, turn))),
    ),
  ];
  for (const line of joinDividedWords(lines)) {
    if (!sink.add(line)) break;
    sink.breakLine();
  }
  return printed.trim() !== "";
}

/** Quarter turns of a text, counter-clockwise. */
function turnOf([a = 1, b = 0]: readonly number[]): number {
  return (Math.round(Math.atan2(b, a) / (Math.PI / 2)) + 4) % 4;
}

/** The place of a text on a page that is turned so that the text is upright. */
function toFragment({ str, dir, width, height, transform }: TextItem, turn: number): Fragment {
  const [a, b, , , e, f] = transform as number[];
  let [x, y] = [e ?? 0, f ?? 0];
  for (let quarter = 0; quarter < turn; quarter += 1) [x, y] = [y, -x];
  const size = height > 0 ? height : Math.hypot(a ?? 0, b ?? 0);
  return { text: str, x, y, width, height: size, isRightToLeft: dir === "rtl" };
}

type TextItem = Extract<
  Awaited<ReturnType<PDFPageProxy["getTextContent"]>>["items"][number],
  { readonly str: string }
>;

/** Reads pages without text. */
interface ScanReader {
  read(page: PDFPageProxy): Promise<void>;
  /** Why text of these pages is missing. */
  readonly missing: UnreadableReason | undefined;
  close(): void;
}

/**
 * Reads nothing, and looks for pages whose text would have to be recognized.
 * @param unseen why a page without a picture may miss one
 */
function createScanFinder(unseen: UnreadableReason | undefined): ScanReader {
  let missing: UnreadableReason | undefined;
  return {
    get missing() {
      return missing;
    },
    async read(page) {
      if (missing === "ocr_off") return;
      missing = (await hasPicture(page)) ? "ocr_off" : (missing ?? unseen);
    },
    close: () => undefined,
  };
}

/** Recognizes pages until a limit of pages or time. */
function createScanReader(
  sink: TextSink,
  unseen: UnreadableReason | undefined,
  clock: () => number,
): ScanReader {
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
      if (picture === undefined) {
        missing ??= unseen;
        return;
      }
      if (picture === "undecodable") {
        missing ??= "damaged";
        return;
      }
      pages += 1;
      recognizer ??= await createRecognizer();
      recognizer.read(picture, sink);
    },
    close: () => recognizer?.close(),
  };
}

/** Bytes before and behind the width of a picture that its dictionary may have. */
const DICTIONARY_BYTES_MAX = 1_024;

/**
 * Returns whether a PDF file has a picture of more than `PIXELS_MAX` pixels, which pdf.js leaves out of its page without a word.
 * Pictures are streams, whose dictionaries are never compressed (ISO 32000-1, 7.5.7).
 */
function hasHugePicture(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = file.indexOf("/Width"); at !== -1; at = file.indexOf("/Width", at + 1)) {
    const before = file.toString("latin1", Math.max(0, at - DICTIONARY_BYTES_MAX), at);
    const after = file.toString("latin1", at, at + DICTIONARY_BYTES_MAX);
    const dictionary =
      before.slice(before.lastIndexOf(" obj") + 1) + (after.split("stream", 1)[0] ?? "");
    const width = readNumber(dictionary, /\/Width\s{1,8}(\d{1,10})/);
    const height = readNumber(dictionary, /\/Height\s{1,8}(\d{1,10})/);
    if (width * height > PIXELS_MAX) return true;
  }
  return false;
}

function readNumber(dictionary: string, pattern: RegExp): number {
  return Number(pattern.exec(dictionary)?.[1] ?? 0);
}
