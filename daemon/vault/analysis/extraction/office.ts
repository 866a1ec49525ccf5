import { posix } from "node:path";
import { SaxesParser, type SaxesTagPlain } from "saxes";
import { type Archive, openArchive } from "./archive.ts";
import { Unreadable } from "./outcome.ts";
import { extractHtml } from "./plain.ts";
import type { TextSink } from "./text-sink.ts";

/** Deepest nesting of XML elements; real documents stay below 50. */
const DEPTH_MAX = 256;

/** Converts the elements of a format to text, by local name. */
interface Rules {
  /** Elements whose text is content; all elements when absent. */
  readonly content?: ReadonlySet<string>;
  /** Elements that end a line. */
  readonly lines: ReadonlySet<string>;
  /** Elements that are converted to a tab or space. */
  readonly spaces: ReadonlySet<string>;
}

const wordRules: Rules = {
  content: new Set(["t"]),
  lines: new Set(["p", "br", "tr"]),
  spaces: new Set(["tab", "tc"]),
};
const openDocumentRules: Rules = {
  lines: new Set(["p", "h", "line-break", "table-row"]),
  spaces: new Set(["tab", "s", "table-cell"]),
};

/** Extracts a Word document: body, headers, footers, notes. */
export function extractDocx(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    const parts = archive.names.filter((name) =>
      /^word\/(document|header\d*|footer\d*|footnotes|endnotes)\.xml$/.test(name),
    );
    if (!parts.includes("word/document.xml")) throw new Unreadable("damaged");
    for (const part of [
      "word/document.xml",
      ...parts.filter((name) => name !== "word/document.xml"),
    ])
      await readXml(archive, part, sink, wordRules);
  });
}

/** Extracts a PowerPoint presentation, slide by slide with its notes. */
export function extractPptx(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    const slides = inOrder(archive.names, /^ppt\/slides\/slide(\d+)\.xml$/);
    if (slides.length === 0)
      throw new Unreadable(archive.has("ppt/presentation.xml") ? "no_text" : "damaged");
    for (const slide of slides) {
      await readXml(archive, slide, sink, wordRules);
      await readXml(
        archive,
        slide.replace("slides/slide", "notesSlides/notesSlide"),
        sink,
        wordRules,
      );
    }
  });
}

/** Extracts an Excel workbook: the cells of each sheet, a line a row. */
export function extractXlsx(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    const sheets = inOrder(archive.names, /^xl\/worksheets\/sheet(\d+)\.xml$/);
    if (sheets.length === 0) throw new Unreadable("damaged");
    const shared = await readSharedStrings(archive);
    for (const sheet of sheets) {
      await readSheet(archive, sheet, shared, sink);
      sink.breakLine();
    }
  });
}

/** Extracts a text document, spreadsheet or presentation of OpenDocument. */
export function extractOpenDocument(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    if (!archive.has("content.xml")) throw new Unreadable("damaged");
    const manifest = (await archive.read("META-INF/manifest.xml")) ?? "";
    if (manifest.includes("encryption-data")) throw new Unreadable("encrypted");
    await readXml(archive, "content.xml", sink, openDocumentRules);
  });
}

/** Extracts a book in the order of its spine. */
export function extractEpub(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    if (archive.has("META-INF/encryption.xml")) {
      const encryption = (await archive.read("META-INF/encryption.xml")) ?? "";
      // Fonts may be obfuscated in books that are otherwise open.
      if (/\.x?html/i.test(encryption)) throw new Unreadable("encrypted");
    }
    for (const chapter of await listChapters(archive)) {
      if (sink.isCut) return;
      const html = await archive.read(chapter);
      if (html !== undefined) extractHtml(html, sink);
      sink.breakLine();
    }
  });
}

async function listChapters(archive: Archive): Promise<string[]> {
  const container = (await archive.read("META-INF/container.xml")) ?? "";
  const packagePath = attributesOf(container, "rootfile")[0]?.["full-path"];
  const description = packagePath === undefined ? undefined : await archive.read(packagePath);
  if (packagePath === undefined || description === undefined) throw new Unreadable("damaged");
  const items = new Map(
    attributesOf(description, "item").map(({ id, href }) => [id ?? "", href ?? ""]),
  );
  const folder = posix.dirname(packagePath);
  return attributesOf(description, "itemref").flatMap(({ idref }) => {
    const href = items.get(idref ?? "");
    if (href === undefined || href === "") return [];
    return [posix.join(folder, safeDecode(href.split("#")[0] ?? ""))];
  });
}

