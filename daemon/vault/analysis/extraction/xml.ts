import { SaxesParser, type SaxesTagPlain } from "saxes";
import { Unreadable } from "./outcome.ts";

/** Deepest nesting of XML elements; real documents stay below 50. */
const DEPTH_MAX = 256;

export interface XmlHandlers {
  readonly open?: (local: string, attributes: Readonly<Record<string, string>>) => void;
  readonly text?: (text: string) => void;
  readonly close?: (local: string) => void;
}

/** Parses XML. Refuses a document that declares entities or nests deeper than `DEPTH_MAX`. */
export function parseXml(xml: string, { open, text, close }: XmlHandlers): void {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  const localOf = (name: string) => name.slice(name.indexOf(":") + 1);
  parser.on("doctype", (doctype) => {
    if (doctype.includes("<!ENTITY")) throw new Unreadable("too_complex");
  });
  parser.on("opentag", (tag: SaxesTagPlain) => {
    depth += 1;
    if (depth > DEPTH_MAX) throw new Unreadable("too_complex");
    open?.(localOf(tag.name), tag.attributes);
  });
  parser.on("text", (value) => text?.(value));
  parser.on("cdata", (value) => text?.(value));
  parser.on("closetag", (tag) => {
    depth -= 1;
    close?.(localOf(tag.name));
  });
  parser.on("error", (error) => {
    throw new Unreadable("damaged", error);
  });
  parser.write(xml).close();
}

/** Characters in which the root element begins; comments may come before it. */
const ROOT_CHARACTERS_MAX = 65_536;

/** Returns the root element of text that may be XML; undefined for other text. */
export function findRoot(
  text: string,
): { readonly local: string; readonly attributes: Readonly<Record<string, string>> } | undefined {
  if (!/^\s*</.test(text.slice(0, 256))) return undefined;
  let root: { local: string; attributes: Readonly<Record<string, string>> } | undefined;
  try {
    parseXml(text.slice(0, ROOT_CHARACTERS_MAX), {
      open: (local, attributes) => {
        root ??= { local, attributes: { ...attributes } };
      },
    });
  } catch (error) {
    // The text ends in the middle of the document, and may not be XML.
    if (!(error instanceof Unreadable)) throw error;
  }
  return root;
}

/** Returns the relationship that an element names: the attribute `id` of a namespace, beside its own `id`. */
export function relationOf(attributes: Readonly<Record<string, string>>): string | undefined {
  return Object.entries(attributes).find(([name]) => name.endsWith(":id"))?.[1];
}

/** The attributes of every element of a local name. */
export function attributesOf(xml: string, name: string): Readonly<Record<string, string>>[] {
  const found: Readonly<Record<string, string>>[] = [];
  parseXml(xml, {
    open: (local, attributes) => {
      if (local === name) found.push({ ...attributes });
    },
  });
  return found;
}
