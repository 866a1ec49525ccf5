import createMarkdownIt, { type MarkdownIt, type StateCore } from "markdown-it";
import { HTML_LENGTH_MAX, RenderLimitError } from "../document.ts";
import { alerts } from "./alerts.ts";
import { blocks, tightBlocks } from "./blocks.ts";
import { code } from "./code.ts";
import { definitionLists } from "./definition-lists.ts";
import { footnotes } from "./footnotes.ts";
import { bareUrls, strikethrough } from "./inline.ts";
import { math } from "./math.ts";
import { tasks } from "./tasks.ts";

/** Maximum nesting of quotes and lists; deeper ones are omitted. */
const NESTING_MAX = 100;

/** Creates a parser and renderer of the dialect. `breaks` makes every line break a hard one. */
export function createEngine(options: { readonly breaks: boolean }): MarkdownIt {
  const engine = new createMarkdownIt({
    html: true,
    breaks: options.breaks,
    maxNesting: NESTING_MAX,
  });
  // The sanitizer checks URLs: it keeps the text of a refused link, and the library would keep its source.
  engine.validateLink = () => true;
  delayTables(engine);
  for (const rules of [
    blocks,
    code,
    definitionLists,
    footnotes,
    math,
    strikethrough,
    tasks,
    alerts,
    bareUrls,
    tightBlocks,
  ])
    engine.use(rules);
  engine.core.ruler.push("expansion_limit", limitExpansion);
  return engine;
}

/** Tries tables after quotes, lists and headings, so that a line which begins one of these is not a table head. */
function delayTables(engine: MarkdownIt): void {
  const [table] = engine.block.ruler.getRules("");
  if (table === undefined) return;
  engine.disable(["table"]);
  const lateTable: typeof table = (state, startLine, endLine, silent) => {
    const underline = (state.bMarks[startLine + 1] ?? 0) + (state.tShift[startLine + 1] ?? 0);
    const isHeading = /^-+[ \t]*$/.test(state.src.slice(underline, state.eMarks[startLine + 1]));
    return !isHeading && table(state, startLine, endLine, silent);
  };
  engine.block.ruler.before("lheading", "late_table", lateTable, {
    alt: ["paragraph", "reference"],
  });
}

/** Refuses a document whose HTML would be too long because it refers to a long URL too often. */
function limitExpansion({ tokens }: StateCore): void {
  let length = 0;
  for (const { children } of tokens)
    for (const { attrs } of children ?? [])
      for (const [, value] of attrs ?? []) length += String(value).length;
  if (length > HTML_LENGTH_MAX) throw new RenderLimitError("the rendered document is too large");
}
