// Feeds: Atom (RFC 4287) and RSS 2.0, of the same entries.

/** The forms of a feed, which the ends of addresses name. */
export type FeedFormat = "atom" | "rss";

export interface Feed {
  readonly title: string;
  /** The page that the feed follows. */
  readonly link: string;
  /** RFC 3339. */
  readonly updated: string;
  readonly entries: readonly FeedEntry[];
}

export interface FeedEntry {
  /** Unique and permanent; the link when absent. */
  readonly id?: string;
  readonly title: string;
  readonly link: string;
  readonly updated: string;
  readonly author: string;
  /** Safe HTML. */
  readonly html: string;
}

/** Returns a feed as the response of a page. */
export function toFeed(format: FeedFormat, feed: Feed) {
  const text = format === "atom" ? toAtom(feed) : toRss(feed);
  const contentType = `application/${format}+xml; charset=utf-8`;
  return { kind: "text", contentType, text } as const;
}

function toAtom({ title, link, updated, entries }: Feed): string {
  return toDocument(`<feed xmlns="http://www.w3.org/2005/Atom">`, "</feed>", [
    toElement("title", toText(title)),
    toElement("id", toText(link)),
    `<link href="${toText(link)}"/>`,
    toElement("updated", updated),
    ...entries.map((entry) =>
      toElement("entry", [
        toElement("title", toText(entry.title)),
        toElement("id", toText(entry.id ?? entry.link)),
        `<link href="${toText(entry.link)}"/>`,
        toElement("updated", entry.updated),
        toElement("author", toElement("name", toText(entry.author))),
        `<content type="html">${toText(entry.html)}</content>`,
      ]),
    ),
  ]);
}

function toRss({ title, link, updated, entries }: Feed): string {
  const head = `<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">\n<channel>`;
  return toDocument(head, "</channel>\n</rss>", [
    toElement("title", toText(title)),
    toElement("link", toText(link)),
    toElement("description", toText(title)),
    toElement("pubDate", toMailDate(updated)),
    ...entries.map((entry) =>
      toElement("item", [
        toElement("title", toText(entry.title)),
        toElement("link", toText(entry.link)),
        `<guid isPermaLink="${entry.id === undefined}">${toText(entry.id ?? entry.link)}</guid>`,
        toElement("dc:creator", toText(entry.author)),
        toElement("pubDate", toMailDate(entry.updated)),
        toElement("description", toText(entry.html)),
      ]),
    ),
  ]);
}

const toDocument = (head: string, end: string, content: readonly string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${content.join("\n")}\n${end}\n`;

/** A time as RSS has it (RFC 822). */
const toMailDate = (at: string) => new Date(at).toUTCString();

const toElement = (name: string, content: string | readonly string[]) =>
  `<${name}>${typeof content === "string" ? content : content.join("\n")}</${name}>`;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Returns a text for an element or an attribute, without the characters that XML does not allow. */
export function toText(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- removes control characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replace(/[&<>"]/g, (character) => ESCAPES[character] ?? "")
  );
}
