import { highlight, type Highlighting } from "../markdown/highlight.ts";
import { escapeHtml } from "../html/escape.ts";

interface OrgTools {
  readonly highlighting: Highlighting;
  readonly className: (names: string) => string;
}

/**
 * Renders Org mode as HTML that is still to be sanitized: headings, lists, tables, blocks, links, emphasis, footnotes.
 * `#+INCLUDE` and other keywords that read files are shown as text and never executed (forge behaviour, 18.7). Takes
 * linear time. No library: orga 4.7 takes quadratic time (7.6 s for 90 KB of paragraphs) and overflows the stack at
 * 1,000 headings or list items; uniorg is GPL. Patterns have the flag `s`: without it, `.` stops at U+2028, and the
 * pattern backtracks over all preceding blanks.
 */
export function renderOrg(text: string, tools: OrgTools): string {
  const lines = text.split("\n");
  const out: string[] = [];
  const footnotes: string[] = [];
  let line = 0;
  while (line < lines.length) {
    const current = lines[line] ?? "";
    const heading = /^(\*{1,8})\s+(.*)$/s.exec(current);
    const block = /^\s*#\+begin_(\w+)\b[ \t]*(.*)$/is.exec(current);
    if (current.trim() === "" || /^\s*#(?:\s|$)/.test(current) || /^\s*:[\w-]+:/.test(current))
      line += 1;
    else if (heading !== null) {
      const level = Math.min(6, heading[1]?.length ?? 1);
      out.push(`<h${level}>${renderInline(heading[2] ?? "")}</h${level}>\n`);
      line += 1;
    } else if (block !== null) line = renderBlock(lines, line, block, out, tools);
    else if (/^\s*#\+/.test(current)) {
      out.push(renderKeyword(current));
      line += 1;
    } else if (/^\s*-{5,}\s*$/.test(current)) {
      out.push("<hr>\n");
      line += 1;
    } else if (/^\[fn:[\w-]+\]/.test(current)) {
      footnotes.push(renderFootnote(current));
      line += 1;
    } else if (/^\s*\|/.test(current)) line = renderTable(lines, line, out);
    else if (/^\s*: /.test(current)) line = renderFixed(lines, line, out);
    else if (isItem(current)) line = renderList(lines, line, out, 0);
    else line = renderParagraph(lines, line, out);
  }
  if (footnotes.length > 0) out.push(`<div>\n<hr>\n<ol>\n${footnotes.join("")}</ol>\n</div>\n`);
  return out.join("");
}

function renderBlock(
  lines: string[],
  start: number,
  found: RegExpExecArray,
  out: string[],
  tools: OrgTools,
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
      const code = highlight(content, language, tools.highlighting);
      out.push(
        `<div><pre><code ${tools.className(`chroma language-${escapeHtml(language)}`)}>${code}</code></pre></div>\n`,
      );
      break;
    }
    case "quote":
    case "verse":
    case "center":
      out.push(`<blockquote>\n<p>${renderInline(content)}</p>\n</blockquote>\n`);
      break;
    case "comment":
      break;
    default:
      out.push(`<pre>${escapeHtml(content)}</pre>\n`);
  }
  return end + 1;
}

function renderKeyword(line: string): string {
  const [, name = "", value = ""] = /^\s*#\+(\w+):?\s*(.*)$/s.exec(line) ?? [];
  switch (name.toUpperCase()) {
    case "TITLE":
      return `<h1>${renderInline(value)}</h1>\n`;
    case "INCLUDE":
    case "SETUPFILE":
      return `<p>${escapeHtml(line.trim())}</p>\n`;
    default:
      return "";
  }
}

function renderFootnote(line: string): string {
  const [, label = "", text = ""] = /^\[fn:([\w-]+)\]\s*(.*)$/s.exec(line) ?? [];
  return `<li id="fn:user-content-${label}">\n<p>${renderInline(text)} <a href="#fnref:user-content-${label}">\u21a9\ufe0e</a></p>\n</li>\n`;
}

function renderTable(lines: string[], start: number, out: string[]): number {
  let end = start;
  while (end < lines.length && /^\s*\|/.test(lines[end] ?? "")) end += 1;
  const rows = lines.slice(start, end).map((row) => row.trim());
  const hasHead = /^\|-/.test(rows[1] ?? "");
  const toRow = (row: string, tag: string) => {
    const cells = row.replace(/^\|/, "").replace(/\|$/, "").split("|");
    return `<tr>\n${cells.map((cell) => `<${tag}>${renderInline(cell.trim())}</${tag}>\n`).join("")}</tr>\n`;
  };
  const body = rows.filter((row, index) => !/^\|-/.test(row) && !(hasHead && index === 0));
  const head = hasHead ? `<thead>\n${toRow(rows[0] ?? "", "th")}</thead>\n` : "";
  out.push(
    `<table>\n${head}<tbody>\n${body.map((row) => toRow(row, "td")).join("")}</tbody>\n</table>\n`,
  );
  return end;
}

