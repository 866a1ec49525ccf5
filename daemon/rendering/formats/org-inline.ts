import { escapeHtml } from "../html/escape.ts";

/** What the text of a paragraph, an item or a cell depends on. */
export interface OrgInlineState {
  /** Number of references by the name of their footnote. */
  readonly references: Map<string, number>;
  /** Fragments of the headings by their keys, for links to headings. */
  readonly headings: ReadonlyMap<string, string>;
}

/** Returns the text by which links find a heading: Org ignores case and the number of blanks. */
export const toHeadingKey = (text: string) => text.trim().replace(/\s+/g, " ").toLowerCase();

const emphasis: Readonly<Record<string, string>> = {
  "*": "strong",
  "/": "em",
  _: "u",
  "+": "del",
  "=": "code",
  "~": "code",
};

const inlineMark =
  /\[\[([^[\]\n]{1,2000})\](?:\[([^[\]\n]{0,1000})\])?\]|\[fn:([\w-]{1,60})\]|(?<![^\s\-({'"])([*/_+=~])(?=\S)([^\n]{0,300}?\S)\4(?=$|[\s\-.,:!?;'")}\\[])/gm;

/** Returns a text without its marks, as a reader sees it. */
export function toPlainText(text: string): string {
  return text.replace(inlineMark, (source, target, label, footnote, mark, content) => {
    if (target !== undefined) return label ?? target;
    return mark === undefined ? source : toPlainText(content);
  });
}

/** Renders emphasis, links and references to footnotes. */
export function renderInline(text: string, state: OrgInlineState): string {
  let out = "";
  let end = 0;
  for (const found of text.matchAll(inlineMark)) {
    const [source, target, label, footnote, mark = "", content = ""] = found;
    out += escapeHtml(text.slice(end, found.index));
    end = found.index + source.length;
    if (target !== undefined) out += renderLink(target, label, state);
    else if (footnote !== undefined) out += renderReference(footnote, state);
    else {
      const tag = emphasis[mark] ?? "span";
      out += `<${tag}>${tag === "code" ? escapeHtml(content) : renderInline(content, state)}</${tag}>`;
    }
  }
  return out + escapeHtml(text.slice(end));
}

function renderReference(name: string, { references }: OrgInlineState): string {
  const use = references.get(name) ?? 0;
  references.set(name, use + 1);
  const id = `${use === 0 ? "fnref" : `fnref${use}`}:user-content-${name}`;
  return `<sup id="${id}"><a href="#fn:user-content-${name}">${name} </a></sup>`;
}

function renderLink(
  target: string,
  label: string | undefined,
  { headings }: Pick<OrgInlineState, "headings">,
): string {
  const fragment = headings.get(toHeadingKey(target.replace(/^\*/, "")));
  if (fragment !== undefined) {
    const shown = escapeHtml(label ?? target.replace(/^\*/, ""));
    return `<a href="#${escapeHtml(fragment)}">${shown}</a>`;
  }
  const address = toAddress(target);
  const isImage = (text: string) => /\.(?:png|jpe?g|gif|svg|webp|avif|bmp)$/i.test(text);
  if (label === undefined && isImage(address))
    return `<img src="${escapeHtml(address)}" alt="${escapeHtml(target)}">`;
  const shown =
    label !== undefined && isImage(label)
      ? `<img src="${escapeHtml(toAddress(label))}" alt="${escapeHtml(label)}">`
      : escapeHtml(label ?? target);
  return `<a href="${escapeHtml(address)}">${shown}</a>`;
}

/** Returns the address of a link: `file:other.org::*Heading` leads to the file. */
function toAddress(target: string): string {
  const isFile = /^(?:file:|\.{0,2}\/)/.test(target);
  const path = target.replace(/^file:/, "");
  return (isFile ? path.replace(/::.*$/s, "") : path).replaceAll(" ", "%20");
}
