import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeHtml } from "../../../../daemon/rendering/html/escape.ts";
import { COLOURED_LINE_MAX } from "../../../../daemon/rendering/document.ts";
import {
  createFileHighlighting,
  createHighlighting,
  HIGHLIGHTED_BLOCK_MAX,
  HIGHLIGHTED_FILE_MAX,
  HIGHLIGHTED_LINE_MAX,
  highlight,
  languages,
} from "../../../../daemon/rendering/markdown/highlight.ts";
import { cases } from "../../../support/property.ts";

const span = (className: string, text: string) => `<span class="${className}">${text}</span>`;
const colour = (code: string, language: string) => highlight(code, language, createHighlighting());
const toText = (html: string) => html.replace(/<span class="\w{1,2}">|<\/span>/g, "");

describe("highlighting", () => {
  test.each([
    ["js", "code\n", `${span("nx", "code")}\n`],
    [
      "JS",
      "const a = `x`; // y",
      [span("kd", "const"), span("nx", "a"), span("sb", "`x`"), span("c1", "// y")],
    ],
    ["py", "def f(): return 'x'", [span("k", "def"), span("nf", "f"), span("s1", "'x'")]],
    ["go", "package main", [span("kn", "package"), span("nx", "main")]],
    ["c", "/* x */ int a;", [span("cm", "/* x */"), span("kt", "int")]],
    ["sql", "select 1 -- x", [span("k", "select"), span("mi", "1"), span("c1", "-- x")]],
    [
      "json",
      '{"a": "b", "c": null}',
      [span("na", "&quot;a&quot;"), span("s2", "&quot;b&quot;"), span("kc", "null")],
    ],
    ["yaml", "a: true # x", [span("na", "a:"), span("kc", "true"), span("c1", "# x")]],
    ["html", '<a href="x">', [span("nt", "a"), span("na", "href"), span("s2", "&quot;x&quot;")]],
    ["diff", "-a\n+b", [span("gd", "-a"), span("gi", "+b")]],
    ["console", "$ echo a", [span("gp", "$ ")]],
    ["nothing", "<a>", "&lt;a&gt;"],
  ])("highlighting marks %s code %j with the reference's classes", (language, code, expected) => {
    const html = colour(code, language);
    if (typeof expected === "string") expect(html).toBe(expected);
    else for (const part of expected) expect(html).toContain(part);
    expect(toText(html)).toBe(escapeHtml(code));
  });

  test("highlighting keeps the code unchanged apart from the marks", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 200 }),
        fc.constantFrom(...languages),
        (code, language) => {
          expect(toText(colour(code, language))).toBe(escapeHtml(code));
        },
      ),
      cases(500),
    );
  });

  test("code beyond the limits of a line, a block or a document has no marks", () => {
    const isMarked = (code: string, budget = createHighlighting()) =>
      highlight(code, "js", budget).includes("<span");
    expect(isMarked("a".repeat(HIGHLIGHTED_LINE_MAX))).toBe(true);
    expect(isMarked("a".repeat(HIGHLIGHTED_LINE_MAX + 1))).toBe(false);
    const block = "let a;\n".repeat(HIGHLIGHTED_BLOCK_MAX / 8);
    expect(isMarked(`${block}${block}`)).toBe(false);
    const budget = createHighlighting();
    const marked = Array.from({ length: 6 }, () => isMarked(block, budget));
    expect(marked).toEqual([true, true, true, true, false, false]);
  });

  test("a file that is code as a whole has marks up to 512 KiB, and longer lines than a block", () => {
    const isMarked = (code: string) =>
      highlight(code, "js", createFileHighlighting()).includes("<span");
    const line = `let a; // ${"x".repeat(1_000)}\n`;
    expect(isMarked(line.repeat(HIGHLIGHTED_FILE_MAX / line.length))).toBe(true);
    expect(isMarked(line.repeat(HIGHLIGHTED_FILE_MAX / line.length + 1))).toBe(false);
    expect(isMarked("a".repeat(COLOURED_LINE_MAX))).toBe(true);
    expect(isMarked("a".repeat(COLOURED_LINE_MAX + 1))).toBe(false);
  });
});
