import type { MarkdownIt } from "markdown-it";
import { highlight } from "../highlight/highlight.ts";
import { escapeAttribute, escapeText } from "../html/flat.ts";
import { dialectOf, type DialectEnv } from "./env.ts";

/** Code blocks, fenced and indented, and code spans. */
export function code(engine: MarkdownIt): void {
  const { rules } = engine.renderer;
  rules["fence"] = (tokens, index, _options, env) => {
    const token = tokens[index];
    const info = engine.utils.unescapeAll(token?.info ?? "").trim();
    // The text may end before the block, and before the end of its last line.
    const content = (token?.content ?? "").replace(/[^\n]$/, "$&\n");
    return toCodeBlock(dialectOf(env), content, info);
  };
  rules["code_block"] = (tokens, index, _options, env) => {
    const { className } = dialectOf(env);
    const content = escapeText(tokens[index]?.content ?? "");
    return `<div ${className("code-block-container code-overflow-scroll")}><pre ${className("code-block")}><code>${content}</code></pre></div>\n`;
  };
  rules["code_inline"] = (tokens, index, _options, env) => {
    const content = tokens[index]?.content ?? "";
    const preview = isColour(content)
      ? `<span ${dialectOf(env).className("color-preview")} style="background-color: ${escapeAttribute(content)}"></span>`
      : "";
    return `<code>${escapeText(content)}${preview}</code>`;
  };
}

/** A block of code with its frame; the language is what comes before the first blank, comma or colon of `info`. */
export function toCodeBlock(
  { className }: Pick<DialectEnv, "className">,
  content: string,
  info: string,
): string {
  const named = /^[^\s,:]*/.exec(info)?.[0] ?? "";
  const language = named === "" ? "text" : named;
  const isDrawn = language === "mermaid" || language === "math";
  const pre = className(isDrawn ? "code-block is-loading" : "code-block");
  const classes = className(`chroma language-${escapeAttribute(language)} display`);
  const body = isDrawn ? escapeText(content) : highlight(content, language.toLowerCase());
  return `<div ${className("code-block-container code-overflow-scroll")}><pre ${pre}><code ${classes}>${body}</code></pre></div>\n`;
}

function isColour(text: string): boolean {
  return text.length <= 50 && colour.test(text);
}

const share = "\\s*\\d{1,3}(?:\\.\\d{1,4})?%\\s*";
const alpha = "(?:,\\s*\\d?(?:\\.\\d{1,4})?%?\\s*)";
const colour = new RegExp(
  "^(?:#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})" +
    `|rgb\\((?:\\s*\\d{1,3}\\s*,){2}\\s*\\d{1,3}\\s*\\)|rgba\\((?:\\s*\\d{1,3}\\s*,){2}\\s*\\d{1,3}\\s*${alpha}\\)` +
    `|hsl\\(\\s*\\d{1,3}\\s*,${share},${share}\\)|hsla\\(\\s*\\d{1,3}\\s*,${share},${share}${alpha}\\))$`,
  "i",
);
