import { Parser } from "htmlparser2";
import PostalMime from "postal-mime";
import { Unreadable } from "./outcome.ts";
import type { TextSink } from "./text-sink.ts";

/** HTML elements whose text is not displayed. */
const HIDDEN = new Set(["script", "style", "template", "noscript", "svg", "head"]);
/** Elements of HTML that stand on lines of their own. */
const BLOCKS =
  /^(address|article|aside|blockquote|br|dd|div|dl|dt|figcaption|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tr|ul|title)$/;

/** Decodes text: UTF-8 or UTF-16 by its byte order mark, UTF-8 where it is valid, else Windows-1252. */
export function decodeText(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** Whether bytes look like text: no NUL outside UTF-16, few control characters. */
export function looksLikeText(bytes: Uint8Array): boolean {
  const head = bytes.subarray(0, 8_192);
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (isUtf16) return true;
  let controls = 0;
  for (const byte of head) {
    if (byte === 0) return false;
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27)
      controls += 1;
  }
  return controls * 50 <= head.length;
}

/** Adds the visible text of an HTML page. */
export function extractHtml(html: string, sink: TextSink): void {
  let hidden = 0;
  const parser = new Parser({
    onopentagname(name) {
      if (HIDDEN.has(name) && name !== "head") hidden += 1;
      if (BLOCKS.test(name)) sink.breakLine();
    },
    ontext(text) {
      if (hidden === 0 && !sink.isCut) sink.add(text.replace(/\s+/g, " "));
    },
    onclosetag(name) {
      if (HIDDEN.has(name) && name !== "head") hidden = Math.max(0, hidden - 1);
      if (BLOCKS.test(name)) sink.breakLine();
      if (name === "td" || name === "th") sink.add("\t");
    },
  });
  // In pieces, so that a sink at its limit ends a huge page early.
  for (let at = 0; at < html.length && !sink.isCut; at += 65_536)
    parser.write(html.slice(at, at + 65_536));
  parser.end();
}

/** Adds subject, addresses, body and names of attachments of a mail message. Attachments are not read. */
export async function extractMail(bytes: Uint8Array, sink: TextSink): Promise<void> {
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: 20 }).catch((error: unknown) => {
    throw new Unreadable("damaged", error);
  });
  const names = [mail.from, ...(mail.to ?? []), ...(mail.cc ?? [])].flatMap((one) =>
    one === undefined ? [] : [one.name, one.address],
  );
  for (const line of [mail.subject, names.filter(Boolean).join(" "), mail.date]) {
    if (line) sink.add(line);
    sink.breakLine();
  }
  if (mail.text) sink.add(mail.text);
  else if (mail.html) extractHtml(mail.html, sink);
  for (const { filename } of mail.attachments) {
    sink.breakLine();
    if (filename) sink.add(filename);
  }
}
