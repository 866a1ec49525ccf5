import { Parser } from "htmlparser2";
import { DEPTH_MAX, RenderLimitError } from "../document.ts";
import type { Emoji } from "./emoji.ts";
import { escapeHtml } from "./escape.ts";
import { withoutPlaceholders } from "./held-code.ts";
import { resolveImageSet, resolveLink, toFragment } from "./links.ts";
import { allowedElements, droppedElements, voidElements } from "./policy.ts";
import { createReferenceRules, type ReferenceOptions } from "./references.ts";

export interface PostProcessOptions extends ReferenceOptions {
  /** Whether headings get ids from their text. */
  readonly hasHeadingIds: boolean;
  /** Whether an id that is taken gets a number: `usage`, `usage-1`. */
  readonly hasUniqueIds: boolean;
  readonly emoji: Emoji;
  /** Prefix of the address of an image that the renderer has embedded in the document. */
  readonly embedded: string;
}

/** A heading of the document, for the table of contents. */
export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

export interface PostProcessed {
  /** Not sanitized. */
  readonly html: string;
  readonly headings: readonly Heading[];
}

type Attributes = Record<string, string>;

interface OpenHeading {
  readonly level: number;
  /** Index of its opening tag in the output. The tag is written at the end of the heading, when its text is known. */
  readonly at: number;
  readonly attributes: Attributes;
  text: string;
}

interface OpenPicture {
  /** Index of its opening tag in the output, written at the end, when the address of its image is known. */
  readonly at: number;
  readonly attributes: Attributes;
  /** Number of open elements, itself included. */
  readonly depth: number;
  /** Address of the link around it; empty for none, undefined before its image. */
  page: string | undefined;
}

const elements: ReadonlySet<string> = new Set(allowedElements);

/**
 * Resolves links, prefixes ids, converts references and emoji in running text to links and marks, and wraps images in
 * links. Accepts any HTML. Removes elements that are not allowed, so that the text around them
 * is one text. Throws `RenderLimitError` when elements nest deeper than 400.
 */
export function postProcess(html: string, options: PostProcessOptions): PostProcessed {
  const applyRules = createReferenceRules(options);
  const markUpEmoji = (plain: string) => options.emoji.markUp(plain) ?? escapeHtml(plain);
  const headings: Heading[] = [];
  const out: string[] = [];
  const open: boolean[] = [];
  let text = "";
  let links = 0;
  let verbatim = 0;
  let dropped = 0;
  let heading: OpenHeading | undefined;
  let picture: OpenPicture | undefined;

  // The parser reports a text in several parts, for example at entities.
  const flushText = () => {
    if (text === "") return;
    if (heading !== undefined) heading.text += withoutPlaceholders(text);
    if (verbatim > 0 || !mayNeedRules.test(text)) out.push(escapeHtml(text));
    else out.push(links > 0 ? markUpEmoji(text) : applyRules(text, markUpEmoji));
    text = "";
  };

  const toUniqueId = createUniqueIds();
  const closeHeading = ({ at, level, attributes, text: title }: OpenHeading) => {
    const id = identify(attributes, title, options, toUniqueId);
    out[at] = toTag(`h${level}`, attributes);
    if (id !== undefined) headings.push({ level, id, text: title.trim() });
    heading = undefined;
  };

  // An image must be a child of its `picture`, otherwise browsers ignore the sources (HTML, 4.8.1).
  const closePicture = ({ at, attributes, page = "" }: OpenPicture) => {
    const tag = toTag("picture", attributes);
    out[at] = page === "" ? tag : `${toTag("a", { href: page, target: "_blank" })}${tag}`;
    if (page !== "") out.push("</a>");
    picture = undefined;
  };

  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (open.length === DEPTH_MAX) throw new RenderLimitError("elements nest too deep");
        if (droppedElements.has(name)) dropped += 1;
        const isAllowed = dropped === 0 && elements.has(name);
        open.push(isAllowed);
        if (!isAllowed) return;
        flushText();
        if (name === "a") links += 1;
        if (name === "code" || name === "pre") verbatim += 1;
        const level = headingLevel(name);
        if (level !== undefined) {
          heading = { level, at: out.length, attributes, text: "" };
          out.push("");
        } else if (name === "picture" && links === 0 && picture === undefined) {
          picture = { at: out.length, attributes, depth: open.length, page: undefined };
          out.push("");
        } else {
          if (name === "a" && picture !== undefined) picture.page = "";
          else if (name === "img" && picture !== undefined)
            picture.page ??= toImagePage(attributes, options) ?? "";
          const isLinked = links > 0 || picture !== undefined;
          out.push(rewriteTag(name, attributes, isLinked, options));
        }
      },
      ontext(part) {
        if (dropped === 0) text += part;
      },
      onclosetag(name) {
        if (droppedElements.has(name)) dropped -= 1;
        const depth = open.length;
        if (open.pop() !== true) return;
        flushText();
        if (name === "a") links -= 1;
        if (name === "code" || name === "pre") verbatim -= 1;
        if (heading !== undefined && headingLevel(name) === heading.level) closeHeading(heading);
        if (!voidElements.has(name)) out.push(`</${name}>`);
        if (picture?.depth === depth) closePicture(picture);
      },
    },
    { decodeEntities: true },
  );
  parser.write(html);
  parser.end();
  flushText();
  return { html: out.join(""), headings };
}

