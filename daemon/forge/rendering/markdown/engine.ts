import createMarkdownIt, { type MarkdownIt, type StateCore } from "markdown-it";
import { RenderLimitError, HTML_LENGTH_MAX } from "../limits.ts";
import { alerts } from "./alerts.ts";
import { bareUrls } from "./bare-urls.ts";
import { blocks, ownLines } from "./blocks.ts";
import { code } from "./code.ts";
import { definitionLists } from "./definition-lists.ts";
import { footnotes } from "./footnotes.ts";
import { headingAttributes } from "./heading-attributes.ts";
import { math } from "./math.ts";
import { strikethrough } from "./strikethrough.ts";
import { tasks } from "./tasks.ts";

/** How deep quotes and lists may nest; what is deeper is left out. */
const NESTING_MAX = 100;

/** A parser and renderer of the dialect; `breaks` makes every line break of a paragraph a hard one. */
export function createEngine(options: { readonly breaks: boolean }): MarkdownIt {
  const engine = new createMarkdownIt({
    html: true,
    breaks: options.breaks,
    maxNesting: NESTING_MAX,
  });
  // Addresses are judged by the sanitizer: a refused one leaves its text, not its source.
  engine.validateLink = () => true;
  engine.disable(["strikethrough"]);
  delayTables(engine);
  for (const rules of [
    blocks,
    code,
    definitionLists,
    footnotes,
    headingAttributes,
    math,
    strikethrough,
    tasks,
    alerts,
    bareUrls,
    ownLines,
  ])
    engine.use(rules);
  engine.core.ruler.push("expansion_limit", limitExpansion);
  return engine;
}

/**
 * A table's head is a paragraph at first: what begins a quote, a list or a heading is none, nor is a line that is
 * underlined.
 */
function delayTables(engine: MarkdownIt): void {
  const [table] = engine.block.ruler.getRules("");
  if (table === undefined) return;
  engine.disable(["table"]);
  const late: typeof table = (state, startLine, endLine, silent) => {
    const underline = (state.bMarks[startLine + 1] ?? 0) + (state.tShift[startLine + 1] ?? 0);
    const isHeading = /^-+[ \t]*$/.test(state.src.slice(underline, state.eMarks[startLine + 1]));
    return !isHeading && table(state, startLine, endLine, silent);
  };
  engine.block.ruler.before("lheading", "late_table", late, { alt: ["paragraph", "reference"] });
}

/** A long address that is defined once can be referred to many times: refuse before it is written out each time. */
function limitExpansion({ tokens }: StateCore): void {
  let length = 0;
  for (const { children } of tokens)
    for (const { attrs } of children ?? [])
      for (const [, value] of attrs ?? []) length += String(value).length;
  if (length > HTML_LENGTH_MAX) throw new RenderLimitError("the rendered document is too large");
}