function safeDecode(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}

async function withArchive(path: string, work: (archive: Archive) => Promise<void>): Promise<void> {
  const archive = await openArchive(path);
  try {
    await work(archive);
  } finally {
    archive.close();
  }
}

/** Names that match, by the number in them. */
function inOrder(names: readonly string[], pattern: RegExp): string[] {
  return names
    .flatMap((name) => {
      const number = pattern.exec(name)?.[1];
      return number === undefined ? [] : [{ name, number: Number(number) }];
    })
    .sort((one, other) => one.number - other.number)
    .map(({ name }) => name);
}

async function readXml(
  archive: Archive,
  name: string,
  sink: TextSink,
  rules: Rules,
): Promise<void> {
  const xml = sink.isCut ? undefined : await archive.read(name);
  if (xml === undefined) return;
  let inContent = rules.content === undefined ? 1 : 0;
  parseXml(xml, {
    open: (local) => {
      if (rules.spaces.has(local)) sink.add("\t");
      if (rules.content?.has(local)) inContent += 1;
    },
    text: (text) => {
      if (inContent > 0) sink.add(text);
    },
    close: (local) => {
      if (rules.content?.has(local)) inContent -= 1;
      if (rules.lines.has(local)) sink.breakLine();
    },
  });
}

async function readSharedStrings(archive: Archive): Promise<readonly string[]> {
  const strings: string[] = [];
  let current = "";
  let inText = false;
  parseXml((await archive.read("xl/sharedStrings.xml")) ?? "<sst/>", {
    open: (local) => {
      if (local === "si") current = "";
      if (local === "t") inText = true;
    },
    text: (text) => {
      if (inText) current += text;
    },
    close: (local) => {
      if (local === "t") inText = false;
      if (local === "si") strings.push(current);
    },
  });
  return strings;
}

async function readSheet(
  archive: Archive,
  name: string,
  shared: readonly string[],
  sink: TextSink,
): Promise<void> {
  const xml = sink.isCut ? undefined : await archive.read(name);
  if (xml === undefined) return;
  let type = "";
  let value = "";
  let inValue = false;
  parseXml(xml, {
    open: (local, attributes) => {
      if (local === "c") {
        type = attributes["t"] ?? "";
        value = "";
      }
      if (local === "v" || local === "t") inValue = true;
    },
    text: (text) => {
      if (inValue) value += text;
    },
    close: (local) => {
      if (local === "v" || local === "t") inValue = false;
      if (local === "c") {
        const shown = type === "s" ? (shared[Number(value)] ?? "") : value;
        if (shown !== "") sink.add(`${shown}\t`);
      }
      if (local === "row") sink.breakLine();
    },
  });
}

interface XmlHandlers {
  readonly open?: (local: string, attributes: Readonly<Record<string, string>>) => void;
  readonly text?: (text: string) => void;
  readonly close?: (local: string) => void;
}

/**
 * Parses XML. Entities of a document type are not expanded, a document that declares any is refused; so is one that nests
 * deeper than `DEPTH_MAX`.
 */
function parseXml(xml: string, { open, text, close }: XmlHandlers): void {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  const localOf = (name: string) => name.slice(name.indexOf(":") + 1);
  parser.on("doctype", (doctype) => {
    if (doctype.includes("<!ENTITY")) throw new Unreadable("too_complex");
  });
  parser.on("opentag", (tag: SaxesTagPlain) => {
    depth += 1;
    if (depth > DEPTH_MAX) throw new Unreadable("too_complex");
    open?.(localOf(tag.name), tag.attributes);
  });
  parser.on("text", (value) => text?.(value));
  parser.on("cdata", (value) => text?.(value));
  parser.on("closetag", (tag) => {
    depth -= 1;
    close?.(localOf(tag.name));
  });
  parser.on("error", (error) => {
    throw new Unreadable("damaged", error);
  });
  parser.write(xml).close();
}

/** The attributes of every element of a local name. */
function attributesOf(xml: string, name: string): Readonly<Record<string, string>>[] {
  const found: Readonly<Record<string, string>>[] = [];
  parseXml(xml, {
    open: (local, attributes) => {
      if (local === name) found.push({ ...attributes });
    },
  });
  return found;
}
