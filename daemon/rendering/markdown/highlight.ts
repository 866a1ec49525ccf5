import hljs from "highlight.js/lib/common";
import clojure from "highlight.js/lib/languages/clojure";
import cmake from "highlight.js/lib/languages/cmake";
import dart from "highlight.js/lib/languages/dart";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import elixir from "highlight.js/lib/languages/elixir";
import groovy from "highlight.js/lib/languages/groovy";
import haskell from "highlight.js/lib/languages/haskell";
import latex from "highlight.js/lib/languages/latex";
import nginx from "highlight.js/lib/languages/nginx";
import nix from "highlight.js/lib/languages/nix";
import powershell from "highlight.js/lib/languages/powershell";
import properties from "highlight.js/lib/languages/properties";
import protobuf from "highlight.js/lib/languages/protobuf";
import scala from "highlight.js/lib/languages/scala";
import { COLOURED_LINE_MAX } from "../document.ts";
import { escapeHtml, withoutControls } from "../html/escape.ts";
import type { HeldCode } from "../html/held-code.ts";

const more = {
  clojure,
  cmake,
  dart,
  dockerfile,
  elixir,
  groovy,
  haskell,
  latex,
  nginx,
  nix,
  powershell,
  properties,
  protobuf,
  scala,
};
for (const [name, grammar] of Object.entries(more)) hljs.registerLanguage(name, grammar);
const aliases = {
  bash: ["fish"],
  c: ["zig"],
  ini: ["cfg", "conf"],
  javascript: ["node"],
  python: ["python3"],
  shell: ["terminal"],
  sql: ["sqlite", "postgresql", "mysql"],
  xml: ["vue"],
};
for (const [languageName, names] of Object.entries(aliases))
  hljs.registerAliases(names, { languageName });

/** Names of all grammars, without aliases. */
export const languages: readonly string[] = hljs.listLanguages();

/** What is highlighted of one document, in characters. */
export interface Highlighting {
  remaining: number;
  readonly blockMax: number;
  readonly lineMax: number;
  /** Keeps highlighted code and returns a placeholder for it; without this, the code itself is returned. */
  readonly hold?: HeldCode["hold"] | undefined;
}

/**
 * Many grammars take time quadratic in the length of a line or block of hostile code: 1.6 s for 16 KiB of one letter as
 * `ini`. Code beyond these lengths is not highlighted, so that the work for one document is bounded.
 */
export const HIGHLIGHTED_LINE_MAX = 500;
export const HIGHLIGHTED_BLOCK_MAX = 16 * 1024;
export const HIGHLIGHTED_DOCUMENT_MAX = 64 * 1024;

/** Maximum length of a file of code, with a line break at its end: the budget of its thread bounds the work. */
export const HIGHLIGHTED_FILE_MAX = 512 * 1024 + 1;

/** Not a regular expression: it would try to match a long line from each character. */
function hasLongLine(code: string, lineMax: number): boolean {
  return code.split("\n").some((line) => line.length > lineMax);
}

/** Returns the limits of a document that may have blocks of code. */
export function createHighlighting(hold?: HeldCode["hold"]): Highlighting {
  return {
    hold,
    remaining: HIGHLIGHTED_DOCUMENT_MAX,
    blockMax: HIGHLIGHTED_BLOCK_MAX,
    lineMax: HIGHLIGHTED_LINE_MAX,
  };
}

/** Returns the limits of a file that is code as a whole. */
export function createFileHighlighting(hold?: HeldCode["hold"]): Highlighting {
  return {
    hold,
    remaining: HIGHLIGHTED_FILE_MAX,
    blockMax: HIGHLIGHTED_FILE_MAX,
    lineMax: COLOURED_LINE_MAX,
  };
}

/**
 * Returns code as HTML, with `<span class="…">` of Gitea's short classes when the
 * language is known. The text content is the unchanged code.
 */
