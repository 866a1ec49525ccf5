import type { MarkdownIt } from "markdown-it";
import { escapeHtml } from "../html/escape.ts";
import { dialectOf, type DialectEnv } from "./dialect.ts";
import { highlight } from "./highlight.ts";

/** Renders code blocks, fenced and indented, and code spans. */
export function code(engine: MarkdownIt): void {
  const { rules } = engine.renderer;
  rules["fence"] = (tokens, index, _options, env) => {
    const token = tokens[index];
    const info = engine.utils.unescapeAll(token?.info ?? "").trim();
    // An unclosed block may end without a line break.
    const content = (token?.content ?? "").replace(/[^\n]$/, "$&\n");
    return toCodeBlock(dialectOf(env), content, info);
  };
  rules["code_block"] = (tokens, index, _options, env) => {
    const { className } = dialectOf(env);
    const content = escapeHtml(tokens[index]?.content ?? "");
    return `<div ${className("code-block-container code-overflow-scroll")}><pre ${className("code-block")}><code>${content}</code></pre></div>\n`;
  };
  rules["code_inline"] = (tokens, index, _options, env) => {
    const content = tokens[index]?.content ?? "";
    const preview = isColour(content)
      ? `<span ${dialectOf(env).className("color-preview")} style="background-color: ${escapeHtml(content)}"></span>`
      : "";
    return `<code>${escapeHtml(content)}${preview}</code>`;
  };
}

/** Renders a code block with its frame. The language is the part of `info` before the first blank, comma or colon. */
export function toCodeBlock(
  { className, highlighting }: Pick<DialectEnv, "className" | "highlighting">,
  content: string,
  info: string,
): string {
  const named = /^[^\s,:]*/.exec(info)?.[0] ?? "";
  const language = named === "" ? "text" : named;
  // The page renders these as diagrams.
  const isDrawn = language === "mermaid" || language === "math";
  const pre = className(isDrawn ? "code-block is-loading" : "code-block");
  const classes = className(`chroma language-${escapeHtml(language)} display`);
  const body = isDrawn ? escapeHtml(content) : highlight(content, language, highlighting);
  return `<div ${className("code-block-container code-overflow-scroll")}><pre ${pre}><code ${classes}>${body}</code></pre></div>\n`;
}

function isColour(text: string): boolean {
  return text.length <= 50 && colour.test(text);
}

const percentage = "\\s*\\d{1,3}(?:\\.\\d{1,4})?%\\s*";
const alpha = "(?:,\\s*\\d?(?:\\.\\d{1,4})?%?\\s*)";
const colour = new RegExp(
  "^(?:#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})" +
    `|rgb\\((?:\\s*\\d{1,3}\\s*,){2}\\s*\\d{1,3}\\s*\\)|rgba\\((?:\\s*\\d{1,3}\\s*,){2}\\s*\\d{1,3}\\s*${alpha}\\)` +
    `|hsl\\(\\s*\\d{1,3}\\s*,${percentage},${percentage}\\)|hsla\\(\\s*\\d{1,3}\\s*,${percentage},${percentage}${alpha}\\))$`,
  "i",
);
