import { SaxesParser } from "saxes";
import { DavRefusal } from "./refusals.ts";

/** The namespace of the protocol. */
export const DAV = "DAV:";
const XML = "http://www.w3.org/XML/1998/namespace";

export interface XmlName {
  /** The namespace; empty without one. */
  readonly uri: string;
  readonly local: string;
}

export interface XmlElement extends XmlName {
  readonly attributes: readonly (XmlName & { readonly value: string })[];
  /** Elements and texts, in order. */
  readonly children: readonly (XmlElement | string)[];
  /** The language that applies to its texts, as `xml:lang` has it. */
  readonly language: string | undefined;
}

const DEPTH_MAX = 32;
const ELEMENTS_MAX = 4_096;
const ATTRIBUTES_MAX = 8_192;
/** Most characters of the namespaces and languages of all elements: each is written again with each element that has it. */
const INHERITED_CHARACTERS_MAX = 64 * 1024;

/**
 * Parses the body of a request. Refuses with 400 what is not well-formed XML in UTF-8, and document types, which could
 * define entities; with 413 what is too deep or has too many elements.
 */
export function parseXml(body: Uint8Array): XmlElement {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (error) {
    throw new DavRefusal(400, "The body is not UTF-8.", { cause: error });
  }
  const parser = new SaxesParser({ xmlns: true, position: false });
  const open: (XmlElement & { readonly children: (XmlElement | string)[] })[] = [];
  let root: XmlElement | undefined;
  let elements = 0;
  let attributeCount = 0;
  let inherited = 0;
  parser.on("doctype", () => {
    throw new DavRefusal(400, "The body has a document type.");
  });
  parser.on("opentag", ({ uri, local, attributes }) => {
    const own = Object.values(attributes).filter(
      ({ prefix, name }) => prefix !== "xmlns" && name !== "xmlns",
    );
    elements += 1;
    attributeCount += own.length;
    if (open.length >= DEPTH_MAX || elements > ELEMENTS_MAX || attributeCount > ATTRIBUTES_MAX)
      throw new DavRefusal(413, "The body has too many elements, or they are nested too deep.");
    const language =
      own.find((each) => each.uri === XML && each.local === "lang")?.value ?? open.at(-1)?.language;
    for (const name of [{ uri }, ...own]) if (name.uri !== DAV) inherited += name.uri.length;
    inherited += language?.length ?? 0;
    if (inherited > INHERITED_CHARACTERS_MAX)
      throw new DavRefusal(413, "The namespaces and languages of the body are too long.");
    const element = {
      uri,
      local,
      attributes: own.map((each) => ({ uri: each.uri, local: each.local, value: each.value })),
      children: [],
      language,
    };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  const addText = (part: string) => {
    open.at(-1)?.children.push(part);
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    const closed = open.pop();
    if (open.length === 0) root = closed;
  });
  try {
    parser.write(text.replace(/^\uFEFF/, "")).close();
  } catch (error) {
    if (error instanceof DavRefusal) throw error;
    // The parser's own message quotes the body.
    throw new DavRefusal(400, "The body is not well-formed XML.", { cause: error });
  }
  if (root === undefined) throw new DavRefusal(400, "The body is not well-formed XML.");
  return root;
}

/** Returns whether an element has this name of the protocol. */
export function isDav({ uri, local }: XmlName, name: string): boolean {
  return uri === DAV && local === name;
}

/** Returns the elements in an element, without texts. */
export function childrenOf({ children }: XmlElement): XmlElement[] {
  return children.filter((child) => typeof child !== "string");
}

/** Returns the first element of this name of the protocol in an element. */
export function findDav(element: XmlElement, name: string): XmlElement | undefined {
  return childrenOf(element).find((child) => isDav(child, name));
}

/** Writes an element with its namespaces, so that it stands anywhere. `D` is the protocol's in every response. */
export function writeXml(element: XmlElement, inherited?: string): string {
  const { uri, local, attributes, children, language } = element;
  const declared = uri === DAV ? "" : ` xmlns="${escapeAttribute(uri)}"`;
  const name = uri === DAV ? `D:${local}` : local;
  const written = attributes.map((attribute, at) => writeAttribute(attribute, at)).join("");
  const hasLanguage = attributes.some((each) => each.uri === XML && each.local === "lang");
  // The language of an enclosing element that is not stored.
  const said =
    language === undefined || hasLanguage || language === inherited
      ? ""
      : ` xml:lang="${escapeAttribute(language)}"`;
  const content = children
    .map((child) => (typeof child === "string" ? escapeText(child) : writeXml(child, language)))
    .join("");
  const start = `<${name}${declared}${said}${written}`;
  return content === "" ? `${start}/>` : `${start}>${content}</${name}>`;
}

function writeAttribute({ uri, local, value }: XmlName & { value: string }, at: number): string {
  const text = escapeAttribute(value);
  if (uri === "") return ` ${local}="${text}"`;
  if (uri === XML) return ` xml:${local}="${text}"`;
  return ` xmlns:a${at}="${escapeAttribute(uri)}" a${at}:${local}="${text}"`;
}

/** Escapes a text. Characters that XML cannot have become U+FFFD. */
export function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("\r", "&#13;");
}

function escapeAttribute(text: string): string {
  return escapeText(text)
    .replaceAll('"', "&quot;")
    .replaceAll("\t", "&#9;")
    .replaceAll("\n", "&#10;");
}

/** Writes an empty element of any namespace. */
export function writeName({ uri, local }: XmlName): string {
  return uri === DAV ? `<D:${local}/>` : `<${local} xmlns="${escapeAttribute(uri)}"/>`;
}

/** The beginning of every XML response. */
export const XML_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n';
export const XML_TYPE = "application/xml; charset=utf-8";
