import { posix } from "node:path";
import { type Archive, inOrder, withArchive } from "./archive.ts";
import {
  addPart,
  addRelated,
  chartRules,
  CHARTS,
  findMainPart,
  listRelationships,
  type MainPart,
  officeRules,
  safeDecode,
} from "./office-package.ts";
import { Unreadable } from "./outcome.ts";
import { extractHtml } from "./plain.ts";
import { addWorkbook } from "./spreadsheet.ts";
import type { TextSink } from "./text-sink.ts";
import { attributesOf, relationOf } from "./xml.ts";
import { addXmlText, openDocumentRules } from "./xml-text.ts";

/** Parts of Word documents whose text belongs to the document, in the order in which it is read. */
const WORD_PARTS = ["header", "footer", "footnotes", "endnotes", "comments"];

/** Extracts a document, workbook or presentation of Office Open XML, a template or one with macros as well. */
export function extractOffice(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    const main = await findMainPart(archive);
    if (main.kind === "document") await addDocument(archive, main, sink);
    else if (main.kind === "presentation") await addPresentation(archive, main, sink);
    else await addWorkbook(archive, main, sink);
  });
}

/** Types of packages that are neither templates nor have macros. */
const PACKAGE_TYPES: Readonly<Record<MainPart["kind"], string>> = {
  document: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  workbook: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  presentation: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
};

/**
 * Returns the type of a ZIP file that is an Office package by its relationships: a detector does not find its list of types
 * when that has a name in other case. Undefined for any other ZIP file.
 */
export async function findPackageType(path: string): Promise<string | undefined> {
  let type: string | undefined;
  try {
    await withArchive(path, async (archive) => {
      if (archive.has("[Content_Types].xml") && archive.has("_rels/.rels"))
        type = PACKAGE_TYPES[(await findMainPart(archive)).kind];
    });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
  }
  return type;
}

/** Adds a Word document: body, diagrams, headers, footers, notes, comments. */
async function addDocument(archive: Archive, main: MainPart, sink: TextSink): Promise<void> {
  addXmlText(main.xml, sink, officeRules);
  sink.breakLine();
  const links = await listRelationships(archive, main.name);
  await addRelated(archive, links, ["diagramData"], sink, officeRules);
  await addRelated(archive, links, CHARTS, sink, chartRules);
  if (links.length > 0) {
    for (const type of WORD_PARTS) await addRelated(archive, links, [type], sink, officeRules);
    return;
  }
  for (const name of archive.names)
    if (/^word\/(header\d*|footer\d*|footnotes|endnotes|comments)\.xml$/.test(name))
      await addPart(archive, name, sink, officeRules);
}

/** Adds a PowerPoint presentation: each slide with its diagrams, charts, notes and comments, in the order of the show. */
async function addPresentation(archive: Archive, main: MainPart, sink: TextSink): Promise<void> {
  const slides = await listSlides(archive, main);
  if (slides.length === 0) throw new Unreadable("no_text");
  for (const slide of slides) {
    await addPart(archive, slide, sink, officeRules);
    const links = await listRelationships(archive, slide);
    await addRelated(archive, links, ["diagramData"], sink, officeRules);
    await addRelated(archive, links, CHARTS, sink, chartRules);
    await addRelated(archive, links, ["notesSlide"], sink, officeRules);
    await addRelated(archive, links, ["comments"], sink, commentRules);
    if (links.length === 0 && /slides\/slide\d+\.xml$/.test(slide)) {
      const notes = slide.replace("slides/slide", "notesSlides/notesSlide");
      if (!(await isLinked(archive, notes))) await addPart(archive, notes, sink, officeRules);
    }
  }
}

/** Comments of a presentation. */
const commentRules = { ...officeRules, content: new Set(["t", "text"]) };

/** Whether notes name their own slide, so that their number says nothing. */
async function isLinked(archive: Archive, notes: string): Promise<boolean> {
  if ((await listRelationships(archive, notes)).some(({ type }) => type === "slide")) return true;
  // In a package with relationships the slide would name its notes.
  return archive.names.some((name) => /slides\/_rels\//i.test(name));
}

/** Slides in the order of the presentation. A slide that it does not list was deleted. */
async function listSlides(archive: Archive, main: MainPart): Promise<string[]> {
  const links = new Map(
    (await listRelationships(archive, main.name)).map((link) => [link.id, link]),
  );
  if (links.size === 0) return inOrder(archive.names, /^ppt\/slides\/slide(\d+)\.xml$/);
  const listed = attributesOf(main.xml, "sldId");
  return listed.flatMap((attributes) => {
    const link = links.get(relationOf(attributes) ?? "");
    return link?.type === "slide" ? [link.target] : [];
  });
}

/** Extracts a text document, spreadsheet or presentation of OpenDocument. */
export function extractOpenDocument(path: string, sink: TextSink): Promise<void> {
  return withArchive(path, async (archive) => {
    if (!archive.has("content.xml")) throw new Unreadable("damaged");
    const manifest = (await archive.read("META-INF/manifest.xml")) ?? "";
    if (manifest.includes("encryption-data")) throw new Unreadable("encrypted");
    await addPart(archive, "content.xml", sink, openDocumentRules);
    const type = (await archive.read("mimetype")) ?? "";
    // Headers and footers. Those of spreadsheets and presentations are placeholders.
    if (type.includes("opendocument.text"))
      await addPart(archive, "styles.xml", sink, openDocumentRules);
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
    const path = posix.join(folder, href.split("#")[0] ?? "");
    return [archive.has(path) ? path : safeDecode(path)];
  });
}
