import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSanitizer } from "../../../../daemon/rendering/html/sanitize.ts";
import type { RenderMode } from "../../../../daemon/rendering/document.ts";
import { pageRenderer, plainRenderer, render, root } from "./support.ts";
import { cases } from "../../../support/property.ts";

const again = createSanitizer({ kind: "rendered" });
const modes: readonly RenderMode[] = ["markdown", "gfm", "comment", "wiki", "file"];

test("an element with the name of a member of objects loses its tag", () => {
  expect(again('<p>a<constructor title="x">b</constructor></p>', "html")).toBe("<p>ab</p>");
});

describe("any text", () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: "grapheme", maxLength: 8 }),
    fc.constantFrom(
      ..."# |- |> |1. |```|```js\n|~~~|**|*|_|~~|~|[|]|(|)|![|](|](x)|[^1]|[^1]: |: |$|$$|$`|<|>|<!--|-->|<a href=|<b>|</b>|<svg>|<math>|\n|\n\n|    |\t|\\|&|&amp;|&#0;|@user|#1|o/r#1|https://a.b/_c_|[[|]]|a|:smile:|:|---|---\na: b\n---\n|- [ ] |[!NOTE]|x@y.zz|{#i}|\0|\r\n|{.c k=v}".split(
        "|",
      ),
      "|",
      "a | b\n-|-\n",
    ),
  );
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));

  test("any text renders without failing, and the result is a fixed point of the sanitizer", async () => {
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.constantFrom(...modes),
        fc.constantFrom("a.md", "a.org", "a.csv", "a.txt", "a.ipynb", "a.unknown"),
        async (source, mode, filePath) => {
          const input = {
            text: source,
            mode,
            root,
            context: "/o/r/src/branch/main",
            filePath,
            mentionable: ["user"],
          };
          const rendered = await pageRenderer.render(input);
          if (rendered.kind !== "rendered") return;
          expect(again(rendered.html, mode === "markdown" ? "html" : "xhtml")).toBe(rendered.html);
        },
      ),
      cases(500),
    );
  });

  test("returns the same HTML again after any other rendering", async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        const input = { mode: "gfm", root, context: "", filePath: "", mentionable: [] } as const;
        const first = await plainRenderer.render({ ...input, text: one });
        await plainRenderer.render({ ...input, text: other });
        expect(await plainRenderer.render({ ...input, text: one })).toEqual(first);
      }),
      cases(100),
    );
  });
});

