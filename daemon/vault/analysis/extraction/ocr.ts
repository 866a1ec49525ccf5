import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { imageSize } from "image-size";
import type { TesseractModule } from "tesseract.js-core/tesseract-core-simd-lstm.js";
import { Unreadable, type UnreadableReason } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";
import { listTiffPages, selectTiffPage } from "./tiff-pages.ts";

/** Recognizes printed English text in pictures (optical character recognition). */
export type Recognizer = Awaited<ReturnType<typeof createRecognizer>>;

/** Pixels of one picture: a page of A3 at 400 dots per inch. */
export const PIXELS_MAX = 40_000_000;

/** Tesseract's confidence, in percent, below which a word is more likely a stain or a line than text. */
const CONFIDENCE_MIN = 30;

/** The engine of neural networks; the module contains no other. */
const LSTM_ONLY = 1;

/** Scanned pages of one file that are recognized. */
export const SCANNED_PAGES_MAX = 20;

/**
 * Processor time after which no further page is recognized, so that recognition and reading of a PDF together stay
 * within the budget.
 */
export const RECOGNITION_MS = 100_000;

/**
 * Recognizes the text of a picture file, of a TIFF page by page. `clock` measures processor time. Returns why pages are
 * missing from the text, undefined for the whole text. Throws `Unreadable` when the first page cannot be read: `damaged`,
 * or `too_large` for too many pixels.
 */
export async function recognizePicture(
  path: string,
  sink: TextSink,
  clock: () => number = processorMs,
): Promise<UnreadableReason | undefined> {
  const bytes = await readFile(path);
  assertPixels(bytes);
  const endsAt = clock() + RECOGNITION_MS;
  const recognizer = await createRecognizer();
  try {
    recognizer.read(bytes, sink, sizeOf(bytes).orientation);
    const { offsets, isCutOff } = listTiffPages(bytes, SCANNED_PAGES_MAX + 1);
    let missing: UnreadableReason | undefined = isCutOff ? "damaged" : undefined;
    for (const [index, offset] of offsets.entries()) {
      if (index === 0) continue;
      if (sink.isCut) break;
      if (index >= SCANNED_PAGES_MAX) missing ??= "too_large";
      else if (clock() > endsAt) missing ??= "timed_out";
      else {
        const reason = readPage(recognizer, bytes, offset, sink);
        missing ??= reason;
      }
    }
    return missing;
  } finally {
    recognizer.close();
  }
}

/** Recognizes one of the further pages of a TIFF. Returns why its text is missing. */
function readPage(
  recognizer: Recognizer,
  bytes: Uint8Array,
  offset: number,
  sink: TextSink,
): UnreadableReason | undefined {
  try {
    selectTiffPage(bytes, offset);
    assertPixels(bytes);
    sink.breakLine();
    recognizer.read(bytes, sink, sizeOf(bytes).orientation);
    return undefined;
  } catch (error) {
    if (error instanceof Unreadable) return error.reason;
    throw error;
  }
}

/** Refuses a picture with more than `PIXELS_MAX` pixels with `too_large`, before it is decoded. */
export function assertPixels(bytes: Uint8Array): void {
  const { width, height } = sizeOf(bytes);
  if (width * height > PIXELS_MAX) throw new Unreadable("too_large");
}

/** Processor time of this thread; elapsed time where Node cannot measure it (before 23.9). */
export function processorMs(): number {
  if (!("threadCpuUsage" in process)) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * Creates a recognizer. Each file gets its own, with separate memory, so a hostile picture that corrupts the decoder's
 * memory cannot affect other files.
 */
export async function createRecognizer() {
  // Loaded for the first picture, because most daemons never read one.
  const [{ default: createModule }, { default: english }] = await Promise.all([
    import("tesseract.js-core/tesseract-core-simd-lstm.js"),
    import("@tesseract.js-data/eng"),
  ]);
  const quiet = () => {};
  // It prints a line for each problem of a picture; the outcome reports the same.
  const module = await createModule({ print: quiet, printErr: quiet });
  const path = join(english.langPath, "..", "4.0.0_best_int", "eng.traineddata.gz");
  module.FS.writeFile("/eng.traineddata", await promisify(gunzip)(await readFile(path)));
  const api = new module.TessBaseAPI();
  if (api.Init("/", "eng", LSTM_ONLY) !== 0)
    throw new Error("the data for text recognition cannot be loaded");
  return {
    /**
     * Adds the text of a PNG, JPEG, GIF, BMP, TIFF, WebP or PNM file to the sink, a line a line. Throws `Unreadable` with
     * `damaged` when the picture cannot be decoded. Check its pixels first: decoding takes up to eight bytes for each.
     */
    read(picture: Uint8Array, sink: TextSink, orientation: number = 1): void {
      for (const line of readLines(module, api, picture, orientation)) {
        if (!sink.add(line)) return;
        sink.breakLine();
      }
    },
    close: (): void => api.End(),
  };
}

function readLines(
  module: TesseractModule,
  api: InstanceType<TesseractModule["TessBaseAPI"]>,
  picture: Uint8Array,
  orientation: number,
): string[] {
  module.FS.writeFile("/input", picture);
  try {
    if (api.SetImageFile(orientation, 0) !== 0) throw new Unreadable("damaged");
    // A picture of a few pixels has no text.
    if (api.Recognize(null) !== 0) return [];
    return toLines(api.GetTSVText(0));
  } catch (error) {
    // The module throws numbers and runtime errors of WebAssembly when its code fails.
    throw error instanceof Unreadable ? error : new Unreadable("damaged", error);
  } finally {
    api.Clear();
    module.FS.unlink("/input");
  }
}

/** Joins the words of Tesseract's table into lines. Its columns: level, page, block, paragraph, line, word, box, confidence, text. */
function toLines(table: string): string[] {
  const lines = new Map<string, string[]>();
  for (const row of table.split("\n")) {
    const [level, page, block, paragraph, line, , , , , , confidence, word = ""] = row.split("\t");
    if (level !== "5" || Number(confidence) < CONFIDENCE_MIN || word.trim() === "") continue;
    const key = [page, block, paragraph, line].join(" ");
    const words = lines.get(key);
    if (words === undefined) lines.set(key, [word]);
    else words.push(word);
  }
  return [...lines.values()].map((words) => words.join(" "));
}

/** Reads the size and orientation in the header of a picture. */
export function sizeOf(bytes: Uint8Array): ReturnType<typeof imageSize> {
  let size: ReturnType<typeof imageSize>;
  try {
    size = imageSize(bytes);
  } catch (error) {
    throw new Unreadable("damaged", error);
  }
  // A damaged SVG has no number: a comparison with a bound would let it pass.
  if (!(size.width >= 0 && size.height >= 0)) throw new Unreadable("damaged");
  return size;
}
