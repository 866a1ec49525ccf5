import createMarkdownIt, { type MarkdownIt, type StateCore } from "markdown-it";
import deflist from "markdown-it-deflist";
import { RenderLimitError, HTML_LENGTH_MAX } from "../limits.ts";
import { alerts } from "./alerts.ts";
import { bareUrls } from "./bare-urls.ts";
import { blocks, ownLines } from "./blocks.ts";
import { code } from "./code.ts";
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
  for (const rules of [
    blocks,
    code,
    deflist,
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

/** A long address that is defined once can be referred to many times: refuse before it is written out each time. */
function limitExpansion({ tokens }: StateCore): void {
  let length = 0;
  for (const { children } of tokens)
    for (const { attrs } of children ?? [])
      for (const [, value] of attrs ?? []) length += String(value).length;
  if (length > HTML_LENGTH_MAX) throw new RenderLimitError("the rendered document is too large");
}
