import type { MarkdownIt, StateBlock } from "markdown-it";

/**
 * Parses definition lists: terms, one a line, and definitions after a colon and a blank. A definition after a
 * blank line is rendered as paragraphs. No library: markdown-it-deflist supports only one term, and accepts `~` as a
 * marker.
 */
export function definitionLists(engine: MarkdownIt): void {
  engine.block.ruler.before("lheading", "definition_list", list, {
    alt: ["paragraph", "reference", "blockquote"],
  });
}

/** The lines of the next terms, and the line of the colon after them. */
interface Terms {
  readonly from: number;
  readonly to: number;
  readonly colon: number;
}

/** Key in the environment: how many definitions are being parsed. */
const DEPTH = "croft.definitions.depth";

function list(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  // A colon at the indent of the list ends the lazy continuation of the previous definition.
  if (silent)
    return (
      Number(state.env[DEPTH] ?? 0) > 0 &&
      state.sCount[startLine] !== undefined &&
      state.sCount[startLine] < state.blkIndent &&
      isColon(state, startLine, state.sCount[startLine])
    );
  let terms = findTerms(state, startLine, endLine);
  if (terms === undefined) return false;
  const open = state.push("dl_open", "dl", 1);
  let line = terms.colon;
  while (terms !== undefined) {
    for (let term = terms.from; term < terms.to; term += 1) pushTerm(state, term);
    line = terms.colon;
    while (line < endLine && isColon(state, line, state.blkIndent))
      line = parseDefinition(state, line, endLine);
    terms = findTerms(state, line, endLine);
  }
  open.map = [startLine, line];
  state.push("dl_close", "dl", -1);
  state.line = line;
  return true;
}

function isColon(state: StateBlock, line: number, indent: number): boolean {
  if (state.sCount[line] !== indent) return false;
  const at = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);
  return state.src.charAt(at) === ":" && /[ \t]/.test(state.src.charAt(at + 1));
}

/** Returns the lines of a paragraph that begins here if a colon follows it. */
function findTerms(state: StateBlock, from: number, endLine: number): Terms | undefined {
  if (from >= endLine || state.isEmpty(from) || !hasColons(state)) return undefined;
  const indent = (state.sCount[from] ?? 0) - state.blkIndent;
  if (indent < 0 || indent > 3 || isColon(state, from, state.blkIndent)) return undefined;
  const rules = state.md.block.ruler.getRules("paragraph");
  if (rules.some((rule) => rule(state, from, endLine, true))) return undefined;
  let to = from + 1;
  for (; to < endLine && !state.isEmpty(to); to += 1) {
    if (isColon(state, to, state.blkIndent)) return { from, to, colon: to };
    const further = (state.sCount[to] ?? 0) - state.blkIndent;
    if (further < 0) return undefined;
    if (further > 3) continue;
    if (isUnderline(state, to) || rules.some((rule) => rule(state, to, endLine, true)))
      return undefined;
  }
  const colon = state.skipEmptyLines(to);
  return colon < endLine && isColon(state, colon, state.blkIndent)
    ? { from, to, colon }
    : undefined;
}

/** Whether the text has a definition; computed once, so that most texts are not searched. */
function hasColons(state: StateBlock): boolean {
  const key = "croft.definitions.any";
  return (state.env[key] ??= /^[ \t>]*:[ \t]/m.test(state.src)) === true;
}

function isUnderline(state: StateBlock, line: number): boolean {
  const start = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);
  return /^(?:=+|-+)[ \t]*$/.test(state.src.slice(start, state.eMarks[line]));
}

function pushTerm(state: StateBlock, line: number): void {
  state.push("dt_open", "dt", 1).map = [line, line + 1];
  const inline = state.push("inline", "", 0);
  inline.map = [line, line + 1];
  inline.content = state.getLines(line, line + 1, state.blkIndent, false).trim();
  inline.children = [];
  state.push("dt_close", "dt", -1);
}

/** Parses the definition after the colon of a line; returns the line after it. */
function parseDefinition(state: StateBlock, line: number, endLine: number): number {
  const isTight = !state.isEmpty(line - 1);
  const first = state.tokens.length;
  const open = state.push("dd_open", "dd", 1);
  const before = {
    blkIndent: state.blkIndent,
    tight: state.tight,
    parentType: state.parentType,
    tShift: state.tShift[line] ?? 0,
    sCount: state.sCount[line] ?? 0,
  };
  const colon = (state.bMarks[line] ?? 0) + before.tShift;
  let at = colon + 1;
  let width = before.sCount + 1;
  for (; at < (state.eMarks[line] ?? 0) && /[ \t]/.test(state.src.charAt(at)); at += 1)
    width += state.src.charAt(at) === "\t" ? 4 - (width % 4) : 1;
  // After eight columns the definition begins with indented code.
  const offset = width - before.sCount - 1 >= 8 ? before.sCount + 6 : width;
  state.blkIndent = offset;
  state.tShift[line] = at - (state.bMarks[line] ?? 0);
  state.sCount[line] = width;
  state.tight = true;
  state.parentType = "deflist";
  state.env[DEPTH] = Number(state.env[DEPTH] ?? 0) + 1;
  state.md.block.tokenize(state, line, endLine);
  state.env[DEPTH] = Number(state.env[DEPTH]) - 1;
  state.parentType = before.parentType;
  state.tight = before.tight;
  state.blkIndent = before.blkIndent;
  state.tShift[line] = before.tShift;
  state.sCount[line] = before.sCount;
  state.push("dd_close", "dd", -1);
  open.map = [line, state.line];
  if (isTight) hideFirstParagraph(state, first, open.level + 1);
  return state.line;
}

function hideFirstParagraph(state: StateBlock, from: number, level: number): void {
  for (let index = from; index < state.tokens.length; index += 1) {
    const token = state.tokens[index];
    if (token?.type !== "paragraph_open" || token.level !== level) continue;
    token.hidden = true;
    const close = state.tokens[index + 2];
    if (close !== undefined) close.hidden = true;
    return;
  }
}