function renderFixed(lines: string[], start: number, out: string[]): number {
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

function renderList(lines: string[], start: number, out: string[], depth: number): number {
  const [, indent = "", mark = ""] = itemMark.exec(lines[start] ?? "") ?? [];
  const tag = /\d/.test(mark) ? "ol" : "ul";
  out.push(`<${tag}>\n`);
  let line = start;
  while (line < lines.length) {
    const found = itemMark.exec(lines[line] ?? "");
    if (found === null || (found[1] ?? "").length < indent.length) break;
    if ((found[1] ?? "").length > indent.length && depth < LIST_DEPTH_MAX) {
      out.push("<li>\n");
      line = renderList(lines, line, out, depth + 1);
      out.push("</li>\n");
      continue;
    }
    const content = [(lines[line] ?? "").slice(found[0].length)];
    line += 1;
    while (line < lines.length && isContinuation(lines[line] ?? "", indent.length)) {
      content.push((lines[line] ?? "").trim());
      line += 1;
    }
    out.push(`<li>${renderItem(content.join("\n"))}`);
    const next = itemMark.exec(lines[line] ?? "");
    if (next !== null && (next[1] ?? "").length > indent.length && depth < LIST_DEPTH_MAX) {
      out.push("\n");
      line = renderList(lines, line, out, depth + 1);
    }
    out.push("</li>\n");
  }
  out.push(`</${tag}>\n`);
  return line;
}

function isContinuation(line: string, indent: number): boolean {
  return line.trim() !== "" && !isItem(line) && line.length - line.trimStart().length > indent;
}

function renderItem(text: string): string {
  const [, box, boxed] = /^\[([ xX-])\]\s+([\s\S]*)$/.exec(text) ?? [];
  if (box !== undefined && boxed !== undefined)
    return `<input type="checkbox" disabled=""${/x/i.test(box) ? ' checked=""' : ""}>${renderInline(boxed)}`;
  const split = text.indexOf(" :: ");
  return split === -1
    ? renderInline(text)
    : `<strong>${renderInline(text.slice(0, split))}</strong> ${renderInline(text.slice(split + 4))}`;
}

function renderParagraph(lines: string[], start: number, out: string[]): number {
  let end = start + 1;
  while (
    end < lines.length &&
    !/^\s*(?:$|#|\||: |\*+ |-{5,}\s*$|\[fn:)/.test(lines[end] ?? "") &&
    !isItem(lines[end] ?? "")
  )
    end += 1;
  out.push(
    `<p>${renderInline(
      lines
        .slice(start, end)
        .map((line) => line.trim())
        .join("\n"),
    )}</p>\n`,
  );
  return end;
}

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

function renderInline(text: string): string {
  let out = "";
  let end = 0;
  for (const found of text.matchAll(inlineMark)) {
    const [source, target, label, footnote, mark = "", content = ""] = found;
    out += escapeHtml(text.slice(end, found.index));
    end = found.index + source.length;
    if (target !== undefined) out += renderLink(target, label);
    else if (footnote !== undefined)
      out += `<sup id="fnref:user-content-${footnote}"><a href="#fn:user-content-${footnote}">${footnote} </a></sup>`;
    else {
      const tag = emphasis[mark] ?? "span";
      out += `<${tag}>${tag === "code" ? escapeHtml(content) : renderInline(content)}</${tag}>`;
    }
  }
  return out + escapeHtml(text.slice(end));
}

function renderLink(target: string, label: string | undefined): string {
  const address = target.replace(/^file:/, "").replaceAll(" ", "%20");
  const isImage = (text: string) => /\.(?:png|jpe?g|gif|svg|webp|avif|bmp)$/i.test(text);
  if (label === undefined && isImage(address))
    return `<img src="${escapeHtml(address)}" alt="${escapeHtml(target)}">`;
  const shown =
    label !== undefined && isImage(label)
      ? `<img src="${escapeHtml(label.replace(/^file:/, "").replaceAll(" ", "%20"))}" alt="${escapeHtml(label)}">`
      : escapeHtml(label ?? target);
  return `<a href="${escapeHtml(address)}">${shown}</a>`;
}
