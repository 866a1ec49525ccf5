import { posix } from "node:path";
import type { Archive } from "./archive.ts";
import { Unreadable } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";
import { attributesOf, findRoot, parseXml } from "./xml.ts";
import { addXmlText, type XmlTextRules } from "./xml-text.ts";

/** A link from one part of an Office package to another (ECMA-376 part 2, relationships). */
export interface Relationship {
  readonly id: string;
  /** The last segment of its type, such as `officeDocument` or `notesSlide`, which older and strict files share. */
  readonly type: string;
  /** The name of the part. */
  readonly target: string;
}

/** The main part of a package, and the kind of document that its root element shows. */
export interface MainPart {
  readonly name: string;
  readonly xml: string;
  readonly kind: "document" | "workbook" | "presentation";
}

/** Names of main parts in packages without relationships. */
const USUAL_PARTS = ["word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"];
const KINDS: ReadonlySet<string> = new Set(["document", "workbook", "presentation"]);

/** Finds the main part, whatever its name is. Throws `damaged` for a package without one. */
export async function findMainPart(archive: Archive): Promise<MainPart> {
  const links = await listRelationships(archive, "");
  const named = links.filter(({ type }) => type === "officeDocument").map(({ target }) => target);
  for (const name of [...named, ...USUAL_PARTS]) {
    const xml = await archive.read(name);
    if (xml === undefined) continue;
    const kind = findRoot(xml)?.local ?? "";
    if (KINDS.has(kind)) return { name, xml, kind: kind as MainPart["kind"] };
    // Throws the reason of a part that cannot be parsed.
    parseXml(xml, {});
  }
  throw new Unreadable("damaged");
}

/** Returns the relationships of a part to other parts, in their order; of the package for an empty name. */
export async function listRelationships(archive: Archive, part: string): Promise<Relationship[]> {
  const folder = posix.dirname(part);
  const name = posix.join(folder, "_rels", `${posix.basename(part)}.rels`);
  const xml = await archive.read(name);
  if (xml === undefined) return [];
  return attributesOf(xml, "Relationship").flatMap(({ Id, Type, Target, TargetMode }) => {
    if (Id === undefined || Type === undefined || Target === undefined) return [];
    if (TargetMode?.toLowerCase() === "external") return [];
    const target = findTarget(archive, folder, Target);
    return [{ id: Id, type: Type.split("/").at(-1) ?? "", target }];
  });
}

/** Resolves a target, absolute or relative to the folder of its source; its characters may be escaped. */
function findTarget(archive: Archive, folder: string, target: string): string {
  const path = target.replaceAll("\\", "/").split("#")[0] ?? "";
  const full = path.startsWith("/") ? posix.normalize(path).slice(1) : posix.join(folder, path);
  return archive.has(full) ? full : safeDecode(full);
}

/** Adds the text of all parts of some types to which a part is related. */
export async function addRelated(
  archive: Archive,
  links: readonly Relationship[],
  types: readonly string[],
  sink: TextSink,
  rules: XmlTextRules,
): Promise<void> {
  for (const { type, target } of links)
    if (types.includes(type)) {
      sink.breakLine();
      await addPart(archive, target, sink, rules);
    }
}

/** Adds the text of a part; of a missing one nothing. */
export async function addPart(
  archive: Archive,
  name: string,
  sink: TextSink,
  rules: XmlTextRules,
): Promise<void> {
  const xml = sink.isCut ? undefined : await archive.read(name);
  if (xml !== undefined) addXmlText(xml, sink, rules);
  sink.breakLine();
}

/** Text of Word and of the drawings in all kinds of documents. */
export const officeRules: XmlTextRules = {
  content: new Set(["t"]),
  lines: new Set(["p", "br", "cr", "tr"]),
  spaces: new Set(["tab", "ptab", "tc"]),
  characters: new Map([["noBreakHyphen", "\u2011"]]),
  // Repeats a text box for programs that do not know the newer form beside it; text that was moved away; how to read a word.
  hidden: new Set(["Fallback", "moveFrom", "rt"]),
};

/** Titles and labels of charts, without their numbers. */
export const chartRules: XmlTextRules = {
  content: new Set(["t", "v"]),
  lines: new Set(["p", "pt", "tx"]),
  spaces: new Set(),
  hidden: new Set(["numCache", "numLit", "numDim", "Fallback"]),
};

/** Types of relationships to charts. */
export const CHARTS = ["chart", "chartEx"];

/** Decodes an escaped path; one that is not escaped stays. */
export function safeDecode(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
