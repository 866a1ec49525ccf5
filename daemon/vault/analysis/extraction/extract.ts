import { open, stat } from "node:fs/promises";
import { fileTypeFromFile } from "file-type";
import { extractEpub, extractOffice, extractOpenDocument, findPackageType } from "./office.ts";
import { recognizePicture } from "./ocr.ts";
import { type Extraction, Unreadable, type UnreadableReason } from "./outcome.ts";
import { extractPdf } from "./pdf.ts";
import { extractContentLines } from "./content-lines.ts";
import { extractMail, extractMhtml } from "./mail.ts";
import { extractHtml } from "./plain.ts";
import { extractTnef, isTnef } from "./tnef.ts";
import {
  decodeText,
  findDeclaredEncoding,
  hasWideMark,
  looksLikeText,
} from "../../../utilities/text-encoding.ts";
import { explainCompoundFile } from "./compound-file.ts";
import { extractFlatXml, findFlatFormat } from "./flat-xml.ts";
import { extractRtf } from "./rtf.ts";
import { createTextSink, type TextSink } from "./text-sink.ts";

/** A file on this machine to extract text from. */
export interface ExtractionInput {
  readonly path: string;
  /** For types that cannot be detected from bytes, such as Markdown and plain text. */
  readonly filename: string;
  /** Recognizes the text of pictures and scanned pages, which takes seconds a page. */
  readonly recognizes: boolean;
}

/** Bytes of a plain text that are read. */
const PLAIN_BYTES_MAX = 16 * 1024 * 1024;

const PDF = "application/pdf";
const COMPOUND_FILE = "application/x-cfb";

/** A type, and why a part of the text is missing, if not because of the sink's limit. */
interface Read {
  readonly contentType: string;
  readonly missing?: UnreadableReason | undefined;
}

type Extractor = (path: string, sink: TextSink) => Promise<void>;

/** Types of Office Open XML, of which macros, templates and shows have their own. */
const OFFICE =
  /^application\/vnd\.(?:openxmlformats-officedocument|ms-(?:word|excel|powerpoint))\..*/;
/** Types of OpenDocument and of their templates. */
const OPEN_DOCUMENT =
  /^application\/vnd\.oasis\.opendocument\.(?:text|spreadsheet|presentation|graphics)(?:-template)?$/;

function findExtractor(type: string): Extractor | undefined {
  if (OFFICE.test(type)) return extractOffice;
  if (OPEN_DOCUMENT.test(type)) return extractOpenDocument;
  return type === "application/epub+zip" ? extractEpub : undefined;
}

/** Types whose text can only be recognized. */
const pictureTypes: ReadonlySet<string> = new Set([
  "image/bmp",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/tiff",
  "image/webp",
]);

const CALENDAR = "text/calendar";
const CONTACTS = "text/vcard";
const JSON_LINES = "application/x-ndjson";
const SAVED_PAGE = "multipart/related";
/** Types that file-type detects although they are plain text. */
const TEXT_TYPES: ReadonlySet<string> = new Set([
  "application/xml",
  "text/xml",
  CALENDAR,
  CONTACTS,
]);

/** Types of plain text by file extension; the bytes of all of them look alike. */
const plainTypes: Readonly<Record<string, string>> = {
  csv: "text/csv",
  eml: "message/rfc822",
  htm: "text/html",
  html: "text/html",
  ics: CALENDAR,
  json: "application/json",
  jsonl: JSON_LINES,
  markdown: "text/markdown",
  md: "text/markdown",
  mht: SAVED_PAGE,
  mhtml: SAVED_PAGE,
  ndjson: JSON_LINES,
  vcf: CONTACTS,
  xhtml: "text/html",
};

/**
 * Extracts the text of a file. The bytes decide the type; the name decides only among plain texts. Untrusted input:
 * run it in a worker thread under a budget of time and memory.
 */
export async function extract(input: ExtractionInput): Promise<Extraction> {
  const sink = createTextSink();
  const sniffed = await sniff(input.path);
  try {
    const { contentType, missing } = await extractInto(sink, input, sniffed);
    const text = sink.text();
    if (text === "") throw new Unreadable(missing ?? "no_text");
    return {
      kind: "text",
      text,
      contentType,
      missing: missing ?? (sink.isCut ? "too_large" : undefined),
    };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    // A container of old Office files, whose own type only the name tells.
    const contentType = sniffed === COMPOUND_FILE ? undefined : sniffed;
    return { kind: "unreadable", reason: error.reason, contentType };
  }
}

async function extractInto(
  sink: TextSink,
  { path, filename, recognizes }: ExtractionInput,
  sniffed: string | undefined,
): Promise<Read> {
  const { size } = await stat(path);
  if (size === 0) throw new Unreadable("no_text");
  const extractor = sniffed === undefined ? undefined : findExtractor(sniffed);
  if (sniffed === PDF)
    return { contentType: sniffed, missing: await extractPdf(path, sink, recognizes) };
  if (sniffed !== undefined && extractor !== undefined) {
    await extractor(path, sink);
    return { contentType: sniffed };
  }
  if (sniffed !== undefined && pictureTypes.has(sniffed)) {
    if (!recognizes) throw new Unreadable("ocr_off");
    return { contentType: sniffed, missing: await recognizePicture(path, sink) };
  }
  if (sniffed === "application/rtf") {
    const missing = extractRtf(await readHead(path, PLAIN_BYTES_MAX), sink);
    return { contentType: sniffed, missing: size > PLAIN_BYTES_MAX ? "too_large" : missing };
  }
  if (sniffed === COMPOUND_FILE) throw new Unreadable(await explainCompoundFile(path));
  if (sniffed !== undefined && !TEXT_TYPES.has(sniffed)) throw new Unreadable("unsupported_format");
  const bytes = await readHead(path, PLAIN_BYTES_MAX);
  const cut = size > PLAIN_BYTES_MAX ? "too_large" : undefined;
  if (isTnef(bytes)) {
    extractTnef(bytes, sink);
    return { contentType: "application/vnd.ms-tnef", missing: cut };
  }
  if (mayBePdf(bytes, size)) {
    const read = await readHiddenPdf(path, sink, recognizes, looksLikeText(bytes));
    if (read !== undefined) return read;
  }
  if (!looksLikeText(bytes)) throw new Unreadable("unsupported_format");
  const read = await extractPlain(bytes, sink, { filename, sniffed });
  return { ...read, missing: cut ?? read.missing };
}

