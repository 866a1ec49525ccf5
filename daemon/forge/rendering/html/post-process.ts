import { resolveLink, toFragment, type RenderContext } from "../context.ts";
import type { Emoji } from "./emoji.ts";
import { decodeText, escapeText, parseAttributes, toTag, walkFlat } from "./flat.ts";
import { createTextRules, type TextRuleOptions } from "./text-rules.ts";

export interface PostProcessOptions extends TextRuleOptions {
  /** Whether headings get ids from their text. */
  readonly hasHeadingIds: boolean;
  readonly emoji: Emoji;
}

/** A heading of the document, as a table of contents lists it. */
export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

export interface PostProcessed {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/**
 * What is done to a rendered document besides its own markup (forge behaviour, 18.5): links resolved, ids prefixed,
 * references and emoji in running text made into links and marks, images made to open by themselves.
 * Takes and gives flat HTML.
 */
export function postProcess(html: string, options: PostProcessOptions): PostProcessed {
  const applyTextRules = createTextRules(options);
  const markUpEmoji = (text: string) => options.emoji.markUp(text) ?? escapeText(text);
  const headings: Heading[] = [];
  const out: string[] = [];
  let links = 0;
  let verbatim = 0;
  let heading:
    | {
        readonly level: number;
        readonly at: number;
        readonly attributes: Map<string, string>;
        text: string;
      }
    | undefined;

  walkFlat(html, {
    open(name, tag) {
      if (name === "a") links += 1;
      if (name === "code" || name === "pre") verbatim += 1;
      const level = headingLevel(name);
      if (level !== undefined) {
        heading = { level, at: out.length, attributes: parseAttributes(tag), text: "" };
        out.push("");
        return;
      }
      out.push(tag.includes(" ") ? rewriteTag(name, tag, links > 0, options) : tag);
    },
    close(name, tag) {
      if (name === "a") links = Math.max(0, links - 1);
      if (name === "code" || name === "pre") verbatim = Math.max(0, verbatim - 1);
      if (heading !== undefined && headingLevel(name) === heading.level) {
        const { at, level, attributes, text } = heading;
        const id = identify(attributes, text, options.hasHeadingIds);
        out[at] = toTag(name, attributes);
        if (id !== undefined) headings.push({ level, id, text: text.trim() });
        heading = undefined;
      }
      out.push(tag);
    },
    text(source) {
      if (heading !== undefined) heading.text += decodeText(source);
      if (verbatim > 0 || !mayNeedRules.test(source)) out.push(source);
      else if (links > 0) out.push(markUpEmoji(decodeText(source)));
      else out.push(applyTextRules(decodeText(source), markUpEmoji));
    },
  });
  if (heading !== undefined) out[heading.at] = toTag(`h${heading.level}`, heading.attributes);
  return { html: out.join(""), headings };
}

/**
 * The id that a heading's text makes (forge behaviour, 18.4): letters, numbers, `_` and `-` in lower case, each blank
 * a hyphen, everything else dropped. Equal texts make equal ids.
 */
function toHeadingId(text: string): string {
  return text
    .trim()
    .replace(/\s/gu, "-")
    .replace(/[^\p{L}\p{N}_-]/gu, "")
    .toLowerCase();
}

const mayNeedRules = /[@:#!]|\[\[|\u20E3|[\xA9\xAE\u203C-\u3299\uD83C-\uD83E]/;

function headingLevel(name: string): number | undefined {
  return /^h[1-6]$/.test(name) ? Number(name.charAt(1)) : undefined;
}

function identify(
  attributes: Map<string, string>,
  text: string,
  hasHeadingIds: boolean,
): string | undefined {
  const own = attributes.get("id");
  if (own !== undefined && own !== "") {
    attributes.set("id", toFragment(own));
    return toFragment(own);
  }
  const made = hasHeadingIds ? toHeadingId(text) : "";
  if (made === "") return undefined;
  const id = `user-content-${made}`;
  attributes.set("id", id);
  return id;
}

function rewriteTag(
  name: string,
  tag: string,
  isInLink: boolean,
  options: PostProcessOptions,
): string {
  const isPlain = name !== "a" && name !== "img" && name !== "video" && name !== "source";
  if (isPlain && !/\s(?:id|name|usemap)=/.test(tag)) return tag;
  const attributes = parseAttributes(tag);
  for (const attribute of ["id", "name"]) {
    const value = attributes.get(attribute);
    if (value !== undefined && value !== "") attributes.set(attribute, toFragment(value));
  }
  const map = attributes.get("usemap");
  if (map?.startsWith("#") === true) attributes.set("usemap", `#${toFragment(map.slice(1))}`);
  const { context } = options;
  switch (name) {
    case "a":
      rewrite(attributes, "href", (href) => toHref(context, href));
      return toTag(name, attributes);
    case "video":
    case "source":
      rewrite(attributes, "src", (src) => resolveLink(context, "media", src));
      return toTag(name, attributes);
    case "img":
      return toImage(attributes, isInLink, options);
    default:
      return toTag(name, attributes);
  }
}

function toImage(
  attributes: Map<string, string>,
  isInLink: boolean,
  { context, decorates }: PostProcessOptions,
): string {
  const source = attributes.get("src");
  if (decorates && source !== undefined && !attributes.has("loading"))
    attributes.set("loading", "lazy");
  if (source === undefined) return toTag("img", attributes);
  const page = resolveLink(context, "page", source);
  attributes.set("src", resolveLink(context, "media", source));
  const image = toTag("img", attributes);
  if (isInLink || /^\s*(?:data:|$)/i.test(source)) return image;
  return `${toTag(
    "a",
    new Map([
      ["href", page],
      ["target", "_blank"],
    ]),
  )}${image}</a>`;
}

function toHref(context: RenderContext, href: string): string {
  return href.startsWith("#")
    ? `#${toFragment(href.slice(1))}`
    : resolveLink(context, "page", href);
}

function rewrite(
  attributes: Map<string, string>,
  name: string,
  change: (value: string) => string,
): void {
  const value = attributes.get(name);
  if (value !== undefined) attributes.set(name, change(value));
}
