import type { TextSink } from "./text-sink.ts";
import { parseXml } from "./xml.ts";

/** Converts the elements of a format to text, by local name. */
export interface XmlTextRules {
  /** Elements whose text is content; all elements when absent. */
  readonly content?: ReadonlySet<string>;
  /** Elements that end a line. */
  readonly lines: ReadonlySet<string>;
  /** Elements that are converted to a tab or space. */
  readonly spaces: ReadonlySet<string>;
  /** Elements that stand for a character. */
  readonly characters?: ReadonlyMap<string, string>;
  /** Elements whose text is not shown. */
  readonly hidden: ReadonlySet<string>;
  /** White space of the file counts as one space. */
  readonly collapses?: boolean;
}

/** Adds the text of an XML document. Throws `Unreadable` as `parseXml` does, after the text before the error was added. */
export function addXmlText(xml: string, sink: TextSink, rules: XmlTextRules): void {
  let inContent = rules.content === undefined ? 1 : 0;
  let hidden = 0;
  parseXml(xml, {
    open: (local) => {
      if (rules.hidden.has(local)) hidden += 1;
      if (rules.spaces.has(local) && hidden === 0) sink.add("\t");
      const character = hidden === 0 ? rules.characters?.get(local) : undefined;
      if (character !== undefined) sink.add(character);
      if (rules.content?.has(local)) inContent += 1;
    },
    text: (text) => {
      if (inContent === 0 || hidden > 0) return;
      sink.add(rules.collapses === true ? text.replace(/\s+/g, " ") : text);
    },
    close: (local) => {
      if (rules.hidden.has(local)) hidden -= 1;
      if (rules.content?.has(local)) inContent -= 1;
      if (rules.lines.has(local)) sink.breakLine();
    },
  });
}

/** Rules for the content and styles of OpenDocument files (OASIS OpenDocument 1.3). */
export const openDocumentRules: XmlTextRules = {
  content: new Set(["p", "h"]),
  lines: new Set(["p", "h", "line-break", "table-row"]),
  spaces: new Set(["tab", "s", "table-cell", "note", "note-body"]),
  // Text that an author has deleted, how to read a word, and embedded pictures of files without a container.
  hidden: new Set(["tracked-changes", "ruby-text", "binary-data"]),
  collapses: true,
};