const mayNeedRules = /[@:#!]|\[\[|\u20E3|[\xA9\xAE\u203C-\u3299\uD83C-\uD83E]/;

function headingLevel(name: string): number | undefined {
  return /^h[1-6]$/.test(name) ? Number(name.charAt(1)) : undefined;
}

/** Returns the id of a heading's text: letters, numbers, `_` and `-` in lower case, a hyphen for each blank. */
export function toHeadingId(text: string): string {
  return text
    .trim()
    .replace(/\s/gu, "-")
    .replace(/[^\p{L}\p{N}_-]/gu, "")
    .toLowerCase();
}

function identify(
  attributes: Attributes,
  text: string,
  { hasHeadingIds, hasUniqueIds }: PostProcessOptions,
  toUniqueId: (id: string) => string,
): string | undefined {
  const own = attributes["id"] ?? "";
  const name = own === "" && hasHeadingIds ? toHeadingId(text) : own;
  if (name === "") return undefined;
  const wanted = own === "" ? `user-content-${name}` : toFragment(name);
  const id = hasUniqueIds ? toUniqueId(wanted) : wanted;
  attributes["id"] = id;
  return id;
}

/** Returns a function that appends a number to an id that it has returned before. */
function createUniqueIds(): (id: string) => string {
  const used = new Map<string, number>();
  return (id) => {
    let times = used.get(id) ?? 0;
    let unique = id;
    while (used.has(unique)) {
      times += 1;
      unique = `${id}-${times}`;
    }
    used.set(id, times);
    if (unique !== id) used.set(unique, 0);
    return unique;
  };
}

function toTag(name: string, attributes: Readonly<Attributes>): string {
  let tag = `<${name}`;
  for (const [attribute, value] of Object.entries(attributes))
    if (validAttributeName.test(attribute)) tag += ` ${attribute}="${escapeHtml(value)}"`;
  return `${tag}>`;
}

const validAttributeName = /^[^\s"'<>/=\p{Cc}]+$/u;

function rewriteTag(
  name: string,
  attributes: Attributes,
  isInLink: boolean,
  options: PostProcessOptions,
): string {
  const { context } = options;
  change(attributes, "id", toFragment);
  change(attributes, "name", toFragment);
  change(attributes, "usemap", (map) =>
    map.startsWith("#") ? `#${toFragment(map.slice(1))}` : map,
  );
  switch (name) {
    case "a":
      change(attributes, "href", (href) =>
        href.startsWith("#") ? `#${toFragment(href.slice(1))}` : resolveLink(context, "page", href),
      );
      return toTag(name, attributes);
    case "video":
    case "source":
      change(attributes, "src", (source) => resolveLink(context, "media", source));
      change(attributes, "srcset", (images) => resolveImageSet(context, images));
      return toTag(name, attributes);
    case "img":
      return toImage(attributes, isInLink, options);
    default:
      return toTag(name, attributes);
  }
}

function change(attributes: Attributes, name: string, to: (value: string) => string): void {
  const value = attributes[name];
  if (value !== undefined && value !== "") attributes[name] = to(value);
}

/** Writes an image with a resolved path. An image outside of a link gets a link to itself. */
function toImage(attributes: Attributes, isInLink: boolean, options: PostProcessOptions): string {
  const { context, decorates } = options;
  const { src: source } = attributes;
  const page = toImagePage(attributes, options);
  change(attributes, "srcset", (images) => resolveImageSet(context, images));
  if (source === undefined) return toTag("img", attributes);
  if (decorates) attributes["loading"] ??= "lazy";
  if (!source.startsWith(options.embedded))
    attributes["src"] = resolveLink(context, "media", source);
  const image = toTag("img", attributes);
  if (isInLink || page === undefined) return image;
  return `${toTag("a", { href: page, target: "_blank" })}${image}</a>`;
}

/** Returns the page of an image that is a file. */
function toImagePage(
  { src: source }: Attributes,
  { context, embedded }: PostProcessOptions,
): string | undefined {
  if (source === undefined || source.startsWith(embedded) || /^\s*(?:data:|$)/i.test(source))
    return undefined;
  return resolveLink(context, "page", source);
}
