import type { MarkdownIt, StateBlock, StateInline } from "markdown-it";
import { escapeHtml } from "../html/escape.ts";
import { dialectOf } from "./dialect.ts";

const DOLLAR = 0x24;

/** Renders `$a$`, `` $`a`$ ``, `$$a$$` and `$$` blocks as marked source, which the page typesets. */
export function math(engine: MarkdownIt): void {
  engine.inline.ruler.before("escape", "math", inline);
  engine.block.ruler.after("fence", "math_block", block, {
    alt: ["paragraph", "reference", "blockquote", "list"],
  });
  engine.renderer.rules["math"] = (tokens, index, _options, env) =>
    `<code ${dialectOf(env).className("language-math")}>${escapeHtml(tokens[index]?.content ?? "")}</code>`;
  engine.renderer.rules["math_block"] = (tokens, index, _options, env) => {
    const { className } = dialectOf(env);
    const token = tokens[index];
    const source = `<code ${className("language-math display")}>${escapeHtml(token?.content ?? "")}</code>`;
    return token?.info === "line"
      ? `${source}\n`
      : `<pre ${className("code-block is-loading")}>${source}</pre>\n`;
  };
}

function inline(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (src.charCodeAt(pos) !== DOLLAR) return false;
  const ticks = countFrom(src, pos + 1, "`");
  const opener = ticks > 0 ? `$${"`".repeat(ticks)}` : src.charAt(pos + 1) === "$" ? "$$" : "$";
  const closer = ticks > 0 ? `${"`".repeat(ticks)}$` : opener;
  if (ticks === 0 && pos > 0 && /[A-Za-z0-9.!?,;:]/.test(src.charAt(pos - 1))) return false;
  const end = findCloser(src, pos + opener.length, posMax, closer, ticks === 0);
  if (end === undefined) return false;
  if (!silent) {
    const token = state.push("math", "", 0);
    token.content = src.slice(pos + opener.length, end).trim();
    token.markup = opener;
  }
  state.pos = end + closer.length;
  return true;
}

/** Maximum length of an inline formula: bounds the search for the end of each `$`. */
const INLINE_LENGTH_MAX = 1_000;

function findCloser(
  src: string,
  from: number,
  max: number,
  closer: string,
  looksAround: boolean,
): number | undefined {
  let depth = 0;
  const limit = Math.min(max, from + INLINE_LENGTH_MAX);
  for (let at = from; at < limit; at += 1) {
    const mark = src.charAt(at);
    if (mark === "\n") return undefined;
    if (depth === 0 && src.startsWith(closer, at)) {
      const next = src.charAt(at + closer.length);
      const isEnd =
        next === "" || /[\s.!?,;:)$]/.test(next) || src.startsWith("](", at + closer.length);
      return at > from && (!looksAround || isEnd) ? at : undefined;
    }
    if (mark === "\\") at += 1;
    else if (mark === "{") depth += 1;
    else if (mark === "}") depth -= 1;
  }
  return undefined;
}

function block(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0);
  const firstEnd = state.eMarks[startLine] ?? 0;
  if ((state.sCount[startLine] ?? 0) - state.blkIndent >= 4 || !state.src.startsWith("$$", start))
    return false;
  const first = state.src.slice(start + 2, firstEnd).trimEnd();
  if (first !== "") {
    if (!first.endsWith("$$") || first.length < 3 || first.slice(0, -2).includes("$$"))
      return false;
    if (!silent) push(state, first.slice(0, -2), "line", startLine, startLine + 1);
    return true;
  }
  const lastLine = findClosingLine(state, startLine, endLine);
  if (lastLine === undefined) return false;
  if (silent) return true;
  const content = state.getLines(startLine + 1, lastLine, state.sCount[startLine] ?? 0, true);
  push(state, `\n${content}`, "block", startLine, lastLine + 1);
  return true;
}

function findClosingLine(
  state: StateBlock,
  startLine: number,
  endLine: number,
): number | undefined {
  // The end of an unclosed block is searched once, not once for each opener.
  const key = "croft.math.unclosed";
  const known = state.env[key];
  if (typeof known === "number" && startLine >= known) return undefined;
  for (let line = startLine + 1; line < endLine; line += 1) {
    const start = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);
    if ((state.sCount[line] ?? 0) < state.blkIndent && !state.isEmpty(line)) return undefined;
    if (state.src.slice(start, Math.min(start + 3, state.eMarks[line] ?? 0)).trimEnd() === "$$")
      return line;
  }
  if (endLine === state.lineMax && state.level === 0) state.env[key] = startLine;
  return undefined;
}

function push(
  state: StateBlock,
  content: string,
  info: "line" | "block",
  start: number,
  end: number,
): void {
  const token = state.push("math_block", "", 0);
  token.content = content;
  token.info = info;
  token.map = [start, end];
  state.line = end;
}

function countFrom(src: string, from: number, mark: string): number {
  let end = from;
  while (src.charAt(end) === mark) end += 1;
  return end - from;
}
