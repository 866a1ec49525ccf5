import type { PDFPageProxy } from "pdfjs-dist";
import { refuseDamaged } from "./outcome.ts";
import { loadPdfJs } from "./pdf-js.ts";
import type { Fragment } from "./pdf-layout.ts";

/** Flag of an annotation that is neither shown nor printed (ISO 32000-1, 12.5.3). */
const HIDDEN = 2;
/** Size of the text of a field that is larger. */
const FONT_SIZE = 12;
/** Annotations of one page that are read; a form has some hundred. */
const ANNOTATIONS_MAX = 5_000;

/** The members of an annotation that pdf.js reads, as far as they are text of the page. */
interface PdfAnnotation {
  readonly id?: string;
  readonly subtype?: string;
  readonly annotationFlags?: number;
  readonly rect?: readonly number[];
  readonly fieldType?: string;
  readonly fieldValue?: unknown;
  readonly password?: boolean;
  readonly options?: readonly { readonly exportValue?: unknown; readonly displayValue?: unknown }[];
  /** The lines of its appearance. */
  readonly textContent?: readonly string[];
  readonly contentsObj?: { readonly str?: string };
  /** Rich text, which a reader shows where there is neither appearance nor plain text. */
  readonly richText?: { readonly str?: string } | null;
}

/**
 * Returns the text that was typed onto a page: values of form fields and choices (ISO 32000-1, 12.7), free text and stamps
 * (12.5.6.6, 12.5.6.12). A text that is in `printed` already is left out, and a value that several fields show is taken once.
 */
export async function readAnnotations(page: PDFPageProxy, printed: string): Promise<Fragment[]> {
  const annotations = (await page.getAnnotations().catch(refuseDamaged)) as PdfAnnotation[];
  if (annotations.length === 0) return [];
  const hasStamps = annotations.some(({ subtype }) => subtype === "Stamp");
  const stamps = hasStamps ? await readDrawnText(page) : new Map<string, string>();
  const known = new Set<string>();
  const shown = toKey(printed);
  return annotations.slice(0, ANNOTATIONS_MAX).flatMap((annotation) => {
    if (((annotation.annotationFlags ?? 0) & HIDDEN) !== 0) return [];
    const lines = toLines(annotation, stamps).filter((line) => {
      const key = toKey(line);
      if (key.trim() === "" || known.has(key) || shown.includes(key)) return false;
      known.add(key);
      return true;
    });
    return toFragments(lines, annotation.rect ?? []);
  });
}

function toLines(annotation: PdfAnnotation, stamps: ReadonlyMap<string, string>): string[] {
  const { id = "", subtype, textContent, contentsObj, richText } = annotation;
  if (subtype === "Widget") return toValues(annotation).flatMap((value) => value.split(/\r\n?|\n/));
  if (subtype === "Stamp") return (stamps.get(id) ?? "").split("\n");
  if (subtype !== "FreeText") return [];
  const drawn = (textContent ?? []).filter((line) => line.trim() !== "");
  if (drawn.length > 0) return drawn;
  return (contentsObj?.str || (richText?.str ?? "")).split(/\r\n?|\n/);
}

/** Width between letters, in thousandths of the font's size, that is a space. */
const SPACE = -200;

/** The texts that the appearances of annotations draw, by the annotation's id. pdf.js extracts those of fields and free text only. */
async function readDrawnText(page: PDFPageProxy): Promise<ReadonlyMap<string, string>> {
  const { OPS } = await loadPdfJs();
  const { fnArray, argsArray } = await page.getOperatorList().catch(refuseDamaged);
  const texts = new Map<string, string>();
  let id: string | undefined;
  for (const [index, operator] of fnArray.entries()) {
    const args = argsArray[index] as readonly unknown[] | null;
    if (operator === OPS.beginAnnotation) id = String(args?.[0]);
    else if (operator === OPS.endAnnotation) id = undefined;
    if (id === undefined) continue;
    const text = texts.get(id) ?? "";
    if (operator === OPS.showText) texts.set(id, text + toGlyphs(args?.[0]));
    else if (
      operator === OPS.moveText ||
      operator === OPS.setTextMatrix ||
      operator === OPS.nextLine
    )
      texts.set(id, text === "" || text.endsWith("\n") ? text : `${text}\n`);
  }
  return texts;
}

/** The characters of an operator that shows text: glyphs, and distances between them. */
function toGlyphs(shown: unknown): string {
  if (!Array.isArray(shown)) return "";
  return (shown as (number | { readonly unicode?: string } | null)[])
    .map((one) => (typeof one === "number" ? (one < SPACE ? " " : "") : (one?.unicode ?? "")))
    .join("");
}

/** The values of a field as a reader shows them. Buttons have none, those of a password stay secret. */
function toValues({ fieldType, fieldValue, password, options = [] }: PdfAnnotation): string[] {
  if ((fieldType !== "Tx" && fieldType !== "Ch") || password === true) return [];
  const values = Array.isArray(fieldValue) ? (fieldValue as unknown[]) : [fieldValue];
  return values.flatMap((value) => {
    if (typeof value !== "string") return [];
    const option = options.find(({ exportValue }) => exportValue === value);
    return typeof option?.displayValue === "string" ? [option.displayValue] : [value];
  });
}

function toFragments(lines: readonly string[], rect: readonly number[]): Fragment[] {
  const [left = 0, bottom = 0, right = 0, top = 0] = rect;
  const height = Math.min(FONT_SIZE, (top - bottom) / lines.length);
  return lines.map((text, index) => ({
    text,
    x: left,
    // As pdf.js draws it: a single line in the middle, several from the top.
    y: lines.length === 1 ? (bottom + top) / 2 - height / 3 : top - (index + 1) * height,
    width: right - left,
    height,
    isRightToLeft: false,
  }));
}

/** A text for comparison, between spaces so that only whole words are found in another one. */
function toKey(text: string): string {
  return ` ${text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\s.,;:()]+/g, " ")
    .trim()} `;
}