export function highlight(code: string, language: string, budget: Highlighting): string {
  const grammar = hljs.getLanguage(language);
  const lengthMax = Math.min(budget.blockMax, budget.remaining);
  if (grammar === undefined || code.length > lengthMax || hasLongLine(code, budget.lineMax))
    return escapeHtml(code);
  budget.remaining -= code.length;
  const { value } = hljs.highlight(code, { language, ignoreIllegals: true });
  const html = toShortClasses(value, namesIdentifiers.has(grammar.name ?? ""));
  return budget.hold?.(withoutControls(html)) ?? html;
}

/** Grammars whose identifiers the reference marks as well. */
const namesIdentifiers = new Set(["JavaScript", "TypeScript", "Go"]);

const part = /<span class="([^"]*)">|<\/span>|[^<]+/g;

/** Translates the library's nested spans into flat ones with the reference's classes. */
function toShortClasses(html: string, marksIdentifiers: boolean): string {
  const open: string[] = [];
  let out = "";
  for (const [source, scope] of html.matchAll(part)) {
    if (scope !== undefined) open.push(scope);
    else if (source === "</span>") open.pop();
    else {
      const className = toClass(open.at(-1), source);
      if (className !== undefined) out += `<span class="${className}">${source}</span>`;
      else out += marksIdentifiers ? markIdentifiers(source) : source;
    }
  }
  return out.replaceAll("&#x27;", "'");
}

function markIdentifiers(html: string): string {
  return html.replace(/&[#\w]+;|[A-Za-z_$][\w$]*/g, (source) =>
    source.startsWith("&") ? source : `<span class="nx">${source}</span>`,
  );
}

function toClass(scope: string | undefined, source: string): string | undefined {
  if (scope === undefined) return undefined;
  const [, name = "", part] = /^hljs-(\S+)(?: (\S+)_)?/.exec(scope) ?? [];
  if (name === "string")
    return stringClasses.find(([quote]) => source.startsWith(quote))?.[1] ?? "s";
  if (name === "comment") return /^(?:\/\*|&lt;!--|\(\*|\{-|--\[\[)|\n/.test(source) ? "cm" : "c1";
  if (name === "keyword") return keywordClasses.get(source) ?? "k";
  return classes[`${name} ${part}`] ?? classes[name];
}

/** Keywords that the reference classes by their meaning. */
const keywordClasses = new Map([
  ...[
    "class",
    "const",
    "enum",
    "fn",
    "func",
    "function",
    "interface",
    "let",
    "struct",
    "trait",
    "type",
    "var",
  ].map((word) => [word, "kd"] as const),
  ...["from", "import", "namespace", "package"].map((word) => [word, "kn"] as const),
  ...["False", "None", "True", "false", "nil", "null", "true", "undefined"].map(
    (word) => [word, "kc"] as const,
  ),
]);

const stringClasses = [
  ["&quot;", "s2"],
  ["&#x27;", "s1"],
  ["`", "sb"],
] as const;

/** Pygments' short classes, which the reference uses, by the library's scopes. Other scopes have no class. */
const classes: Readonly<Record<string, string>> = {
  addition: "gi",
  attr: "na",
  attribute: "na",
  built_in: "nb",
  bullet: "o",
  char: "se",
  code: "s",
  deletion: "gd",
  doctag: "cs",
  emphasis: "ge",
  formula: "s",
  keyword: "k",
  link: "nl",
  literal: "kc",
  meta: "cp",
  "meta prompt": "gp",
  name: "nt",
  number: "mi",
  operator: "o",
  property: "na",
  punctuation: "p",
  quote: "c1",
  regexp: "sr",
  section: "gh",
  "selector-attr": "na",
  "selector-class": "nc",
  "selector-id": "nf",
  "selector-pseudo": "nd",
  "selector-tag": "nt",
  strong: "gs",
  symbol: "ss",
  "template-tag": "cp",
  "template-variable": "nv",
  title: "nf",
  "title class": "nc",
  type: "kt",
  variable: "nv",
  "variable constant": "no",
  "variable language": "nb",
};
