import PostalMime, { type Email } from "postal-mime";
import { Unreadable } from "./outcome.ts";
import { extractHtml } from "./plain.ts";
import type { TextSink } from "./text-sink.ts";
import { extractTnef, isTnef } from "./tnef.ts";

/** Mails within mails that are read. */
const FORWARDED_DEPTH_MAX = 3;

/**
 * Adds subject, addresses, body and names of attachments of a mail message, and the same of mails that are attached to it.
 * Of a `winmail.dat` the body and the names of its attachments are added. Other attachments are not read.
 */
export async function extractMail(bytes: Uint8Array, sink: TextSink, depth = 0): Promise<void> {
  const mail = await parseMail(bytes);
  const names = [mail.from, ...(mail.to ?? []), ...(mail.cc ?? [])].flatMap((participant) =>
    participant === undefined ? [] : [participant.name, participant.address],
  );
  for (const line of [mail.subject, names.filter(Boolean).join(" "), mail.date]) {
    if (line) sink.add(line);
    sink.breakLine();
  }
  // A plain part without a text says nothing: another one is the message (RFC 2046, 5.1.4).
  if (mail.text !== undefined && /[^\s\p{Cf}]/u.test(mail.text)) sink.add(mail.text);
  else if (mail.html) extractHtml(mail.html, sink);
  for (const { filename, mimeType, content } of mail.attachments) {
    sink.breakLine();
    const attached = typeof content === "string" ? Buffer.from(content) : new Uint8Array(content);
    if (isTnef(attached)) {
      extractTnef(attached, sink);
      continue;
    }
    if (filename) sink.add(filename);
    if (mimeType !== "message/rfc822" || depth >= FORWARDED_DEPTH_MAX) continue;
    sink.breakLine();
    await extractMail(attached, sink, depth + 1);
  }
}

/** Adds the title and text of a page that was saved with its pictures in one file (MHTML, RFC 2557). */
export async function extractMhtml(bytes: Uint8Array, sink: TextSink): Promise<void> {
  const { subject, text, html } = await parseMail(bytes);
  if (subject) sink.add(subject);
  sink.breakLine();
  if (html) extractHtml(html, sink);
  else if (text) sink.add(text);
}

function parseMail(bytes: Uint8Array): Promise<Email> {
  return PostalMime.parse(bytes, { maxNestingDepth: 20 }).catch((error: unknown) => {
    throw new Unreadable("damaged", error);
  });
}
