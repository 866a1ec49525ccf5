// daemon/rendering/formats: renderers of formats other than Markdown. Each returns HTML that the caller must
// sanitize. Start here; asciidoc.ts imports a large library and is loaded only when an AsciiDoc file is shown.
import { escapeHtml } from "../html/escape.ts";

/** Maximum part of a table that is shown, with a notice about the rest. */
const ROWS_MAX = 2_500;
const LENGTH_MAX = 512 * 1024;

/** Renders delimiter-separated values as a table with numbered lines; the first row is the head. */
export function renderTable(
  text: string,
  options: { readonly className: (names: string) => string; readonly fileName: string },
): string {
  if (text.trim() === "") return "";
  const { className } = options;
  const delimiter = options.fileName.toLowerCase().endsWith(".tsv") ? "\t" : detectDelimiter(text);
  const shown = text.slice(0, LENGTH_MAX);
  const rows = parseRows(shown, delimiter, ROWS_MAX + 1);
  const isCut = rows.length > ROWS_MAX || shown.length < text.length;
  let out = `<table ${className("data-table")}>`;
  for (const [index, cells] of rows.slice(0, ROWS_MAX).entries()) {
    const tag = index === 0 ? "th" : "td";
    out += `<tr><${tag} ${className("line-num")}>${index + 1}</${tag}>`;
    for (const cell of cells) out += `<${tag}>${escapeHtml(cell)}</${tag}>`;
    out += "</tr>";
  }
  out += "</table>";
  return isCut
    ? `${out}<table ${className("data-table")}><tr><td>The file is too large to be shown in full.</td></tr></table>`
    : out;
}

/**
 * Returns the most frequent delimiter of the first lines; a comma for a table of one column. An at sign in an e-mail
 * address is not a delimiter.
 */
function detectDelimiter(text: string): string {
  const sample = text
    .slice(0, 10_000)
    .replace(/"(?:[^"]|"")*"/g, "")
    .replace(/(?<=[\w.+-])@(?=[\w-]+\.\w)/g, "");
  const counted = [",", ";", "\t", "|", "@"].map((mark) => ({
    mark,
    times: sample.split(mark).length - 1,
  }));
  return counted.reduce((best, next) => (next.times > best.times ? next : best)).mark;
}

/** Parses rows (RFC 4180): a quoted cell may contain the delimiter, line breaks and doubled quotes. */
function parseRows(text: string, delimiter: string, max: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at <= text.length && rows.length < max) {
    const cell =
      text.charAt(at) === '"' ? readQuoted(text, at, delimiter) : readPlain(text, at, delimiter);
    row.push(cell.text);
    at = cell.end;
    if (text.charAt(at) === delimiter) {
      at += 1;
      continue;
    }
    rows.push(row);
    row = [];
    if (at >= text.length - 1) break;
    at += 1;
  }
  return rows;
}

function readPlain(text: string, start: number, delimiter: string): { text: string; end: number } {
  let end = start;
  while (end < text.length && text.charAt(end) !== delimiter && text.charAt(end) !== "\n") end += 1;
  return { text: text.slice(start, end), end };
}

function readQuoted(text: string, start: number, delimiter: string): { text: string; end: number } {
  const quoted = /"((?:[^"]|"")*)"?/y;
  quoted.lastIndex = start;
  const found = quoted.exec(text);
  const rest = readPlain(text, start + (found?.[0].length ?? 0), delimiter);
  return { text: (found?.[1] ?? "").replaceAll('""', '"') + rest.text, end: rest.end };
}
