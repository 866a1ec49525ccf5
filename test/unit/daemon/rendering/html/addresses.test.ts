import { describe, expect, test } from "vitest";
import { pageRenderer, render } from "../support.ts";

const context = "/mira/notes/src/branch/main";
const base = "http://localhost:3000/mira/notes";
const show = (text: string, input: Parameters<typeof render>[1] = {}) =>
  render(text, { mode: "file", filePath: "README.md", context, ...input });

describe("addresses", () => {
  test.each([
    ['<a href="quiet hours.md">x</a>', `href="${base}/src/branch/main/quiet%20hours.md"`],
    ['<a href=" a\n b.md ">x</a>', `href="${base}/src/branch/main/a%20b.md"`],
    ['<a href="a%20b.md?x=1 2#c d">x</a>', `${base}/src/branch/main/a%20b.md?x=1%202#c%20d"`],
    ['<a href="https://example.org/a b">x</a>', 'href="https://example.org/a%20b"'],
    ['<img src="front door.png">', `src="${base}/media/branch/main/front%20door.png"`],
    ["[x](<a b.md>)", `href="${base}/src/branch/main/a%20b.md"`],
  ])("the blanks of %s are percent-encoded", async (text, shown) => {
    expect(await show(text)).toContain(shown);
  });

  test("an address that blanks hide does not run code", async () => {
    for (const href of ["java\nscript:hit()", " javascript:hit()", "java\tscript:hit()"])
      expect(await show(`<a href="${href}">x</a>`)).not.toContain("href");
  });

  test.each([
    ["two words", "two%20words"],
    ["c#", "c%23"],
    ["100%", "100%25"],
    ["what?", "what%3F"],
    ["ü", "%C3%BC"],
  ])("links in the folder %s lead to its files", async (folder, escaped) => {
    const html = await show("[a](b%20c.md) ![d](<e f.png>)", { filePath: `${folder}/README.md` });
    expect(html).toContain(`href="${base}/src/branch/main/${escaped}/b%20c.md"`);
    expect(html).toContain(`src="${base}/media/branch/main/${escaped}/e%20f.png"`);
    // The context of a page includes the folder.
    const page = await show("[a](b.md)", {
      filePath: `${folder}/README.md`,
      context: `${context}/${escaped}`,
    });
    expect(page).toContain(`href="${base}/src/branch/main/${escaped}/b.md"`);
  });

  test("the ref of a context is kept as it is escaped", async () => {
    const escaped = "/mira/notes/src/branch/we%23ird+br";
    expect(await show("[a](b.md)", { context: escaped })).toContain("branch/we%23ird+br/b.md");
    const plain = "/mira/notes/src/branch/100%";
    expect(await show("[a](b.md)", { context: plain })).toContain("branch/100%25/b.md");
  });
});

describe("pictures", () => {
  const media = `${base}/media/branch/main`;

  test("the link to an image goes around its picture, whose sources are absolute", async () => {
    expect(
      await show(
        '<picture><source media="(prefers-color-scheme: dark)" srcset="docs/dark.png, docs/dark-2.png 2x"><img alt="l" src="docs/light.png"></picture>',
      ),
    ).toBe(
      `<p><a href="${base}/src/branch/main/docs/light.png" target="_blank" rel="nofollow noopener"><picture>` +
        `<source media="(prefers-color-scheme: dark)" srcset="${media}/docs/dark.png, ${media}/docs/dark-2.png 2x"/>` +
        `<img alt="l" src="${media}/docs/light.png"/></picture></a></p>\n`,
    );
  });

  test("a picture in a link, without an image or with a link has no link of its own", async () => {
    const link = (text: string) => text.match(/<a /g)?.length ?? 0;
    const image = '<img src="a.png">';
    expect(link(await show(`<a href="x"><picture>${image}</picture></a>`))).toBe(1);
    expect(link(await show("<picture><source srcset='a.png'></picture>"))).toBe(0);
    expect(link(await show(`<picture><a href="x">${image}</a></picture>`))).toBe(1);
    expect(link(await show(`<picture>${image}`))).toBe(1);
    expect(link(await show(`<picture><picture>${image}</picture></picture>${image}`))).toBe(2);
  });

  test.each([
    ["a.png 600w, /b.png 1200w", `${media}/a.png 600w, ${media}/b.png 1200w`],
    ["a.png 1x,b,c.png 2x", `${media}/a.png 1x, ${media}/b,c.png 2x`],
    ["https://example.org/a.png 2x", "https://example.org/a.png 2x"],
  ])("the addresses of the list of images %s become absolute", async (list, shown) => {
    expect(await show(`<img src="a.png" srcset="${list}">`)).toContain(`srcset="${shown}"`);
  });
});

test("equal headings have ids of their own on pages, and equal ids in the API as in Gitea's", async () => {
  const text = "# A\n# A\n# A-1\n# A";
  const ids = (html: string) => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  const page = await render(
    text,
    { mode: "file", filePath: "a.md", hasUniqueIds: true },
    pageRenderer,
  );
  expect(ids(page)).toEqual(["a", "a-1", "a-1-1", "a-2"].map((id) => `user-content-${id}`));
  expect(ids(await show(text))).toEqual(["a", "a", "a-1", "a"].map((id) => `user-content-${id}`));
});