describe("references in running text", () => {
  const comment = { mode: "comment", context: "/o/r", mentionable: ["mira", "the-team"] } as const;

  test("mentions only visible users, and only where a name may appear", async () => {
    const linked = `<a href="${root}mira" rel="nofollow">@mira</a>`;
    for (const [text, html] of [
      ["@mira", linked],
      ["(@mira)", `(${linked})`],
      ["@mira, hello", `${linked}, hello`],
      ["@mira.", `${linked}.`],
      ["@mira's", `${linked}&#39;s`],
      ['"@mira"', "&#34;@mira&#34;"],
      ['(@mira")', "(@mira&#34;)"],
      ["@Mira", `<a href="${root}Mira" rel="nofollow">@Mira</a>`],
      ["@the-team", `<a href="${root}the-team" rel="nofollow">@the-team</a>`],
      ["@nobody", "@nobody"],
      ["a@mira", "a@mira"],
      ["@mira.x", "@mira.x"],
      ["`@mira`", "<code>@mira</code>"],
      ["[@mira](/x)", `<a href="${root}o/r/x" rel="nofollow">@mira</a>`],
    ])
      expect(await render(text ?? "", comment)).toBe(`<p>${html}</p>\n`);
  });

  test("issues are linked by number only in the context of a repository, and by name everywhere", async () => {
    const issue = (href: string, text: string) =>
      `<a href="${root}${href}" class="ref-issue" rel="nofollow">${text}</a>`;
    expect(await render("#1 and !2", comment)).toBe(
      `<p>${issue("o/r/issues/1", "#1")} and ${issue("o/r/pulls/2", "!2")}</p>\n`,
    );
    expect(await render("#1", { ...comment, context: "" })).toBe(
      `<p>${issue("issues/1", "#1")}</p>\n`,
    );
    expect(await render("#1", { mode: "gfm", context: "/o/r" })).toBe("<p>#1</p>\n");
    expect(await render("Org/Repo#1", { mode: "gfm" })).toBe(
      `<p>${issue("org/repo/issues/1", "Org/Repo#1")}</p>\n`,
    );
    expect(await render("Fixes: #1, a#2 #x", comment)).toBe(
      `<p><span class="issue-keyword">Fixes</span>: ${issue("o/r/issues/1", "#1")}, a#2 #x</p>\n`,
    );
    expect(await render(`${root}o/r/pulls/3/files`, comment)).toContain(
      `>${root}o/r/pulls/3/files</a>`,
    );
    expect(await render(`${root}o/r/issues/3`, comment)).toContain(">#3</a>");
  });

  test("bare addresses end before an unbalanced bracket and before the punctuation of a sentence", async () => {
    for (const [text, url, rest] of [
      ["https://e.org/wiki/a_(b).", "https://e.org/wiki/a_(b)", "."],
      ["https://e.org/a)b", "https://e.org/a", ")b"],
      ["https://e.org/a(b", "https://e.org/a", "(b"],
      ["https://e.org/([)]", "https://e.org/", "([)]"],
      ["http://[::1]:3000/x", "http://[::1]:3000/x", ""],
      ["https://e.org/a_", "https://e.org/a_", ""],
      ["https://e.org/~/?a=1&", "https://e.org/~/?a=1&amp;", ""],
      ["https://e.org/中文。", "https://e.org/中文", "。"],
      ["https://e.org/a。b", "https://e.org/a。b", ""],
      ["https://e.org/q”", "https://e.org/q", "”"],
      ["https://e.org/a...", "https://e.org/a", "..."],
    ])
      expect(await render(text ?? "")).toBe(
        `<p><a href="${url}" rel="nofollow">${url}</a>${rest}</p>\n`,
      );
    for (const text of ["https://.", "http://", "http://["])
      expect(await render(text)).toBe(`<p>${text}</p>\n`);
  });

  test("short links have their title as text and description, else their name", async () => {
    const picture = (title: string, alt: string) =>
      `<a href="${root}o/r/b.png" rel="nofollow"><img src="${root}o/r/b.png" title="${title}" alt="${alt}"/></a>`;
    const page = (href: string, name: string) => `<a href="${href}" rel="nofollow">${name}</a>`;
    for (const [text, html] of [
      ["[[Name|b.png]]", picture("Name", "Name")],
      ["[[Name|b.png|alt=A]]", picture("A", "A")],
      ["[[Name|b.png|title=T]]", picture("T", "T")],
      ["[[Name|b|title=T]]", page(`${root}o/r/b`, "T")],
      ["[[https://e.org|text]]", page("https://e.org", "text")],
      ["[[text|https://e.org]]", page("https://e.org", "text")],
      ["[[https://e.org]]", page("https://e.org", "https://e.org")],
    ])
      expect(await render(text ?? "", comment)).toBe(`<p>${html}</p>\n`);
  });

  test("commits are linked by their ids", async () => {
    expect(await render("o/r@0123456.x")).toBe("<p>o/r@0123456.x</p>\n");
    expect(await render("o/r@0123456789abcdef01")).toBe(
      `<p><a href="${root}o/r/commit/0123456789abcdef01" class="commit" rel="nofollow">o/r@0123456789</a></p>\n`,
    );
    expect(await render("0123456789012345678901234567890123456789")).toBe(
      "<p>0123456789012345678901234567890123456789</p>\n",
    );
  });
});

describe("links", () => {
  const at = (context: string, filePath = "") =>
    ({ mode: "file", context, filePath: filePath === "" ? "a.md" : filePath }) as const;
  const hrefOf = async (link: string, options: Parameters<typeof render>[1]) =>
    /href="([^"]*)"/.exec(await render(`<a href="${link}">x</a>`, options))?.[1];

  test("links are resolved below the base, and keep query and fragment", async () => {
    const base = `${root}o/r/src/branch/main`;
    const file = at("/o/r/src/branch/main/docs", "docs/a.md");
    for (const [link, href] of [
      ["c", `${base}/docs/c`],
      ["/c#id", `${base}/c#id`],
      ["/%2f/?k=/", `${base}/%2f?k=/`],
      ["c/?k=v#id", `${base}/docs/c?k=v#id`],
      ["../x", `${base}/x`],
      ["../../../x", `${base}/x`],
      ["/o/r/src/branch/main/x", `${base}/x`],
      ["https://a.example/", "https://a.example/"],
      ["mailto:a@b.cc", "mailto:a@b.cc"],
      ["//a.example/x", "//a.example/x"],
      ["#x", "#user-content-x"],
      ["%invalid", "%invalid"],
    ] as const)
      expect(await hrefOf(link, file), link).toBe(href);
  });

  test("links to a fragment stay on the page", async () => {
    for (const [link, href] of [
      ["#a", "#user-content-a"],
      ["#user-content-a", "#user-content-a"],
      ["#fn:user-content-1", "#fn:user-content-1"],
      ["#", "#user-content-"],
    ])
      expect(await hrefOf(link ?? "", at("/o/r"))).toBe(href);
  });

  test("links of a context without a repository are resolved below the instance", async () => {
    for (const context of [
      "",
      "/o",
      "/o/r/wiki",
      "https://a.example/o/r",
      "/o/r/src/nothing/x",
      '/o"/r',
    ])
      expect(await hrefOf("c", at(context)), context).toBe(`${root}src/c`);
    expect(await hrefOf("c", { mode: "wiki", context: "/o/r/wiki" })).toBe(`${root}wiki/c`);
    expect(await hrefOf("c", { mode: "comment", context: "/o/r" })).toBe(`${root}o/r/c`);
  });

  test("a sub-path of the instance is removed from the context and added to the base", async () => {
    const options = { ...at("/forge/o/r/src/tag/v1"), root: "https://a.example/forge/" };
    expect(await hrefOf("c", options)).toBe("https://a.example/forge/o/r/src/tag/v1/c");
  });
});

