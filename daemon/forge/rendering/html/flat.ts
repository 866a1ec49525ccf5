// daemon/forge/rendering/html: HTML as text, from the renderers' output to what is safe to show.
// May import: htmlparser2, sanitize-html and files of this folder. Pure functions, no I/O.
// Start here (the form of HTML that everything works on), then normalise.ts, post-process.ts and sanitize.ts.

/**
 * Flat HTML is what the engine and `normalise` write: tags in lower case with every attribute as `name="value"`,
 * no comments, no raw-text elements, `<` and `>` nowhere but around tags, and no entities but `&amp;`, `&lt;`,
 * `&gt;` and `&quot;`. One regular expression takes it apart.
 */
export interface FlatHandlers {
  /** `source` is the whole tag. */
  open(name: string, source: string): void;
  close(name: string, source: string): void;
  /** Text as written, entities included. */
  text(source: string): void;
}

/** Elements that have no content and no closing tag. */
export const voidElements: ReadonlySet<string> = new Set(
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split(
    " ",
  ),
);

/** Calls the handlers for each tag and each text of `html`, in order. A stray `<` or `>` belongs to the text. */
export function walkFlat(html: string, handlers: FlatHandlers): void {
  let textStart = 0;
  let end = -1;
  for (let start = html.indexOf("<"), next = start; start !== -1; start = next) {
    if (end < start) end = html.indexOf(">", start);
    if (end === -1) break;
    next = html.indexOf("<", start + 1);
    // What another `<` comes into before it ends is no tag.
    if (next !== -1 && next < end) continue;
    const isClosing = html.charCodeAt(start + 1) === SLASH;
    const nameStart = isClosing ? start + 2 : start + 1;
    let nameEnd = nameStart;
    while (isNameCode(html.charCodeAt(nameEnd))) nameEnd += 1;
    // A letter first, and after the name the tag's end or a blank.
    const first = html.charCodeAt(nameStart);
    if (first < SMALL_A || first > SMALL_Z) continue;
    if (nameEnd !== end && !isBlank(html.charCodeAt(nameEnd))) continue;
    if (start > textStart) handlers.text(html.slice(textStart, start));
    textStart = end + 1;
    const name = html.slice(nameStart, nameEnd);
    const source = html.slice(start, textStart);
    if (isClosing) handlers.close(name, source);
    else handlers.open(name, source);
  }
  if (textStart < html.length) handlers.text(html.slice(textStart));
}

const SLASH = 0x2f;
const SMALL_A = 0x61;
const SMALL_Z = 0x7a;

function isNameCode(code: number): boolean {
  return (code >= SMALL_A && code <= SMALL_Z) || (code >= 0x30 && code <= 0x39) || code === 0x2d;
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** The attributes of a flat opening tag, decoded, in their order; the first of two with one name counts. */
export function parseAttributes(tag: string): Map<string, string> {
  const attributes = new Map<string, string>();
  const blank = tag.search(/\s/);
  if (blank === -1) return attributes;
  for (const [, name = "", value = ""] of tag
    .slice(blank, -1)
    .matchAll(/([^\s"=<>]+)(?:="([^"]*)")?/g))
    if (!attributes.has(name)) attributes.set(name, decodeText(value));
  return attributes;
}

/** A flat opening tag. */
export function toTag(name: string, attributes: ReadonlyMap<string, string>): string {
  let tag = `<${name}`;
  for (const [attribute, value] of attributes) tag += ` ${attribute}="${escapeAttribute(value)}"`;
  return `${tag}>`;
}

const textEscapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Text as flat HTML. */
export function escapeText(text: string): string {
  return /[&<>]/.test(text) ? text.replace(/[&<>]/g, (mark) => textEscapes[mark] ?? mark) : text;
}

/** The value of an attribute as flat HTML, without the quotes. */
export function escapeAttribute(value: string): string {
  return /[&<>"]/.test(value)
    ? value.replace(/[&<>"]/g, (mark) => textEscapes[mark] ?? mark)
    : value;
}

const plainTexts: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
};

/** What flat text says. */
export function decodeText(source: string): string {
  return source.includes("&")
    ? source.replace(/&(?:amp|lt|gt|quot);/g, (entity) => plainTexts[entity] ?? entity)
    : source;
}
