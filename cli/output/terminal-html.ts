import stringWidth from "string-width";
import type { Style } from "../io.ts";
import { sanitizeText } from "./sanitize.ts";

interface Options {
  /** Cells of a line. */
  readonly width: number;
  readonly style: Style;
}

/** Elements that form a block. */
const blocks =
  /^(?:p|h[1-6]|ul|ol|li|dl|dt|dd|blockquote|pre|div|table|hr|details|summary|section|article|figure)$/;

/** Blocks that a blank line follows. */
const spaced = /^(?:p|h[1-6]|ul|ol|dl|blockquote|pre|table|hr)$/;

/** The longest readable line. */
const WIDTH_MAX = 100;

/**
 * HTML of the forge as text for a terminal: paragraphs wrapped, lists marked, links followed by their address, code
 * indented. Text is made safe for the terminal first.
 */
export function toTerminalText(html: string, { width, style }: Options): string {
  const room = Math.max(20, Math.min(width, WIDTH_MAX));
  const lines: string[] = [];
  const prefixes: string[] = [];
  const lists: { readonly isOrdered: boolean; count: number }[] = [];
  const open: { readonly name: string; readonly href: string | undefined }[] = [];
  let inline = "";
  let mark = "";
  let isCode = false;
  let rows: string[][] | undefined;

  const flush = () => {
    const prefix = prefixes.join("");
    const text = isCode ? inline.replace(/\n$/, "") : inline.trim();
    inline = "";
    if (text === "") return;
    const first = mark === "" ? prefix : prefix.slice(0, -mark.length) + mark;
    mark = "";
    const wrapped = isCode
      ? text.split("\n").map((line) => `    ${line}`)
      : wrap(text, room - stringWidth(prefix));
    lines.push(...wrapped.map((line, index) => (index === 0 ? first : prefix) + line));
  };
  const blank = () => {
    if (lines.length > 0 && lines.at(-1) !== "") lines.push("");
  };
  const paint = (name: string, text: string): string => {
    if (/^(?:strong|b|h[1-6]|th)$/.test(name)) return style.bold(text);
    if (name === "code" && !isCode) return style.yellow(text);
    if (name === "em" || name === "i") return style.dim(text);
    return text;
  };

  const begin = (name: string, attributes: string) => {
    if (blocks.test(name)) flush();
    if (name === "br") inline += "\n";
    else if (name === "img") inline += `[${attributeOf(attributes, "alt") ?? "image"}]`;
    else if (name === "input") inline += attributes.includes("checked") ? "[x] " : "[ ] ";
    else if (name === "hr")
      lines.push(prefixes.join("") + style.dim("-".repeat(Math.min(room, 40))), "");
    else if (name === "ul" || name === "ol") lists.push({ isOrdered: name === "ol", count: 0 });
    else if (name === "li") {
      const list = lists.at(-1);
      if (list !== undefined) list.count += 1;
      mark = list?.isOrdered === true ? `${list.count}. `.padStart(4) : "  - ";
      prefixes.push("    ");
    } else if (name === "blockquote") prefixes.push("| ");
    else if (name === "dd") prefixes.push("    ");
    else if (name === "pre") isCode = true;
    else if (name === "table") rows = [];
    else if (name === "tr") rows?.push([]);
    if (name !== "br" && name !== "img" && name !== "input" && name !== "hr")
      open.push({
        name,
        href: isNamedByText(attributes) ? undefined : attributeOf(attributes, "href"),
      });
  };

  const end = (name: string) => {
    const last = open.pop();
    if (
      name === "a" &&
      last?.href !== undefined &&
      /^[a-z]+:/i.test(last.href) &&
      !inline.endsWith(last.href)
    )
      inline += style.dim(` (${sanitizeText(last.href)})`);
    if ((name === "td" || name === "th") && rows !== undefined) {
      rows.at(-1)?.push(inline.trim().replace(/\s+/g, " "));
      inline = "";
    }
    if (name === "table" && rows !== undefined) {
      lines.push(...toRows(rows).map((line) => prefixes.join("") + line));
      rows = undefined;
    }
    if (blocks.test(name)) flush();
    if (name === "li" || name === "blockquote" || name === "dd") prefixes.pop();
    if (name === "ul" || name === "ol") lists.pop();
    if (name === "pre") isCode = false;
    if (spaced.test(name) && !(lists.length > 0 && /^[uo]l$/.test(name))) blank();
  };

  for (const [, slash, name = "", attributes = "", text] of html.matchAll(
    /<(\/?)([a-z][a-z0-9-]*)([^>]*)>|([^<]+)/g,
  )) {
    if (text === undefined) {
      if (slash === "/") end(name);
      else begin(name, attributes);
    } else {
      const shown = sanitizeText(decode(text));
      const styled = open.reduce(
        (all, { name: element }) => paint(element, all),
        isCode ? shown : shown.replace(/\s+/g, " "),
      );
      if (open.every(({ name: element }) => element !== "svg")) inline += styled;
    }
  }
  flush();
  while (lines.at(-1) === "") lines.pop();
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    let used = 0;
    for (const word of paragraph.trim().split(" ")) {
      const needed = stringWidth(word);
      if (used > 0 && used + 1 + needed > width) {
        lines.push(line);
        line = word;
        used = needed;
      } else {
        line = used === 0 ? word : `${line} ${word}`;
        used += needed + (used === 0 ? 0 : 1);
      }
    }
    lines.push(line);
    return lines;
  });
}

function toRows(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, stringWidth(cell));
  return rows.map((row) =>
    row
      .map((cell, index) => cell + " ".repeat((widths[index] ?? 0) - stringWidth(cell)))
      .join("  "),
  );
}

/** Returns whether the forge made this link from a mention, a reference or an address, so that its text shows its target. */
function isNamedByText(attributes: string): boolean {
  return attributes.includes(" data-markdown-generated-content=");
}

function attributeOf(attributes: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1];
  return found === undefined ? undefined : sanitizeText(decode(found));
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#34;": '"',
  "&#39;": "'",
};

function decode(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#34|#39);/g, (entity) => entities[entity] ?? entity);
}
