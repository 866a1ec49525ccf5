import { parseDocument } from "yaml";
import { escapeHtml } from "../html/escape.ts";
import type { DialectEnv } from "./dialect.ts";
import { toIcon } from "./icons.ts";

/** YAML metadata at the start of a document. */
export interface FrontMatter {
  /** The text after the front matter. */
  readonly body: string;
  /** The front matter as written; empty without one. */
  readonly head: string;
  readonly data: ReadonlyMap<string, unknown> | undefined;
  readonly language: string | undefined;
  readonly hasContents: boolean;
  readonly shownAs: "details" | "table" | "nothing";
}

/** Maximum length; bounds the work of the YAML parser. */
const LENGTH_MAX = 16 * 1024;
const DEPTH_MAX = 6;
const CELLS_MAX = 2_000;

/** Splits a text that begins with a YAML mapping between `---` lines into front matter and body. */
export function splitFrontMatter(text: string): FrontMatter {
  const none: FrontMatter = {
    body: text,
    head: "",
    data: undefined,
    language: undefined,
    hasContents: false,
    shownAs: "nothing",
  };
  const found = /^---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n|$)/.exec(
    text.startsWith("---") ? text.slice(0, LENGTH_MAX) : "",
  );
  const data = found === null ? undefined : parseMapping(found[1] ?? "");
  if (found === null || data === undefined) return none;
  const settings = toSettings(data.get("gitea"));
  const contents = data.get("include_toc") ?? settings.contents;
  const language = data.get("lang") ?? settings.language;
  return {
    body: text.slice(found[0].length),
    head: found[0],
    data,
    language: typeof language === "string" ? language : undefined,
    hasContents: contents === true || contents === "true" || contents === "main",
    shownAs: settings.shownAs,
  };
}

/** Renders the front matter as HTML for the top of the document. */
export function renderFrontMatter(
  { data, shownAs }: FrontMatter,
  dialect: Pick<DialectEnv, "className">,
): string {
  if (data === undefined || shownAs === "nothing" || data.size === 0) return "";
  const table = toTable(data, { left: CELLS_MAX }, 0);
  if (shownAs === "table") return table;
  const summary = `${toIcon(dialect, "octicon-table-of-contents", "svg")} ${escapeHtml([...data.keys()].join(", "))}`;
  return `<details ${dialect.className("frontmatter-content")}><summary>${summary}</summary>${table}</details>`;
}

function parseMapping(source: string): ReadonlyMap<string, unknown> | undefined {
  try {
    const document = parseDocument(source, {
      prettyErrors: false,
      strict: false,
      logLevel: "silent",
    });
    if (document.errors.length > 0) return undefined;
    const value: unknown = document.toJS({ mapAsMap: true, maxAliasCount: 16 });
    if (!(value instanceof Map)) return undefined;
    return new Map([...value].map(([key, item]) => [String(key), item as unknown]));
  } catch {
    // Too many aliases or levels for the parser, so it is rendered as text.
    return undefined;
  }
}

function toSettings(
  value: unknown,
): Pick<FrontMatter, "shownAs"> & { contents?: unknown; language?: unknown } {
  const shown = (word: unknown): FrontMatter["shownAs"] =>
    word === "none" ? "nothing" : word === "table" ? "table" : "details";
  if (!(value instanceof Map)) return { shownAs: shown(value) };
  return {
    shownAs: shown(value.get("meta")),
    contents: value.get("include_toc"),
    language: value.get("lang"),
  };
}

function toTable(
  data: ReadonlyMap<unknown, unknown>,
  budget: { left: number },
  depth: number,
): string {
  const heads: string[] = [];
  const cells: string[] = [];
  for (const [key, value] of data) {
    heads.push(`<th>${escapeHtml(String(key))}</th>\n`);
    cells.push(`<td>${toCell(value, budget, depth + 1)}</td>\n`);
  }
  return `<table>\n<thead>\n<tr>\n${heads.join("")}</tr>\n</thead>\n<tbody>\n<tr>\n${cells.join("")}</tr>\n</tbody>\n</table>\n`;
}

function toCell(value: unknown, budget: { left: number }, depth: number): string {
  budget.left -= 1;
  if (budget.left < 0 || depth > DEPTH_MAX) return "…";
  if (value instanceof Map) return toTable(value, budget, depth);
  if (Array.isArray(value)) {
    const rows = value.map((item) => `<tr>\n<td>${toCell(item, budget, depth + 1)}</td>\n</tr>\n`);
    return `<table>\n<tbody>\n${rows.join("")}</tbody>\n</table>\n`;
  }
  return value === null || value === undefined
    ? ""
    : escapeHtml(value instanceof Date ? value.toISOString() : String(value));
}
