import { readFile } from "node:fs/promises";
import { fileTypeFromBuffer } from "file-type";
import { Unreadable, type UnreadableReason } from "../../analysis/extraction/outcome.ts";
import { drawFirstPage } from "./pdf-page.ts";
import { drawPicture } from "./picture.ts";
import { writePng } from "./png.ts";

/** Pixels of the longer side of a thumbnail: tiles are 160 wide, and screens have up to two pixels for each. */
const SIDE_MAX = 288;

/** A file on this machine to draw. */
export interface DrawingInput {
  readonly path: string;
}

export type Drawing =
  | { readonly kind: "drawn"; readonly png: Uint8Array }
  | { readonly kind: "undrawable"; readonly reason: UnreadableReason };

/** The types that are drawn, as the bytes show them: no client decides what reads a file. */
const pictures: ReadonlySet<string> = new Set([
  "image/bmp",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/apng",
  "image/tiff",
  "image/webp",
]);

/**
 * Draws a thumbnail of a file as PNG. Untrusted input: run it in a worker thread under a budget of time and memory.
 */
export async function draw({ path }: DrawingInput): Promise<Drawing> {
  try {
    const bytes = await readFile(path);
    const type = (await fileTypeFromBuffer(bytes).catch(() => undefined))?.mime;
    const draws = type === "application/pdf" ? drawFirstPage : findPictureDrawer(type);
    return { kind: "drawn", png: writePng(await draws(bytes, SIDE_MAX)) };
  } catch (error) {
    if (error instanceof Unreadable) return { kind: "undrawable", reason: error.reason };
    throw error;
  }
}

function findPictureDrawer(type: string | undefined): typeof drawPicture {
  if (type === undefined || !pictures.has(type)) throw new Unreadable("unsupported_format");
  return drawPicture;
}
