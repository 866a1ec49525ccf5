import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RenderInput } from "../../../../daemon/rendering/document.ts";
import {
  HIGHLIGHTED_DOCUMENT_MAX,
  languages,
} from "../../../../daemon/rendering/markdown/highlight.ts";
import { floods, longRuns } from "../../../support/floods.ts";
import { createStepCounter, type StepCounter } from "../../../support/steps.ts";
import { plainRenderer, root } from "./support.ts";

const repeat = (unit: string, length: number) =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

/** Units that make a careless parser search the rest of the text once for each. */
const units = [
  "![",
  "[",
  "](",
  "*",
  "_",
  "~",
  "`",
  "``a`",
  "<",
  "<!--",
  "<a b='",
  "&",
  "&a;",
  "${",
  "#[",
  "#+",
  "|",
  "| a ",
  "|-",
  "$",
  "$$",
  "{{",
  "{#",
  "\\",
  '"',
  "'",
  "/*",
  "//",
  "(",
  ")",
  ":",
  "::",
  "@a",
  "#1",
  "a@b",
  "https://a(",
  "[[",
  "[^",
  "[fn:",
  ",",
  ";",
  "\t",
  " ",
  "\u2028",
  "\n",
  "a\n",
  "- ",
  "- a\n",
  "> ",
  "* a\n",
  "= a\n",
  "1. a\n",
  "a b ",
  ": a\n",
  "+a",
  "=a",
  "<<",
  "#+begin_a\n",
  "#+begin_src c\n",
  "\n\n---\n",
] as const;

const suffixed: Readonly<Record<string, (length: number) => string>> = {
  "a block name, tabs, U+2028": (length) => `#+begin_a${"\t".repeat(length)}\u2028`,
  "a heading, blanks, U+2028": (length) => `* ${" ".repeat(length)}\u2028`,
  "a keyword, blanks, U+2028": (length) => `#+title: ${" ".repeat(length)}\u2028`,
  "a footnote, blanks, U+2028": (length) => `[fn:1]${" ".repeat(length)}\u2028`,
};

/** The work of AsciiDoc's library is not linear; the budget of its thread bounds it (rendering.service.test.ts). */
const formats = ["a.md", "a.org", "a.csv", "a.ipynb", "a.txt"] as const;

const render = (text: string, more: Partial<RenderInput> = {}) =>
  plainRenderer.render({
    text,
    mode: "file",
    root,
    context: "/o/r",
    filePath: "a.md",
    mentionable: ["a"],
    ...more,
  });

describe("hostile text", () => {
  let steps: StepCounter;
  beforeAll(async () => {
    // Counts the renderer and its libraries, not the test.
    steps = await createStepCounter((url) => /\/daemon\/|\/node_modules\/(?!\.?vite)/.test(url));
  });
  afterAll(() => steps[Symbol.asyncDispose]());

  /** Work at four times the length over work at the length: 4 when it is linear, 16 when it is quadratic. */
  const growth = async (
    text: (length: number) => string,
    more: Partial<RenderInput>,
  ): Promise<number> => {
    await render(text(100), more);
    const short = await steps.count(() => render(text(2_500), more));
    const long = await steps.count(() => render(text(10_000), more));
    return long / short;
  };

  test.each(formats)("hostile text of repeated units costs linear work in %s", async (filePath) => {
    const tooMuch: string[] = [];
    for (const unit of units) {
      const factor = await growth((length) => repeat(unit, length), { filePath });
      if (factor > 5.5) tooMuch.push(`${JSON.stringify(unit)}: ${factor}`);
    }
    expect(tooMuch).toEqual([]);
  });

  test.each(Object.entries(floods))("of %s costs linear work", async (_name, flood) => {
    expect(await growth((length) => flood(2 * length), { mode: "comment" })).toBeLessThan(5.5);
  });
});

// Steps inside a regular expression are not counted. One that is tried at every character would not end in time.
describe("long runs", () => {
  test.each(Object.entries({ ...longRuns, ...suffixed }))("of %s end", async (_name, run) => {
    for (const filePath of ["a.md", "a.org"])
      expect(["rendered", "over_limit"]).toContain((await render(run(200_000), { filePath })).kind);
  });
});

describe("code of a hostile document", () => {
  test.each(languages)("hostile code in %s is highlighted up to a limit", async (language) => {
    const highlighted = async (blocks: number) => {
      const block = `\`\`\`${language}\n${repeat("# a = 1; // <b>\n", 4_096)}\n\`\`\`\n\n`;
      const rendered = await render(block.repeat(blocks));
      if (rendered.kind !== "rendered") throw new Error(rendered.kind);
      return rendered.html.split('<span class="').length;
    };
    const atLimit = await highlighted(HIGHLIGHTED_DOCUMENT_MAX / 4_096 - 1);
    expect(await highlighted((2 * HIGHLIGHTED_DOCUMENT_MAX) / 4_096)).toBe(atLimit);
  });
});
