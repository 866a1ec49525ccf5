import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { imageSize } from "image-size";
import type { TesseractModule } from "tesseract.js-core/tesseract-core-simd-lstm.js";
import { Unreadable } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";

/** Recognizes printed English text in pictures (optical character recognition). */
export interface Recognizer {
  /**
   * Adds the text of a PNG, JPEG, GIF, BMP, TIFF, WebP or PNM file to the sink, a line a line. Throws `Unreadable` with
   * `damaged` when the picture cannot be decoded. Check its pixels first: decoding takes up to eight bytes for each.
   */
  read(picture: Uint8Array, sink: TextSink, orientation?: number): void;
  close(): void;
}

/** Pixels of one picture: a page of A3 at 400 dots per inch. */
export const PIXELS_MAX = 40_000_000;

/** Tesseract's confidence, in percent, below which a word is more likely a stain or a line than text. */
const CONFIDENCE_MIN = 30;

/** The engine of neural networks; the module contains no other. */
const LSTM_ONLY = 1;

/** Recognizes the text of a picture file. Throws `Unreadable`: `damaged`, or `too_large` for too many pixels. */
export async function recognizePicture(path: string, sink: TextSink): Promise<void> {
  const bytes = await readFile(path);
  const { width, height, orientation } = sizeOf(bytes);
  if (width * height > PIXELS_MAX) throw new Unreadable("too_large");
  const recognizer = await createRecognizer();
  try {
    recognizer.read(bytes, sink, orientation);
  } finally {
    recognizer.close();
  }
}

/**
 * Creates a recognizer. Each file gets its own, with memory of its own: what a hostile picture does to the memory of the
 * decoder ends with it.
 */
export async function createRecognizer(): Promise<Recognizer> {
  // Loaded when the first picture comes: most daemons never read one.
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
    read(picture, sink, orientation = 1) {
      for (const line of readLines(module, api, picture, orientation)) {
        if (!sink.add(line)) return;
        sink.breakLine();
      }
    },
    close: () => api.End(),
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

function sizeOf(bytes: Uint8Array): ReturnType<typeof imageSize> {
  try {
    return imageSize(bytes);
  } catch (error) {
    throw new Unreadable("damaged", error);
  }
}
