import { escapeHtml } from "../html/escape.ts";
import { toCodeBlock } from "../markdown/code.ts";
import type { Highlighting } from "../markdown/highlight.ts";

interface NotebookTools {
  readonly className: (names: string) => string;
  readonly highlighting: Highlighting;
  /** Renders a text cell as HTML that is still to be sanitized. */
  readonly markdown: (text: string) => string;
  /** Prefix by which the sanitizer knows an image that the renderer has embedded. */
  readonly embedded: string;
}

/** The tools, and the length that embedded images may still have: one attachment may be shown many times. */
interface NotebookState extends NotebookTools {
  imagesLeft: number;
}

/** Maximum length of one output that is shown. */
const OUTPUT_LENGTH_MAX = 64 * 1024;
/** Maximum length of all images of a notebook, in base64. */
const IMAGES_LENGTH_MAX = 4 * 1024 * 1024;
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Renders a Jupyter notebook, format 4: its cells and their outputs. Other JSON is shown as code. */
export function renderNotebook(text: string, tools: NotebookTools): string {
  const notebook = parse(text);
  const cells = notebook === undefined ? undefined : listOf(notebook["cells"]);
  if (notebook === undefined || cells === undefined) return toCodeBlock(tools, text, "json");
  const language = languageOf(notebook);
  const state = { ...tools, imagesLeft: IMAGES_LENGTH_MAX };
  return cells.map((cell) => renderCell(cell, language, state)).join("");
}

function renderCell(cell: Record<string, unknown>, language: string, tools: NotebookState): string {
  const source = toText(cell["source"]);
  const frame = (content: string) => `<div ${tools.className("notebook-cell")}>${content}</div>\n`;
  switch (cell["cell_type"]) {
    case "markdown":
      return frame(embedAttachments(tools.markdown(source), cell["attachments"], tools));
    case "code": {
      const outputs = (listOf(cell["outputs"]) ?? []).map((output) => renderOutput(output, tools));
      return frame(toCodeBlock(tools, source, language) + outputs.join(""));
    }
    default:
      return frame(`<pre>${escapeHtml(source)}</pre>`);
  }
}

/** Replaces the images `attachment:name` of a text cell by the images that the cell contains. */
function embedAttachments(html: string, attachments: unknown, tools: NotebookState): string {
  if (!isRecord(attachments)) return html;
  const byAddress = new Map(
    Object.entries(attachments).map(([name, bundle]) => [encodeURI(name.toWellFormed()), bundle]),
  );
  return html.replace(/ src="attachment:([^"]{1,1000})"/g, (source, written: string) => {
    const bundle = byAddress.get(written) ?? byAddress.get(encodeURI(written.toWellFormed()));
    const address = isRecord(bundle) ? toImageAddress(bundle, tools) : undefined;
    return address === undefined ? source : ` src="${address}"`;
  });
}

/** Returns the address of the first image of a MIME bundle; undefined without one, and when all images are too long. */
function toImageAddress(bundle: Record<string, unknown>, tools: NotebookState): string | undefined {
  const type = imageTypes.find((name) => bundle[name] !== undefined);
  const data = type === undefined ? "" : toText(bundle[type]).replace(/\s/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data) || data.length > tools.imagesLeft) return undefined;
  tools.imagesLeft -= data.length;
  return `${tools.embedded}data:${type};base64,${data}`;
}

function renderOutput(output: Record<string, unknown>, tools: NotebookState): string {
  const data = isRecord(output["data"]) ? output["data"] : {};
  const shown = (content: string) =>
    `<div ${tools.className("notebook-output")}>${content}</div>\n`;
  const asText = (text: string) =>
    shown(`<pre>${escapeHtml(stripColours(text.slice(0, OUTPUT_LENGTH_MAX)))}</pre>`);
  if (output["output_type"] === "stream") return asText(toText(output["text"]));
  if (output["output_type"] === "error") return asText(toText(output["traceback"], "\n"));
  const html = withoutStyles(toText(data["text/html"]));
  if (html.trim() !== "") return shown(html.slice(0, OUTPUT_LENGTH_MAX));
  const markdown = toText(data["text/markdown"]);
  if (markdown !== "") return shown(tools.markdown(markdown));
  if (Object.keys(data).some((type) => type.startsWith("image/"))) {
    const address = toImageAddress(data, tools);
    return shown(
      address === undefined ? "<p>(an image)</p>" : `<img src="${address}" alt="an image">`,
    );
  }
  const plain = toText(data["text/plain"]);
  return plain === "" ? "" : asText(plain);
}

/** Removes style sheets and scripts with their content, which would be shown as text: tables of pandas have them. */
function withoutStyles(html: string): string {
  return html.replace(/<(style|script)\b[^<>]*>[\s\S]*?(?:<\/\1\s*>|$)/gi, "");
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
