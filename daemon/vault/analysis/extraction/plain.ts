import { Parser } from "htmlparser2";
import PostalMime from "postal-mime";
import { Unreadable } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";

/** HTML elements whose text is not displayed. */
const HIDDEN = new Set(["script", "style", "template", "noscript", "svg", "head"]);
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

/** Mails within mails that are read. */
const FORWARDED_DEPTH_MAX = 3;

/**
 * Adds subject, addresses, body and names of attachments of a mail message, and the same of mails that are attached to it.
 * Other attachments are not read.
 */
export async function extractMail(bytes: Uint8Array, sink: TextSink, depth = 0): Promise<void> {
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: 20 }).catch((error: unknown) => {
    throw new Unreadable("damaged", error);
  });
  const names = [mail.from, ...(mail.to ?? []), ...(mail.cc ?? [])].flatMap((participant) =>
    participant === undefined ? [] : [participant.name, participant.address],
  );
  for (const line of [mail.subject, names.filter(Boolean).join(" "), mail.date]) {
    if (line) sink.add(line);
    sink.breakLine();
  }
  if (mail.text) sink.add(mail.text);
  else if (mail.html) extractHtml(mail.html, sink);
  for (const { filename, mimeType, content } of mail.attachments) {
    sink.breakLine();
    if (filename) sink.add(filename);
    if (mimeType !== "message/rfc822" || depth >= FORWARDED_DEPTH_MAX) continue;
    sink.breakLine();
    await extractMail(
      typeof content === "string" ? Buffer.from(content) : new Uint8Array(content),
      sink,
      depth + 1,
    );
  }
}
