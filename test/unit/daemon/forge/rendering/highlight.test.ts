import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { highlight } from "../../../../../daemon/forge/rendering/highlight/highlight.ts";
import { languages } from "../../../../../daemon/forge/rendering/highlight/languages.ts";
import { escapeText } from "../../../../../daemon/forge/rendering/html/flat.ts";
import { cases } from "../../../../support/property.ts";

const span = (className: string, text: string) => `<span class="${className}">${text}</span>`;

describe("code in colours", () => {
  test.each([
    [
      "js",
      "const a = `x`; // y",
      `${span("kd", "const")} ${span("nx", "a")} = ${span("sb", "`x`")}; ${span("c1", "// y")}`,
    ],
    [
      "py",
      "@d\ndef f(): return '''x'''",
      `${span("nd", "@d")}\n${span("k", "def")} f(): ${span("k", "return")} ${span("s1", "'''x'''")}`,
    ],
    ["go", "package main", `${span("kn", "package")} ${span("nx", "main")}`],
    [
      "c",
      "#include <x.h>\nint a;",
      `${span("cp", "#include &lt;x.h&gt;")}\n${span("kt", "int")} a;`,
    ],
    ["sql", "select 1 -- x", `${span("k", "select")} ${span("mi", "1")} ${span("c1", "-- x")}`],
    [
      "json",
      '{"a": "b", "c": null}',
      `{${span("nt", '"a"')}: ${span("s2", '"b"')}, ${span("nt", '"c"')}: ${span("kc", "null")}}`,
    ],
    ["yaml", "a: true # x", `${span("nt", "a")}: ${span("kc", "true")} ${span("c1", "# x")}`],
    [
      "html",
      '<a href="x">',
      `${span("nt", "&lt;a")} ${span("na", "href")}=${span("s2", '"x"')}${span("nt", "&gt;")}`,
    ],
    ["diff", "-a\n+b", `${span("gd", "-a")}\n${span("gi", "+b")}`],
    ["sh", "$ echo $HOME", `${span("gp", "$ ")}${span("nb", "echo")} ${span("nv", "$HOME")}`],
    ["nothing", "<a>", "&lt;a&gt;"],
  ])("%s", (language, code, html) => expect(highlight(code, language)).toBe(html));

  test("never changes the code: without the marks it is what was written", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 200 }),
        fc.constantFrom(...languages.keys()),
        (code, language) => {
          const html = highlight(code, language);
          expect(html.replace(/<span class="\w{1,2}">|<\/span>/g, "")).toBe(escapeText(code));
        },
      ),
      cases(500),
    );
  });
});
