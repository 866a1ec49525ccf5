import fc from "fast-check";
import { expect, test } from "vitest";
import { createSanitizer } from "../../../../../daemon/rendering/html/sanitize.ts";
import { cases } from "../../../../support/property.ts";
import { render } from "../support.ts";

const CODE = '```js\nf("x onmouseover=alert(1) y")\n```\n';
const SHOWN = '(<span class="s2">&#34;x onmouseover=alert(1) y&#34;</span>)';

test("highlighted code is in the place of its block, also within HTML of the author", async () => {
  for (const mode of ["markdown", "gfm", "comment"] as const) {
    expect(await render(CODE, { mode })).toContain(`${SHOWN}\n</code></pre></div>`);
    const list = await render(`<details>\n\n- one\n\n  ${CODE.replaceAll("\n", "\n  ")}`, { mode });
    expect(list).toContain(SHOWN);
  }
});

test("an attribute that the author leaves open before a block of code does not end in the code", async () => {
  for (const quote of ["'", '"'])
    for (const mode of ["markdown", "gfm", "comment"] as const) {
      const html = await render(`<div title=${quote}\n\n${CODE}\n${quote}>\n\nend`, { mode });
      // The double quote ends at the first attribute of the block, and the code is text of an element again.
      if (quote === "'") expect(html).not.toContain("<span");
      expect(html).not.toMatch(/<[^>]*\sonmouseover/);
      expect(html).not.toContain("\uFDD0");
    }
});

test("placeholders that an author writes show no code, and repeat none", async () => {
  const written = "\uFDD00\uFDD1".repeat(3);
  const html = await render(
    `<b title="&#xFDD0;0&#xFDD1;">b</b> ${written}&#xFDD0;0&#xFDD1;\n\n${CODE}`,
  );
  expect(html.split(SHOWN)).toHaveLength(2);
  expect(html).not.toContain("\uFDD0");
});

test("the renderer's secret is never shown, whatever an author opens before a block of code", async () => {
  for (const opening of ["<div title='\n\n", "<xmp>\n\n", "<plaintext>\n\n", "<textarea>\n\n"])
    for (const mode of ["gfm", "comment"] as const)
      expect(await render(`${opening}${CODE}`, { mode })).not.toContain("s3cret");
});

const piece = fc.constantFrom(
  ...[CODE, "~~~html\n<a href='x' onclick=\"y\">&amp;</a>\n~~~\n", "\n\n", "> ", "- "],
  ...["<div title='\n\n", '<div title="\n\n', "'>\n\n", '">\n\n', "<h2>\n\n", "</h2>\n\n"],
  ...["<svg>\n\n", "<math><mtext>\n\n", "<select>\n\n", "<xmp>\n\n", "<textarea>\n\n", "<!--\n\n"],
  ...["<a href='x'>\n\n", "<script>\n\n", "&#xFDD0;0&#xFDD1;", "<table><tr>\n\n", "</code></pre>"],
);

test("a document with held code is as safe as a sanitized one", async () => {
  const sanitize = createSanitizer({ kind: "rendered" });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 10 }), async (pieces) => {
      const html = await render(pieces.join(""), { mode: "comment" });
      expect(sanitize(html, "xhtml")).toBe(html);
      expect(html).not.toContain("\uFDD0");
    }),
    cases(300),
  );
});
