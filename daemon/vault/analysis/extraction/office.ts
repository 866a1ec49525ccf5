import { posix } from "node:path";
import { type Archive, inOrder, withArchive } from "./archive.ts";
import { Unreadable } from "./outcome.ts";
import { extractHtml } from "./plain.ts";
import type { TextSink } from "./text-sink.ts";
import { attributesOf } from "./xml.ts";
import { addXmlText, openDocumentRules, type XmlTextRules } from "./xml-text.ts";

const wordRules: XmlTextRules = {
  content: new Set(["t"]),
  lines: new Set(["p", "br", "cr", "tr"]),
  spaces: new Set(["tab", "ptab", "tc"]),
  // Repeats a text box for programs that do not know the newer form beside it.
  hidden: new Set(["Fallback"]),
};

/** Extracts a Word document: body, headers, footers, notes, comments. */
export function extractDocx(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    const parts = archive.names.filter((name) =>
      /^word\/(document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml$/.test(name),
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

/** Extracts a text document, spreadsheet or presentation of OpenDocument. */
export function extractOpenDocument(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    if (!archive.has("content.xml")) throw new Unreadable("damaged");
    const manifest = (await archive.read("META-INF/manifest.xml")) ?? "";
    if (manifest.includes("encryption-data")) throw new Unreadable("encrypted");
    await readXml(archive, "content.xml", sink, openDocumentRules);
    const type = (await archive.read("mimetype")) ?? "";
    // Headers and footers. Those of spreadsheets and presentations are placeholders.
    if (type.includes("opendocument.text"))
      await readXml(archive, "styles.xml", sink, openDocumentRules);
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

async function readXml(
  archive: Archive,
  name: string,
  sink: TextSink,
  rules: XmlTextRules,
): Promise<void> {
  const xml = sink.isCut ? undefined : await archive.read(name);
  if (xml !== undefined) addXmlText(xml, sink, rules);
}
