import { Unreadable, type UnreadableReason } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";
import { findRoot } from "./xml.ts";
import { addXmlText, openDocumentRules, type XmlTextRules } from "./xml-text.ts";

/** A format whose document is one XML file. */
export interface FlatFormat {
  readonly contentType: string;
  readonly rules: XmlTextRules;
}

/** FictionBook 2: title, authors and text of a book, without its pictures. */
const fictionBook: FlatFormat = {
  contentType: "application/x-fictionbook+xml",
  rules: {
    content: new Set([
      ...["book-title", "first-name", "middle-name", "last-name", "nickname"],
      ...["p", "v", "subtitle", "text-author", "td", "th"],
    ]),
    lines: new Set(["book-title", "author", "p", "v", "subtitle", "text-author", "tr"]),
    // The number of a note is a link without a space before it.
    spaces: new Set(["middle-name", "last-name", "nickname", "td", "th", "a"]),
    hidden: new Set(["binary", "stylesheet", "document-info", "publish-info"]),
    collapses: true,
  },
};

/** Detects a flat OpenDocument file or a FictionBook by its root element; undefined for other text. */
export function findFlatFormat(text: string): FlatFormat | undefined {
  const root = findRoot(text);
  if (root?.local === "FictionBook") return fictionBook;
  const type = root?.attributes["office:mimetype"];
  if (root?.local !== "document" || type?.startsWith(OPEN_DOCUMENT) !== true) return undefined;
  const isText = type.startsWith(`${OPEN_DOCUMENT}text`);
  return {
    contentType: `${type}-flat-xml`,
    // Headers and footers. Those of spreadsheets and presentations are placeholders.
    rules: isText
      ? openDocumentRules
      : { ...openDocumentRules, hidden: new Set([...openDocumentRules.hidden, "master-styles"]) },
  };
}

const OPEN_DOCUMENT = "application/vnd.oasis.opendocument.";

/** Adds the text of a file of one of these formats. Returns why a part is missing; the text before an error is added. */
export function extractFlatXml(
  xml: string,
  sink: TextSink,
  { rules }: FlatFormat,
): UnreadableReason | undefined {
  try {
    addXmlText(xml, sink, rules);
    return undefined;
  } catch (error) {
    if (error instanceof Unreadable) return error.reason;
    throw error;
  }
}
