import { escapeHtml } from "../html/escape.ts";
import { toCodeBlock } from "../markdown/code.ts";
import type { Highlighting } from "../markdown/highlight.ts";

interface NotebookTools {
  readonly className: (names: string) => string;
  readonly highlighting: Highlighting;
  /** Renders a text cell as HTML that is still to be sanitized. */
  readonly markdown: (text: string) => string;
}

/** Maximum length of one output that is shown. */
const OUTPUT_LENGTH_MAX = 64 * 1024;

/** Renders a Jupyter notebook, format 4: its cells and their outputs. Other JSON is shown as code. */
export function renderNotebook(text: string, tools: NotebookTools): string {
  const notebook = parse(text);
  const cells = notebook === undefined ? undefined : listOf(notebook["cells"]);
  if (notebook === undefined || cells === undefined) return toCodeBlock(tools, text, "json");
  const language = languageOf(notebook);
  return cells.map((cell) => renderCell(cell, language, tools)).join("");
}

function renderCell(cell: Record<string, unknown>, language: string, tools: NotebookTools): string {
  const source = toText(cell["source"]);
  const frame = (content: string) => `<div ${tools.className("notebook-cell")}>${content}</div>\n`;
  switch (cell["cell_type"]) {
    case "markdown":
      return frame(tools.markdown(source));
    case "code": {
      const outputs = (listOf(cell["outputs"]) ?? []).map((output) => renderOutput(output, tools));
      return frame(toCodeBlock(tools, source, language) + outputs.join(""));
    }
    default:
      return frame(`<pre>${escapeHtml(source)}</pre>`);
  }
}

function renderOutput(output: Record<string, unknown>, tools: NotebookTools): string {
  const data = isRecord(output["data"]) ? output["data"] : {};
  const shown = (content: string) =>
    `<div ${tools.className("notebook-output")}>${content}</div>\n`;
  const asText = (text: string) =>
    shown(`<pre>${escapeHtml(stripColours(text.slice(0, OUTPUT_LENGTH_MAX)))}</pre>`);
  if (output["output_type"] === "stream") return asText(toText(output["text"]));
  if (output["output_type"] === "error") return asText(toText(output["traceback"], "\n"));
  const html = toText(data["text/html"]);
  if (html !== "") return shown(html.slice(0, OUTPUT_LENGTH_MAX));
  const markdown = toText(data["text/markdown"]);
  if (markdown !== "") return shown(tools.markdown(markdown));
  if (Object.keys(data).some((type) => type.startsWith("image/")))
    return shown("<p>(an image)</p>");
  const plain = toText(data["text/plain"]);
  return plain === "" ? "" : asText(plain);
}

function languageOf(notebook: Record<string, unknown>): string {
  const metadata = isRecord(notebook["metadata"]) ? notebook["metadata"] : {};
  const named = isRecord(metadata["language_info"]) ? metadata["language_info"]["name"] : undefined;
  return typeof named === "string" && /^[\w+#-]{1,40}$/.test(named) ? named : "python";
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    // Not JSON: shown as code.
    return undefined;
  }
}

/** Joins a text, which notebooks write as one string or as a list of lines. */
function toText(value: unknown, joint = ""): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join(joint) : "";
}

function listOf(value: unknown): Record<string, unknown>[] | undefined {
  return Array.isArray(value) ? value.filter(isRecord) : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stripColours(text: string): string {
  return text.replace(/\x1B\[[0-9;]{0,20}m/g, ""); // oxlint-disable-line no-control-regex -- terminal colours begin with it
}