describe("front matter", () => {
  const start = async (text: string) => (await render(text)).replace(/<svg.*?<\/svg>/g, "ICON");

  test("front matter shows nested values as tables, or in the form that it requests", async () => {
    expect(await start("---\na:\n  b: 1\nc: [x, y]\n---\n")).toContain(
      "<td><table>\n<thead>\n<tr>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n</tr>\n</tbody>\n</table>\n</td>",
    );
    expect(await start("---\na: b\ngitea: none\n---\ntext")).toBe("<p>text</p>\n");
    expect(await start("---\na: b\ngitea: table\n---\n")).toMatch(/^<table>/);
    expect(await start("---\nlang: de\ngitea: none\n---\ntext")).toBe(
      '<div lang="de"><p>text</p>\n</div>',
    );
    expect(await start("---\ninclude_toc: true\ngitea: none\n---\n# A\n## B\n# C\n")).toBe(
      '<details><summary>Table of Contents</summary><ul>\n<li><a href="#user-content-a" rel="nofollow">A</a></li>\n<ul>\n' +
        '<li><a href="#user-content-b" rel="nofollow">B</a></li>\n</ul>\n<li><a href="#user-content-c" rel="nofollow">C</a></li>\n</ul>\n</details>' +
        '<h1 id="user-content-a">A</h1>\n<h2 id="user-content-b">B</h2>\n<h1 id="user-content-c">C</h1>\n',
    );
  });

  test("front matter that is not a mapping, or has too many aliases or levels, is rendered as text", async () => {
    for (const yaml of [
      "a",
      "- a",
      "a: [",
      `a: &a [x]\nb: [${"*a, ".repeat(40)}*a]`,
      `a: ${"[".repeat(5_000)}`,
    ])
      expect(await start(`---\n${yaml}\n---\n`), yaml.slice(0, 20)).not.toContain(
        "frontmatter-content",
      );
  });
});