/** Adds the text of a file without a structure of bytes. Its name decides what it is, where its content does not. */
async function extractPlain(
  bytes: Uint8Array,
  sink: TextSink,
  { filename, sniffed }: { readonly filename: string; readonly sniffed: string | undefined },
): Promise<Read> {
  const isXml = sniffed === "application/xml" || sniffed === "text/xml";
  const extension = /\.([a-z0-9]{1,10})$/i.exec(filename)?.[1]?.toLowerCase() ?? "";
  const named = plainTypes[extension] ?? (isXml ? undefined : sniffed);
  const contentType = named ?? sniffHtml(bytes) ?? "text/plain";
  const isMarkup = isXml || contentType === "text/html";
  const decode = () => decodeText(bytes, isMarkup ? findDeclaredEncoding(bytes) : undefined);
  switch (contentType) {
    case "message/rfc822":
      await extractMail(bytes, sink);
      break;
    case SAVED_PAGE:
      await extractMhtml(bytes, sink);
      break;
    case "text/html":
      extractHtml(decode(), sink);
      break;
    case "application/json":
    case JSON_LINES:
      sink.add(unescapeJson(decode()));
      break;
    case CALENDAR:
    case CONTACTS:
      extractContentLines(decode(), sink);
      break;
    default: {
      const text = decode();
      const flat = contentType === "text/plain" ? findFlatFormat(text) : undefined;
      if (flat !== undefined) {
        const missing = extractFlatXml(text, sink, flat);
        return { contentType: flat.contentType, missing };
      }
      sink.add(text);
    }
  }
  return { contentType };
}

/** Bytes in which the header of a PDF begins (PDF Reference 1.7, appendix H, implementation note 13). */
const PDF_HEADER_BYTES = 1_024;

/** Whether a PDF begins behind other bytes, such as headers of HTTP or commands of a printer. */
function mayBePdf(bytes: Uint8Array, size: number): boolean {
  const head = Buffer.from(bytes.subarray(0, PDF_HEADER_BYTES)).toString("latin1");
  if (!/(?:^|[\r\n\0\s])%PDF-\d\.\d/.test(head)) return false;
  if (!looksLikeText(bytes)) return true;
  const tail = Buffer.from(bytes.subarray(-PDF_HEADER_BYTES)).toString("latin1");
  const end = tail.lastIndexOf("%%EOF");
  // A text about PDF goes on behind the end of its example; a printer's file ends with commands.
  const closing = tail.slice(end + "%%EOF".length).split(/[\r\n]+/);
  const isCommand = (line: string) => line.startsWith(ESCAPE) || line.startsWith("@PJL");
  return (
    size === bytes.length &&
    end !== -1 &&
    closing.every((line) => /^[\s\0]*$/.test(line) || isCommand(line.trimStart()))
  );
}

/** Begins a command to a printer. */
const ESCAPE = "\u001b";

/** Reads a PDF behind other bytes. Undefined for a text that only looks like one. */
async function readHiddenPdf(
  path: string,
  sink: TextSink,
  recognizes: boolean,
  isText: boolean,
): Promise<Read | undefined> {
  try {
    return { contentType: PDF, missing: await extractPdf(path, sink, recognizes) };
  } catch (error) {
    if (error instanceof Unreadable && error.reason === "damaged" && isText) return undefined;
    throw error;
  }
}

/** Returns the type that the first bytes of a file show, if they show one. */
async function sniff(path: string): Promise<string | undefined> {
  // The byte order mark of UTF-16 looks like the start of an MPEG frame.
  if (hasWideMark(await readHead(path, 4))) return undefined;
  const mime = (await fileTypeFromFile(path).catch(() => undefined))?.mime;
  return mime === "application/zip" ? ((await findPackageType(path)) ?? mime) : mime;
}

/** Unescapes characters in JSON, so that a search finds the words that they are in or beside. */
function unescapeJson(json: string): string {
  return json.replace(
    /\\(?:u([0-9a-f]{4})|([bfnrt"\\/]))/gi,
    (whole, hex?: string, letter = "") => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      return JSON_ESCAPES[letter as string] ?? whole;
    },
  );
}

/** A quote in a text ends no word, unlike the one behind it. */
const JSON_ESCAPES: Readonly<Record<string, string>> = {
  ...{ n: "\n", r: "\n", t: "\t", b: " ", f: " ", '"': '"', "\\": "\\", "/": "/" },
};

function sniffHtml(bytes: Uint8Array): string | undefined {
  const head = decodeText(bytes.subarray(0, 1_024)).trimStart().toLowerCase();
  return /^(?:<!doctype html|<html)/.test(head) ? "text/html" : undefined;
}

/** Returns the first bytes of a file, at most `max`. */
async function readHead(path: string, max: number): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const size = Math.min(max, (await file.stat()).size);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
