import type { MarkdownIt, StateBlock, StateCore, StateInline, Token } from "markdown-it";
import { escapeHtml } from "../html/escape.ts";
import { dialectOf } from "./dialect.ts";

/** The number of a label without a reference so far. */
const UNREFERENCED = -1;

/**
 * Renders `[^1]` and `[^1]: text`; the texts follow the document in the order of their first reference. No
 * library: markdown-it-footnote searches the end of each label in the whole paragraph, which is quadratic for
 * `[^[^[^…`.
 */
export function footnotes(engine: MarkdownIt): void {
  engine.block.ruler.before("reference", "footnote_text", definition, {
    alt: ["paragraph", "reference"],
  });
  engine.inline.ruler.before("link", "footnote_reference", reference);
  engine.core.ruler.after("inline", "footnote_list", collect);

  const { rules } = engine.renderer;
  const idOf = (tokens: Token[], index: number, suffix: string) =>
    `user-content-${escapeHtml(String(tokens[index]?.meta?.["name"] ?? ""))}${suffix}`;
  rules["footnote_reference"] = (tokens, index, _options, env) => {
    const id = idOf(tokens, index, dialectOf(env).footnoteSuffix);
    const { number, use } = tokens[index]?.meta ?? {};
    return `<sup id="${toUse(Number(use))}:${id}"><a href="#fn:${id}">${Number(number)} </a></sup>`;
  };
  rules["footnote_back"] = (tokens, index, _options, env) => {
    const id = idOf(tokens, index, dialectOf(env).footnoteSuffix);
    const uses = Array.from({ length: Number(tokens[index]?.meta?.["uses"]) }, (_, use) => use);
    return uses.map((use) => ` <a href="#${toUse(use)}:${id}">\u21a9\ufe0e</a>`).join("");
  };
  rules["footnote_list_open"] = () => "<div>\n<hr>\n<ol>\n";
  rules["footnote_list_close"] = () => "</ol>\n</div>\n";
  rules["footnote_open"] = (tokens, index, _options, env) =>
    `<li id="fn:${idOf(tokens, index, dialectOf(env).footnoteSuffix)}">\n`;
  rules["footnote_close"] = () => "</li>\n";
}

/** Returns the first part of the id of a reference: the second reference to a text is `fnref1`. */
const toUse = (use: number) => (use === 0 ? "fnref" : `fnref${use}`);

/** Maximum length of a label. */
const LABEL_LENGTH_MAX = 200;

const labelEnd = /[\]\s]/g;

/** Returns the label of `[^label]` at `start` if it ends before `max`. */
function readLabel(src: string, start: number, max: number): string | undefined {
  if (!src.startsWith("[^", start)) return undefined;
  labelEnd.lastIndex = start + 2;
  const end = labelEnd.exec(src.slice(0, Math.min(max, start + LABEL_LENGTH_MAX)))?.index;
  return end === undefined || end === start + 2 || src.charAt(end) !== "]"
    ? undefined
    : src.slice(start + 2, end);
}

function definition(
  state: StateBlock,
  startLine: number,
  endLine: number,
  silent: boolean,
): boolean {
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0);
  const max = state.eMarks[startLine] ?? 0;
  const label = readLabel(state.src, start, max);
  const afterLabel = start + 3 + (label?.length ?? 0);
  if (label === undefined || state.src.charAt(afterLabel) !== ":") return false;
  if ((state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false;
  if (silent) return true;

  const { numbers } = dialectOf(state.env).footnotes;
  const isFirst = !numbers.has(label);
  if (isFirst) numbers.set(label, UNREFERENCED);

  const open = state.push("footnote_text_open", "", 1);
  // Of two texts for one label, the first is shown.
  open.meta = { label: isFirst ? label : undefined };

  const before = {
    bMark: state.bMarks[startLine] ?? 0,
    tShift: state.tShift[startLine] ?? 0,
    sCount: state.sCount[startLine] ?? 0,
    parentType: state.parentType,
  };
  const textStart = state.skipSpaces(afterLabel + 1);
  state.bMarks[startLine] = textStart;
  state.tShift[startLine] = 0;
  state.blkIndent += 4;
  state.sCount[startLine] = state.blkIndent;
  state.parentType = "footnote";
  state.md.block.tokenize(state, startLine, endLine);
  state.parentType = before.parentType;
  state.blkIndent -= 4;
  state.bMarks[startLine] = before.bMark;
  state.tShift[startLine] = before.tShift;
  state.sCount[startLine] = before.sCount;

  state.push("footnote_text_close", "", -1);
  return true;
}

function reference(state: StateInline, silent: boolean): boolean {
  const label = readLabel(state.src, state.pos, state.posMax);
  if (label === undefined) return false;
  const { numbers, order, uses } = dialectOf(state.env).footnotes;
  let number = numbers.get(label);
  if (number === undefined) return false;
  if (!silent) {
    if (number === UNREFERENCED) {
      order.push(label);
      number = order.length;
      numbers.set(label, number);
    }
    const use = uses.get(label) ?? 0;
    uses.set(label, use + 1);
    state.push("footnote_reference", "", 0).meta = { number, use, name: toName(label, number) };
  }
  state.pos += label.length + 3;
  return true;
}

/** Moves referenced texts to the end, and removes unreferenced ones. */
function collect(state: StateCore): void {
  const { numbers, order, uses } = dialectOf(state.env).footnotes;
  if (numbers.size === 0) return;
  const texts = new Map<string, Token[]>();
  const open: (Token[] | undefined)[] = [];
  const rest: Token[] = [];
  for (const token of state.tokens) {
    if (token.type === "footnote_text_open") {
      const label = token.meta?.["label"];
      const text: Token[] = [];
      if (typeof label === "string") texts.set(label, text);
      open.push(text);
    } else if (token.type === "footnote_text_close") open.pop();
    else (open.at(-1) ?? rest).push(token);
  }
  state.tokens = rest;
  if (order.length === 0) return;
  rest.push(new state.Token("footnote_list_open", "", 1));
  for (const [index, label] of order.entries()) {
    const meta = { name: toName(label, index + 1), uses: uses.get(label) ?? 0 };
    const item = new state.Token("footnote_open", "", 1);
    const back = new state.Token("footnote_back", "", 0);
    item.meta = meta;
    back.meta = meta;
    const text = texts.get(label) ?? [];
    const last = text.at(-1);
    rest.push(item);
    for (const token of last?.type === "paragraph_close" ? text.slice(0, -1) : text)
      rest.push(token);
    rest.push(back);
    if (last?.type === "paragraph_close") rest.push(last);
    rest.push(new state.Token("footnote_close", "", -1));
  }
  rest.push(new state.Token("footnote_list_close", "", -1));
}

/** Returns the part of ids for a label: its letters, numbers and `-_.:`, or its number when it has no such characters. */
function toName(label: string, number: number): string {
  const name = label.replace(/[^\p{L}\p{N}\-_.:]/gu, "").toLowerCase();
  return name === "" ? String(number) : name;
}