describe("extensions", () => {
  test("renders alerts in any case and of every kind", async () => {
    for (const kind of ["note", "tip", "important", "warning", "caution"])
      expect(await render(`> [!${kind}]\n> x`)).toMatch(
        new RegExp(
          `^<blockquote class="attention-header attention-${kind}"><p><svg class="attention-icon attention-${kind} svg octicon-`,
        ),
      );
    for (const word of ["**Tip**", "__tip__", "*TIP*", "_tip_"])
      expect(await render(`> ${word}\n> x`)).toMatch(
        /^<blockquote class="attention-header attention-tip">/,
      );
    expect(await render("> [!other]\n> x")).toBe(
      "<blockquote>\n<p>[!other]\nx</p>\n</blockquote>\n",
    );
    expect(await render("> [!note] x")).toBe("<blockquote>\n<p>[!note] x</p>\n</blockquote>\n");
  });

  test("footnotes are rendered in the order of their first reference, each once, with a link back to each reference", async () => {
    const html = await render(
      "b[^b] a[^a] b[^b] c[^c]\n\n[^a]: A\n[^b]: B\n\n    more\n[^unused]: U\n",
    );
    expect(
      [...html.matchAll(/href="#fn:user-content-(\w)" rel="nofollow">(\d) </g)].map(
        ([, name, number]) => `${name}${number}`,
      ),
    ).toEqual(["b1", "a2", "b1"]);
    expect(html).toContain(
      '<li id="fn:user-content-b">\n<p>B</p>\n<p>more <a href="#fnref:user-content-b" rel="nofollow">↩︎</a> <a href="#fnref1:user-content-b" rel="nofollow">↩︎</a></p>\n</li>',
    );
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, fragment] of html.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(fragment);
    expect(html).toContain("c[^c]");
    expect(html).not.toContain(">U<");
  });

  test("a block after the text of a tight list item begins on a new line", async () => {
    for (const [text, html] of [
      ["> b", "<blockquote>\n<p>b</p>\n</blockquote>"],
      [
        "```\n  b\n  ```",
        '<div class="code-block-container code-overflow-scroll"><pre class="code-block"><code class="chroma language-text display">b\n</code></pre></div>',
      ],
      [
        "$$\n  b\n  $$",
        '<pre class="code-block is-loading"><code class="language-math display">\nb\n</code></pre>',
      ],
      ["<div>b</div>", "<div>b</div>"],
    ])
      expect(await render(`- a\n  ${text}\n`)).toBe(`<ul>\n<li>a\n${html}\n</li>\n</ul>\n`);
  });

  test("an image without an address has no link to itself", async () => {
    expect(await render("![a]()")).toBe('<p><img src="" alt="a"/></p>\n');
  });

  test("an unclosed fence at the end of the text has complete lines", async () => {
    for (const text of ["```\na", "```\na\n", "> ```\n> a"])
      expect(await render(text)).toContain('language-text display">a\n</code>');
    expect(await render("```")).toContain('language-text display"></code>');
  });

  test("definition lists have terms of several lines, several texts each, and end at a line", async () => {
    const dl = (html: string) => `<dl>\n${html}</dl>\n`;
    for (const [text, html] of [
      ["a\nb\n: c\n: d", dl("<dt>a</dt>\n<dt>b</dt>\n<dd>c</dd>\n<dd>d</dd>\n")],
      ["a\n: b\n---", `${dl("<dt>a</dt>\n<dd>b</dd>\n")}<hr/>\n`],
      ["a\n\n: b\n\nc", `${dl("<dt>a</dt>\n<dd>\n<p>b</p>\n</dd>\n")}<p>c</p>\n`],
      ["a\n: b\nlazy\n\nc\n: d", dl("<dt>a</dt>\n<dd>b\nlazy</dd>\n<dt>c</dt>\n<dd>d</dd>\n")],
      ["a\n: b\n\n  c", dl("<dt>a</dt>\n<dd>b\n<p>c</p>\n</dd>\n")],
      ["a\n: b\n  : c", dl(`<dt>a</dt>\n<dd>\n${dl("<dt>b</dt>\n<dd>c</dd>\n")}</dd>\n`)],
      ["> a\n> : b", `<blockquote>\n${dl("<dt>a</dt>\n<dd>b</dd>\n")}</blockquote>\n`],
      ["a\n:b", "<p>a\n:b</p>\n"],
      ["a\n~ b", "<p>a\n~ b</p>\n"],
      ["# a\n: b", '<h1 id="user-content-a">a</h1>\n<p>: b</p>\n'],
    ])
      expect(await render(text ?? "")).toBe(html);
  });

  test("a line that begins a quote, list or heading, or is underlined, is not the head of a table", async () => {
    expect(await render("> a|\n---")).toBe("<blockquote>\n<p>a|</p>\n</blockquote>\n<hr/>\n");
    expect(await render("# a | b\n--- | ---")).toMatch(/^<h1/);
    expect(await render("- a | b\n--- | ---")).toMatch(/^<ul>/);
    expect(await render("a|\n---")).toBe('<h2 id="user-content-a">a|</h2>\n');
    expect(await render("|a|\n|-|")).toMatch(/^<table>/);
  });

  test("tables have their alignment", async () => {
    expect(await render("a | b\n:-: | -:\nc | d")).toContain(
      '<th align="center">a</th>\n<th align="right">b</th>',
    );
  });

  test("struck text has one tilde or two, never three", async () => {
    expect(await render("~a~ ~~b~~ ~~~c~~~ ~d~~")).toBe(
      "<p><del>a</del> <del>b</del> ~~~c~~~ ~d~~</p>\n",
    );
  });

  test("offsets of tasks count bytes, not characters", async () => {
    expect(await render("é😄\n\n- [ ] a\n  - [x] b\n")).toMatch(/position="10".*position="20"/s);
  });

  test("raw mode keeps none of the engine's classes but those of code", async () => {
    expect(await render("```js\nlet a = 'b';\n```", { mode: "markdown" })).toBe(
      '<div><pre><code><span class="kd">let</span> <span class="nx">a</span> = <span class="s1">&#39;b&#39;</span>;\n</code></pre></div>\n',
    );
  });
});
