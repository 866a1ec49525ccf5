import { highlight, type Highlighting } from "../markdown/highlight.ts";
import { escapeHtml } from "../html/escape.ts";
import { type OrgInlineState, renderInline, toHeadingKey, toPlainText } from "./org-inline.ts";
import { toHeadingId } from "../html/post-process.ts";

interface OrgTools {
  readonly highlighting: Highlighting;
  readonly className: (names: string) => string;
}

/** State of one rendering. */
interface OrgState extends OrgTools, OrgInlineState {
  readonly footnotes: string[];
}

/**
 * Renders Org mode as HTML that is still to be sanitized: headings, lists, tables, blocks, links, emphasis, footnotes.
 * Property drawers, `LOGBOOK` and clock lines are left out, as Org's own exporters do. `#+INCLUDE` and other keywords
 * that read files are shown as text and never executed. Takes linear time. No library: orga 4.7 takes quadratic time
 * (7.6 s for 90 KB of paragraphs) and overflows the stack at 1,000 headings or list items; uniorg is GPL. Patterns have
 * the flag `s`: without it, `.` stops at U+2028, and the pattern backtracks over all preceding blanks.
 */
export function renderOrg(text: string, tools: OrgTools): string {
  const lines = text.split("\n");
  const state: OrgState = {
    ...tools,
    footnotes: [],
    references: new Map(),
    headings: findHeadings(lines),
  };
  const html = renderLines(lines, state, 0);
  const { footnotes } = state;
  return footnotes.length === 0
    ? html
    : `${html}<div>\n<hr>\n<ol>\n${footnotes.join("")}</ol>\n</div>\n`;
}

const headingLine = /^(\*{1,8})\s+(.*)$/s;
const blockStart = /^\s*#\+begin_(\w+)\b[ \t]*(.*)$/is;
const planningLine = /^\s*(?:SCHEDULED|DEADLINE|CLOSED):/;
const footnoteLine = /^\[fn:([\w-]+)\]\s*(.*)$/s;

