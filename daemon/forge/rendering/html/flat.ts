// daemon/forge/rendering/html: HTML as text, from the renderers' output to what is safe to show.
// May import: htmlparser2, sanitize-html and files of this folder. Pure functions, no I/O.
// Start here (the form of HTML that everything works on), then normalise.ts, post-process.ts and sanitize.ts.

/**
 * Flat HTML is what the engine and `normalise` write: tags in lower case with every attribute as `name="value"`,
 * no comments, no raw-text elements, `<` and `>` nowhere but around tags, and no entities but `&amp;`, `&lt;`,
 * `&gt;` and `&quot;`. One regular expression takes it apart.
 */
export interface FlatHandlers {
  /** `source` is the whole tag, `attributes` what stands between its name and `>`. */
  open(name: string, attributes: string, source: string): void;
  close(name: string): void;
  /** Text as written, entities included. */
  text(source: string): void;
}

/** Elements that have no content and no closing tag. */
export const voidElements: ReadonlySet<string> = new Set(
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split(" "),
);

/** Calls the handlers for each tag and each text of `html`, in order. A stray `<` or `>` belongs to the text. */
export function walkFlat(html: string, handlers: FlatHandlers): void {
  const tags = /<(\/?)([a-z][a-z0-9-]*)((?:\s[^<>]*)?)>/g;
  let end = 0;
  for (let found = tags.exec(html); found !== null; found = tags.exec(html)) {
    if (found.index > end) handlers.text(html.slice(end, found.index));
    end = tags.lastIndex;
    const [source, slash, name = "", attributes = ""] = found;
    if (slash === "/") handlers.close(name);
    else handlers.open(name, attributes, source);
  }
  if (end < html.length) handlers.text(html.slice(end));
}

/** The attributes of a flat tag, decoded, in their order; the first of two with one name counts. */
export function parseAttributes(source: string): Map<string, string> {
  const attributes = new Map<string, string>();
  if (source === "") return attributes;
  for (const [, name = "", value = ""] of source.matchAll(/([^\s"=<>]+)(?:="([^"]*)")?/g))
    if (!attributes.has(name)) attributes.set(name, decodeText(value));
  return attributes;
}

/** A flat opening tag. */
export function toTag(name: string, attributes: ReadonlyMap<string, string>): string {
  let tag = `<${name}`;
  for (const [attribute, value] of attributes) tag += ` ${attribute}="${escapeAttribute(value)}"`;
  return `${tag}>`;
}

const textEscapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as flat HTML. */
export function escapeText(text: string): string {
  return /[&<>]/.test(text) ? text.replace(/[&<>]/g, (mark) => textEscapes[mark] ?? mark) : text;
}

/** The value of an attribute as flat HTML, without the quotes. */
export function escapeAttribute(value: string): string {
  return /[&<>"]/.test(value) ? value.replace(/[&<>"]/g, (mark) => textEscapes[mark] ?? mark) : value;
}

const plainTexts: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"' };

/** What flat text says. */
export function decodeText(source: string): string {
  return source.includes("&")
    ? source.replace(/&(?:amp|lt|gt|quot);/g, (entity) => plainTexts[entity] ?? entity)
    : source;
}
