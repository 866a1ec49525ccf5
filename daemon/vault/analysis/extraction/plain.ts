import { Parser } from "htmlparser2";
import type { TextSink } from "./text-sink.ts";

/** HTML elements whose text is not displayed, or tells how to read the word before it. */
const HIDDEN = new Set(["script", "style", "template", "noscript", "svg", "head", "rt", "rp"]);
/** HTML elements that form separate lines. */
const BLOCKS =
  /^(address|article|aside|blockquote|br|dd|div|dl|dt|figcaption|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tr|ul|title)$/;

/** Adds the visible text of an HTML page. */
export function extractHtml(html: string, sink: TextSink): void {
  let hidden = 0;
  let superscripts = 0;
  let links = 0;
  const parser = new Parser({
    onopentagname(name) {
      if (HIDDEN.has(name) && name !== "head") hidden += 1;
      if (BLOCKS.test(name)) sink.breakLine();
      // The number of a footnote is not part of the word before it; the 2 of a square metre is.
      if (name === "sup") superscripts += 1;
      if (name === "a") links += 1;
      if ((name === "sup" || name === "a") && superscripts > 0 && links > 0) sink.add(" ");
    },
    ontext(text) {
      if (hidden === 0 && !sink.isCut) sink.add(text.replace(/\s+/g, " "));
    },
    onclosetag(name) {
      if (HIDDEN.has(name) && name !== "head") hidden = Math.max(0, hidden - 1);
      if (BLOCKS.test(name)) sink.breakLine();
      if (name === "sup") superscripts -= 1;
      if (name === "a") links -= 1;
      if (name === "td" || name === "th") sink.add("\t");
    },
  });
  // In pieces, so that a sink at its limit ends a huge page early.
  for (let at = 0; at < html.length && !sink.isCut; at += 65_536)
    parser.write(html.slice(at, at + 65_536));
  parser.end();
}