/** Renders lines of a document, or of an item of a list, which has no headings and no footnotes. */
function renderLines(lines: readonly string[], state: OrgState, depth: number): string {
  const out: string[] = [];
  let line = 0;
  while (line < lines.length) {
    const current = lines[line] ?? "";
    const heading = depth === 0 ? headingLine.exec(current) : null;
    const block = blockStart.exec(current);
    const drawerEnd = findDrawerEnd(lines, line);
    if (current.trim() === "" || /^\s*(?:#(?:\s|$)|CLOCK: ?\[)/.test(current)) line += 1;
    else if (heading !== null) {
      const { length } = heading[1] ?? "*";
      const id = findProperty(lines, line + 1, "CUSTOM_ID");
      const attribute = id === undefined ? "" : ` id="${escapeHtml(id)}"`;
      const tag = `h${Math.min(6, length)}`;
      out.push(`<${tag}${attribute}>${renderInline(heading[2] ?? "", state)}</${tag}>\n`);
      line += 1;
    } else if (drawerEnd !== undefined) {
      const isHidden = /^\s*:(?:PROPERTIES|LOGBOOK):/i.test(current);
      if (!isHidden) out.push(renderLines(lines.slice(line + 1, drawerEnd), state, depth + 1));
      line = drawerEnd + 1;
    } else if (block !== null) line = renderBlock(lines, line, block, out, state);
    else if (/^\s*#\+/.test(current)) {
      out.push(renderKeyword(current, state));
      line += 1;
    } else if (/^\s*-{5,}\s*$/.test(current)) {
      out.push("<hr>\n");
      line += 1;
    } else if (depth === 0 && footnoteLine.test(current)) line = renderFootnote(lines, line, state);
    else if (/^\s*\|/.test(current)) line = renderTable(lines, line, out, state);
    else if (/^\s*:(?: |$)/.test(current)) line = renderFixed(lines, line, out);
    else if (isItem(current) && depth < LIST_DEPTH_MAX)
      line = renderList(lines, line, out, state, depth);
    else line = renderParagraph(lines, line, out, state);
  }
  return out.join("");
}

/** Maximum number of lines of a drawer; bounds the search for its end. */
const DRAWER_LINES_MAX = 200;

/** Returns the line of `:END:` of a drawer that begins at `start`; undefined for another line. */
function findDrawerEnd(lines: readonly string[], start: number): number | undefined {
  if (!/^\s*:[\w-]+:\s*$/.test(lines[start] ?? "")) return undefined;
  const last = Math.min(lines.length, start + DRAWER_LINES_MAX);
  for (let line = start + 1; line < last; line += 1) {
    const current = lines[line] ?? "";
    if (/^\s*:END:\s*$/i.test(current)) return line;
    if (headingLine.test(current)) return undefined;
  }
  return undefined;
}

/** Returns a property of the drawer that follows a heading and its planning line. */
function findProperty(lines: readonly string[], start: number, name: string): string | undefined {
  const at = planningLine.test(lines[start] ?? "") ? start + 1 : start;
  if (!/^\s*:PROPERTIES:\s*$/i.test(lines[at] ?? "")) return undefined;
  const end = findDrawerEnd(lines, at) ?? at;
  for (const line of lines.slice(at + 1, end)) {
    const [, key = "", value = ""] = /^\s*:([\w-]+):\s*(.*)$/s.exec(line) ?? [];
    if (key.toUpperCase() === name && value.trim() !== "") return value.trim();
  }
  return undefined;
}

/** Returns the fragment of each heading by its text. */
function findHeadings(lines: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    const [, , text] = headingLine.exec(line) ?? [];
    if (text === undefined) continue;
    const fragment = findProperty(lines, index + 1, "CUSTOM_ID") ?? toHeadingId(toPlainText(text));
    const title = text.replace(/\s+:[\w:@#%]+:\s*$/, "");
    // The state of a task, such as `DONE`, is not part of its title.
    for (const key of [title, title.replace(/^[A-Z]+\s+/, "")].map(toHeadingKey))
      if (!found.has(key)) found.set(key, fragment);
  }
  return found;
}

function renderBlock(
  lines: readonly string[],
  start: number,
  found: RegExpExecArray,
  out: string[],
  state: OrgState,
): number {
  const [, name = "", parameters = ""] = found;
  const kind = name.toLowerCase();
  const closing = `#+end_${kind}`;
  let end = start + 1;
  while (end < lines.length && (lines[end] ?? "").trim().toLowerCase() !== closing) end += 1;
  const content = lines.slice(start + 1, end).join("\n");
  switch (kind) {
    case "src": {
      const language = /^[\w+#-]{1,40}/.exec(parameters)?.[0] ?? "text";
      const code = highlight(content, language, state.highlighting);
      out.push(
        `<div><pre><code ${state.className(`chroma language-${escapeHtml(language)}`)}>${code}</code></pre></div>\n`,
      );
      break;
    }
    case "quote":
    case "verse":
    case "center":
      out.push(`<blockquote>\n<p>${renderInline(content, state)}</p>\n</blockquote>\n`);
      break;
    case "comment":
      break;
    default:
      out.push(`<pre>${escapeHtml(content)}</pre>\n`);
  }
  return end + 1;
}

function renderKeyword(line: string, state: OrgState): string {
  const [, name = "", value = ""] = /^\s*#\+(\w+):?\s*(.*)$/s.exec(line) ?? [];
  switch (name.toUpperCase()) {
    case "TITLE":
      return `<h1>${renderInline(value, state)}</h1>\n`;
    case "INCLUDE":
    case "SETUPFILE":
      return `<p>${escapeHtml(line.trim())}</p>\n`;
    default:
      return "";
  }
}

/** Renders a footnote, which ends at the next one, at a heading and at two blank lines. */
function renderFootnote(lines: readonly string[], start: number, state: OrgState): number {
  const [, label = "", first = ""] = footnoteLine.exec(lines[start] ?? "") ?? [];
  let end = start + 1;
  while (end < lines.length) {
    const current = lines[end] ?? "";
    if (footnoteLine.test(current) || headingLine.test(current)) break;
    if (current.trim() === "" && (lines[end + 1] ?? "").trim() === "") break;
    end += 1;
  }
  const content = renderLines([first, ...lines.slice(start + 1, end)], state, 1).trimEnd();
  const back = ` <a href="#fnref:user-content-${label}">\u21a9\ufe0e</a>`;
  const isText = content.endsWith("</p>");
  const text = isText ? content.slice(0, -"</p>".length) : `${content}\n<p>`;
  state.footnotes.push(`<li id="fn:user-content-${label}">\n${text}${back}</p>\n</li>\n`);
  return end;
}

function renderTable(
  lines: readonly string[],
  start: number,
  out: string[],
  state: OrgState,
): number {
  let end = start;
  while (end < lines.length && /^\s*\|/.test(lines[end] ?? "")) end += 1;
  const rows = lines.slice(start, end).map((row) => row.trim());
  const hasHead = /^\|-/.test(rows[1] ?? "");
  const toRow = (row: string, tag: string) => {
    const cells = row.replace(/^\|/, "").replace(/\|$/, "").split("|");
    return `<tr>\n${cells.map((cell) => `<${tag}>${renderInline(cell.trim(), state)}</${tag}>\n`).join("")}</tr>\n`;
  };
  const body = rows.filter((row, index) => !/^\|-/.test(row) && !(hasHead && index === 0));
  const head = hasHead ? `<thead>\n${toRow(rows[0] ?? "", "th")}</thead>\n` : "";
  out.push(
    `<table>\n${head}<tbody>\n${body.map((row) => toRow(row, "td")).join("")}</tbody>\n</table>\n`,
  );
  return end;
}

function renderFixed(lines: readonly string[], start: number, out: string[]): number {
  let end = start;
  while (end < lines.length && /^\s*:(?: |$)/.test(lines[end] ?? "")) end += 1;
  const content = lines.slice(start, end).map((line) => line.replace(/^\s*: ?/, ""));
  out.push(`<pre>${escapeHtml(content.join("\n"))}</pre>\n`);
  return end;
}

const itemMark = /^(\s*)([-+]|\d{1,9}[.)])(?:\s+|$)/;
const LIST_DEPTH_MAX = 50;

function isItem(line: string): boolean {
  return itemMark.test(line);
}

function renderList(
  lines: readonly string[],
  start: number,
  out: string[],
  state: OrgState,
  depth: number,
): number {
  const [, indent = "", mark = ""] = itemMark.exec(lines[start] ?? "") ?? [];
  const tag = /\d/.test(mark) ? "ol" : "ul";
  out.push(`<${tag}>\n`);
  let line = start;
  while (line < lines.length) {
    const found = itemMark.exec(lines[line] ?? "");
    if (found === null || (found[1] ?? "").length < indent.length) break;
    const end = findItemEnd(lines, line + 1, (found[1] ?? "").length);
    const first = (lines[line] ?? "").slice(found[0].length);
    out.push(`<li>${renderItem(first, lines.slice(line + 1, end), state, depth)}</li>\n`);
    line = end;
    // One blank line between two items of a kind does not end the list.
    const next = itemMark.exec(lines[line + 1] ?? "");
    const isSameKind = next !== null && /\d/.test(next[2] ?? "") === (tag === "ol");
    if ((lines[line] ?? "").trim() === "" && isSameKind) line += 1;
  }
  out.push(`</${tag}>\n`);
  return line;
}

/** Returns the line after an item: less or equally indented, or the first of two blank lines. */
function findItemEnd(lines: readonly string[], start: number, indent: number): number {
  let end = start;
  let blank = 0;
  for (let line = start; line < lines.length; line += 1) {
    const current = lines[line] ?? "";
    if (current.trim() === "") {
      blank += 1;
      if (blank === 2) break;
      continue;
    }
    if (indentOf(current) <= indent) break;
    blank = 0;
    end = line + 1;
  }
  return end;
}

const indentOf = (line: string) => line.length - line.trimStart().length;

/** Renders an item: the lines of its text, then everything else in it, such as lists and blocks. */
function renderItem(
  first: string,
  rest: readonly string[],
  state: OrgState,
  depth: number,
): string {
  let textEnd = 0;
  while (textEnd < rest.length && isText(rest[textEnd] ?? "")) textEnd += 1;
  const text = [first, ...rest.slice(0, textEnd).map((line) => line.trim())].join("\n");
  const more = rest.slice(textEnd);
  const indents = more.filter((line) => line.trim() !== "").map(indentOf);
  const indent = indents.reduce((least, next) => Math.min(least, next), Infinity);
  const dedented = more.map((line) => line.slice(Math.min(indent, indentOf(line))));
  const below = renderLines(dedented, state, depth + 1);
  return renderItemText(text, state) + (below === "" ? "" : `\n${below}`);
}

function renderItemText(text: string, state: OrgState): string {
  const [, box, boxed] = /^\[([ xX-])\]\s+([\s\S]*)$/.exec(text) ?? [];
  if (box !== undefined && boxed !== undefined)
    return `<input type="checkbox" disabled=""${/x/i.test(box) ? ' checked=""' : ""}>${renderInline(boxed, state)}`;
  const split = text.indexOf(" :: ");
  return split === -1
    ? renderInline(text, state)
    : `<strong>${renderInline(text.slice(0, split), state)}</strong> ${renderInline(text.slice(split + 4), state)}`;
}

/** Whether a line continues a paragraph. */
function isText(line: string): boolean {
  return !/^\s*(?:$|#|\||:(?: |$)|-{5,}\s*$)|^(?:\*+ |\[fn:[\w-]+\])/.test(line) && !isItem(line);
}

function renderParagraph(
  lines: readonly string[],
  start: number,
  out: string[],
  state: OrgState,
): number {
  let end = start + 1;
  while (end < lines.length && isText(lines[end] ?? "") && !endsParagraph(lines, end)) end += 1;
  const text = lines
    .slice(start, end)
    .map((line) => line.trim())
    .join("\n");
  out.push(`<p>${renderInline(text, state)}</p>\n`);
  return end;
}

/** Whether a drawer or a clock line begins at a line, or the planning line of a task ends before it. */
function endsParagraph(lines: readonly string[], at: number): boolean {
  const current = lines[at] ?? "";
  return (
    /^\s*CLOCK: ?\[/.test(current) ||
    findDrawerEnd(lines, at) !== undefined ||
    (planningLine.test(lines[at - 1] ?? "") && headingLine.test(lines[at - 2] ?? ""))
  );
}
