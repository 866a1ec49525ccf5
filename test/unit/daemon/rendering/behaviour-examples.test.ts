import { describe, expect, test } from "vitest";
import type { RenderInput } from "../../../../daemon/rendering/document.ts";
import { pageRenderer, render, root, withoutIcons } from "./support.ts";

const hash40 = "0123456789012345678901234567890123456789";
const repo = { context: "/user2/repo1" };
const wiki = { ...repo, mode: "wiki" } as const;
const branch = { context: "/user2/repo1/src/branch/main" };
const base = `${root}src`;
const wikiBase = `${root}wiki`;
const fence = (attributes: string, content: string) =>
  `<div class="code-block-container code-overflow-scroll"><pre class="code-block"><code${attributes}>${content}</code></pre></div>\n`;
const a = (href: string, text: string, more = "") =>
  `<a href="${href}"${more} rel="nofollow">${text}</a>`;
const p = (html: string) => `<p>${html}</p>\n`;

type Example = readonly [input: string, output: string, options?: Partial<RenderInput>];

const routeExamples: Example[] = [
  [
    "- [[Links, Language bindings, Engine bindings|Links]]",
    `<ul>\n<li>${a(`${root}user2/repo1/wiki/Links`, "Links, Language bindings, Engine bindings")}</li>\n</ul>\n`,
    wiki,
  ],
  [
    "- Bezier widget (by @r-lyeh) https://github.com/ocornut/imgui/issues/786",
    `<ul>\n<li>Bezier widget (by ${a(`${root}r-lyeh`, "@r-lyeh")}) ${a("https://github.com/ocornut/imgui/issues/786", "https://github.com/ocornut/imgui/issues/786")}</li>\n</ul>\n`,
    { ...wiki, mentionable: ["r-lyeh"] },
  ],
  [
    "[[Guardfile-DSL / Configuring-Guard|Guardfile-DSL---Configuring-Guard]]",
    p(
      a(
        `${root}user2/repo1/wiki/Guardfile-DSL---Configuring-Guard`,
        "Guardfile-DSL / Configuring-Guard",
      ),
    ),
    wiki,
  ],
  ["[[Name|Link]]", p(a(`${root}user2/repo1/wiki/Link`, "Name")), wiki],
  ["", "", wiki],
  [
    "## Quick Links\n\n[[Configuration]]\n[[images/icon-bug.png]]",
    `<h2 id="user-content-quick-links">Quick Links</h2>\n<p>${a(`${root}user2/repo1/wiki/Configuration`, "Configuration")}\n` +
      `<a href="${root}user2/repo1/wiki/images/icon-bug.png" rel="nofollow"><img src="${root}user2/repo1/wiki/raw/images/icon-bug.png" title="icon-bug.png" alt="images/icon-bug.png"/></a></p>\n`,
    wiki,
  ],
  [
    "[Link](test.md)\n![Image](image.png)",
    `<p><a href="${root}user2/repo1/src/branch/main/test.md" rel="nofollow">Link</a>\n` +
      `<a href="${root}user2/repo1/src/branch/main/image.png" target="_blank" rel="nofollow noopener"><img src="${root}user2/repo1/media/branch/main/image.png" alt="Image"/></a></p>\n`,
    branch,
  ],
  [
    "[Link](test.md)\n![Image](image.png)",
    `<p><a href="${root}user2/repo1/src/branch/main/path/test.md" rel="nofollow">Link</a>\n` +
      `<a href="${root}user2/repo1/src/branch/main/path/image.png" target="_blank" rel="nofollow noopener"><img src="${root}user2/repo1/media/branch/main/path/image.png" alt="Image"/></a></p>\n`,
    { mode: "file", filePath: "path/new-file.md", context: "/user2/repo1/src/branch/main/path" },
  ],
  ["[[Name|Link]]", p("[[Name|Link]]"), { mode: "markdown", ...repo }],
  ["", "", { mode: "markdown" }],
];

const unchanged = [
  "www.example.com",
  "example.com",
  "http://",
  "ftps://gitea.com",
  "git@try.gitea.io:go-gitea/gitea.git",
  "gitea@3",
  "gitea@gmail.c",
  "email@domain..com",
  ":100:200",
  "std::thread::something",
  ":not exist:",
  "foo `:smile:",
  "/home/gitea/go-gitea/gitea#12345",
  ".$a$",
  "$a a$b b$",
  "a$x$",
  "$x$a",
];

const engineExamples: Example[] = [
  ...unchanged.map((text): Example => [text, p(text)]),
  ["<https://google.com/>", p(a("https://google.com/", "https://google.com/"))],
  ["[link](mailto:test@example.com)", p(a("mailto:test@example.com", "link"))],
  ["[link](javascript:xss)", p("link")],
  [
    "https://www.example.com/foo/?bar=baz&inga=42&quux",
    p(
      a(
        "https://www.example.com/foo/?bar=baz&amp;inga=42&amp;quux",
        "https://www.example.com/foo/?bar=baz&amp;inga=42&amp;quux",
      ),
    ),
  ],
  [
    "https://en.wikipedia.org/wiki/URL_(disambiguation)",
    p(
      a(
        "https://en.wikipedia.org/wiki/URL_(disambiguation)",
        "https://en.wikipedia.org/wiki/URL_(disambiguation)",
      ),
    ),
  ],
  [
    "https://username:password@gitea.com",
    p(a("https://username:password@gitea.com", "https://username:password@gitea.com")),
  ],
  ["info@gitea.com.", p(`${a("mailto:info@gitea.com", "info@gitea.com")}.`)],
  ['"info@gitea.com"', p(`&#34;${a("mailto:info@gitea.com", "info@gitea.com")}&#34;`)],
  ["email@domain@domain.com", p(`email@${a("mailto:domain@domain.com", "domain@domain.com")}`)],
  [
    ":gitea:",
    p(
      `<span class="emoji" aria-label="gitea"><img alt=":gitea:" src="/assets/img/emoji/gitea.png"/></span>`,
    ),
  ],
  [
    "Some text with :smile: in the middle",
    p(
      'Some text with <span class="emoji" aria-label="grinning face with smiling eyes">😄</span> in the middle',
    ),
  ],
  [
    "👍🏽 :wave_Dark_Skin_Tone: ✌🏻",
    p(
      '<span class="emoji" aria-label="thumbs up: Medium Skin Tone">👍🏽</span> ' +
        '<span class="emoji" aria-label="waving hand: Dark Skin Tone">👋🏿</span> ' +
        '<span class="emoji" aria-label="victory hand: Light Skin Tone">✌🏻</span>',
    ),
  ],
  ["foo `:smile:`", p("foo <code>:smile:</code>")],
  [
    "test-owner/test-repo#12345",
    p(
      a(
        `${root}test-owner/test-repo/issues/12345`,
        "test-owner/test-repo#12345",
        ' class="ref-issue"',
      ),
    ),
  ],
  [
    `${root}gogitea/gitea/issues/12345`,
    p(a(`${root}gogitea/gitea/issues/12345`, "gogitea/gitea#12345", ' class="ref-issue"')),
  ],
  [
    `${root}person/repo/issues/4#issuecomment-1234`,
    p(
      a(
        `${root}person/repo/issues/4#issuecomment-1234`,
        "person/repo#4 (comment)",
        ' class="ref-issue"',
      ),
    ),
  ],
  [
    `${root}a/b/commit/${hash40}/foo.txt?a=b#L2-L3`,
    p(
      a(`${root}a/b/commit/${hash40}/foo.txt?a=b#L2-L3`, "<code>0123456789/foo.txt (L2-L3)</code>"),
    ),
  ],
  [
    `${root}repo/owner/archive/${hash40}.tar.gz`,
    p(a(`${root}repo/owner/archive/${hash40}.tar.gz`, "<code>0123456789.tar.gz</code>")),
  ],
  [
    `${root}owner/repo/commit/${hash40}.patch?key=val`,
    p(a(`${root}owner/repo/commit/${hash40}.patch?key=val`, "<code>0123456789.patch</code>")),
  ],
  [
    `${root}user/repo/compare/${hash40}...${hash40}#hash`,
    p(
      a(
        `${root}user/repo/compare/${hash40}...${hash40}#hash`,
        "<code>0123456789...0123456789 (hash)</code>",
      ),
    ),
  ],
  ["[[Link]]", p(a(`${base}/Link`, "Link"))],
  ["[[Link?]]", p(a(`${base}/Link%3F`, "Link?"))],
  ["[[Other Link]]", p(a(`${base}/Other-Link`, "Other Link"))],
  [
    "[[Link.jpg]]",
    p(a(`${base}/Link.jpg`, `<img src="${base}/Link.jpg" title="Link.jpg" alt="Link.jpg"/>`)),
  ],
  [
    "[[Name|Link.jpg|alt=AltName|title=Title]]",
    p(a(`${base}/Link.jpg`, `<img src="${base}/Link.jpg" title="Title" alt="AltName"/>`)),
  ],
  [
    "[[Name|Link Other.jpg|alt=\"AltName\"|title='Title']]",
    p(
      a(
        `${base}/Link+Other.jpg`,
        `<img src="${base}/Link+Other.jpg" title="Title" alt="AltName"/>`,
      ),
    ),
  ],
  [
    '<p><a href="https://example.org">[[foobar]]</a></p>',
    '<p><a href="https://example.org" rel="nofollow">[[foobar]]</a></p>',
  ],
  [
    "[![Train](url)](https://gitea.io)",
    p(a("https://gitea.io", `<img src="${base}/url" alt="Train"/>`)),
  ],
  [
    "![Train](../../.images/src/02/train.jpg)",
    p(
      `<a href="${base}/.images/src/02/train.jpg" target="_blank" rel="nofollow noopener"><img src="${base}/.images/src/02/train.jpg" alt="Train"/></a>`,
    ),
  ],
  ["<a href=foo>l</a>", p(a(`${base}/foo`, "l"))],
  ["<a href='/foo'>l</a>", p(a(`${base}/foo`, "l"))],
  ['<a href="#foo">l</a>', p(a("#user-content-foo", "l"))],
  [
    "https://example.com/__init__.py",
    p(a("https://example.com/__init__.py", "https://example.com/__init__.py")),
  ],
  ...["#FF0000", "rgb(16, 32, 64)", "#0a0", "HSL(0, 100%, 50%)"].map((colour): Example => [
    `\`${colour}\``,
    p(
      `<code>${colour}<span class="color-preview" style="background-color: ${colour}"></span></code>`,
    ),
  ]),
  ...["red", "FF0000", "hsI(0, 100%, 50%)", "hsl(40, 60, 80)"].map((text): Example => [
    `\`${text}\``,
    p(`<code>${text}</code>`),
  ]),
  [
    "```js\ncode\n```",
    fence(' class="chroma language-js display"', '<span class="nx">code</span>\n'),
  ],
  [
    "```js:app.ts\ncode\n```",
    fence(' class="chroma language-js display"', '<span class="nx">code</span>\n'),
  ],
  [
    "```js,ignore\ncode\n```",
    fence(' class="chroma language-js display"', '<span class="nx">code</span>\n'),
  ],
  [
    "```js ignore\ncode\n```",
    fence(' class="chroma language-js display"', '<span class="nx">code</span>\n'),
  ],
  ["```\ncode\n```", fence(' class="chroma language-text display"', "code\n")],
  ["    <script>alert(1)</script>\n", fence("", "&lt;script&gt;alert(1)&lt;/script&gt;\n")],
  [
    "- [ ] unchecked\n- [x] checked",
    '<ul>\n<li class="task-list-item"><input type="checkbox" disabled="" data-source-position="2"/>unchecked</li>\n' +
      '<li class="task-list-item"><input type="checkbox" disabled="" data-source-position="18" checked=""/>checked</li>\n</ul>\n',
  ],
  [
    "\n- [ ] <!-- c --> text",
    '<ul>\n<li class="task-list-item"><input type="checkbox" disabled="" data-source-position="3"/> text</li>\n</ul>\n',
  ],
  [
    "---\nkey1: val1\nkey2: val2\n---\ntest",
    '<details class="frontmatter-content"><summary>ICON key1, key2</summary><table>\n<thead>\n<tr>\n<th>key1</th>\n<th>key2</th>\n</tr>\n</thead>\n' +
      "<tbody>\n<tr>\n<td>val1</td>\n<td>val2</td>\n</tr>\n</tbody>\n</table>\n</details><p>test</p>\n",
  ],
  [
    "---\n- item1\n- item2\n---\ntest",
    "<hr/>\n<ul>\n<li>item1</li>\n<li>item2</li>\n</ul>\n<hr/>\n<p>test</p>\n",
  ],
  [
    "---\nanything\n---\ntest",
    '<hr/>\n<h2 id="user-content-anything">anything</h2>\n<p>test</p>\n',
  ],
  ["---\nanything\n---\ntest", "<hr/>\n<h2>anything</h2>\n<p>test</p>\n", { mode: "comment" }],
  ["---\nfoo", "<hr/>\n<p>foo</p>\n"],
  [
    "> [!NOTE]\n> text",
    '<blockquote class="attention-header attention-note"><p>ICON<strong class="attention-note">Note</strong></p>\n<p>text</p>\n</blockquote>\n',
  ],
  [
    "> \\[!NOTE\\]\n> text",
    '<blockquote class="attention-header attention-note"><p>ICON<strong class="attention-note">Note</strong></p>\n<p>text</p>\n</blockquote>\n',
  ],
  [
    "> **warning**\n> text",
    '<blockquote class="attention-header attention-warning"><p>ICON<strong class="attention-warning">Warning</strong></p>\n<p>text</p>\n</blockquote>\n',
  ],
  [">\ntext", "<blockquote>\n</blockquote>\n<p>text</p>\n"],
  ["First Term\n: definition", "<dl>\n<dt>First Term</dt>\n<dd>definition</dd>\n</dl>\n"],
  ...["$a$", "$ a $", "$$a$$ "].map((text): Example => [
    text === "$$a$$ " ? "b $$a$$" : text,
    p(`${text === "$$a$$ " ? "b " : ""}<code class="language-math">a</code>`),
  ]),
  ["$a$$b$", p('<code class="language-math">a</code><code class="language-math">b</code>')],
  [
    "$a$ ($b$) [$c$] {$d$}",
    p('<code class="language-math">a</code> (<code class="language-math">b</code>) [$c$] {$d$}'),
  ],
  ["foo $x=\\$$ bar", p('foo <code class="language-math">x=\\$</code> bar')],
  ["a$`b`$c", p('a<code class="language-math">b</code>c')],
  ["$$ x $$\nfoo", '<code class="language-math display"> x </code>\n<p>foo</p>\n'],
  [
    "$$\na\n$$",
    '<pre class="code-block is-loading"><code class="language-math display">\na\n</code></pre>\n',
  ],
  ["<script>a</script>", "&lt;script&gt;a&lt;/script&gt;"],
  ["<?php\nfoo", "&lt;?php\nfoo"],
  ["<%asp\nfoo", p("&lt;%asp\nfoo")],
  [
    "foo[^1]\n\n[^1]: bar",
    '<p>foo<sup id="fnref:user-content-1-preview"><a href="#fn:user-content-1-preview" rel="nofollow">1 </a></sup></p>\n<div>\n<hr/>\n<ol>\n' +
      '<li id="fn:user-content-1-preview">\n<p>bar <a href="#fnref:user-content-1-preview" rel="nofollow">↩︎</a></p>\n</li>\n</ol>\n</div>\n',
    { mode: "comment" },
  ],
  [
    "* foo #12345 bar",
    `<ul>\n<li>foo <a href="${root}u/r/issues/12345" class="ref-issue" rel="nofollow">#12345</a> bar</li>\n</ul>\n`,
    { mode: "comment", context: "/u/r" },
  ],
  [
    "* #12345",
    `<ul>\n<li><a href="${root}u/r/issues/12345" class="ref-issue" rel="nofollow">#12345</a></li>\n</ul>\n`,
    { mode: "comment", context: "/u/r" },
  ],
];

async function check(examples: readonly Example[]): Promise<void> {
  const shown = [];
  const expected = [];
  for (const [input, output, options] of examples) {
    shown.push([input, withoutIcons(await render(input, options))]);
    expected.push([input, output]);
  }
  expect(shown).toEqual(expected);
}

describe("the pairs of the behaviour reference", () => {
  test("the route examples of the behaviour reference render exactly", () => check(routeExamples));
  test("the engine examples of the behaviour reference render exactly", () =>
    check(engineExamples));

  test("a task after front matter counts from the start of the text", async () => {
    expect(await render("---\nfoo: bar\n---\n- [ ] task 1")).toContain('data-source-position="19"');
  });

  test("the pairs of the behaviour reference render with the marks that pages need", async () => {
    const page = (text: string, options?: Partial<RenderInput>) =>
      render(text, options, pageRenderer);
    expect(await page("* a\n  * b")).toBe(
      '<ul dir="auto">\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>\n',
    );
    expect(await page("<a><img src='a.jpg'></a>")).toBe(
      `<p dir="auto"><img src="${base}/a.jpg" loading="lazy"/></p>\n`,
    );
    expect(await page("https://a.example", { mode: "wiki" })).toBe(
      '<p dir="auto"><a href="https://a.example" data-markdown-generated-content="" rel="nofollow">https://a.example</a></p>\n',
    );
    expect(await page("# a\n\ntext", { mode: "markdown" })).toBe(
      '<h1>a</h1>\n<p dir="auto">text</p>\n',
    );
    expect(await page("> > a", { mode: "markdown" })).toBe(
      '<blockquote>\n<blockquote dir="auto">\n<p dir="auto">a</p>\n</blockquote>\n</blockquote>\n',
    );
    expect(await page("> # a\n> - b\n>   - c\n>\n> > d", { mode: "markdown" })).toBe(
      '<blockquote>\n<h1 dir="auto">a</h1>\n<ul dir="auto">\n<li>b\n<ul>\n<li>c</li>\n</ul>\n</li>\n</ul>\n' +
        '<blockquote>\n<p dir="auto">d</p>\n</blockquote>\n</blockquote>\n',
    );
  });

  test("gives headings the ids of the behaviour reference", async () => {
    const ids: [string, string][] = [
      ["test(0)", "test0"],
      ["test：6 a", "test6-a"],
      ["test：ad # df", "testad--df"],
      ["a-b-c----", "a-b-c----"],
      ['Header with "double quotes"', "header-with-double-quotes"],
      ["a啊啊b", "a啊啊b"],
      ["c🤔️🤔️d", "cd"],
      ["e.~f", "ef"],
      ["What is Wine Staging?", "what-is-wine-staging"],
    ];
    for (const [text, id] of ids)
      expect(await render(`## ${text}`)).toContain(`<h2 id="user-content-${id}">`);
    expect(await render("<h2>  tes a a   a  a  </h2>")).toContain(
      'id="user-content-tes-a-a---a--a"',
    );
    expect(await render("## More {#custom-id}")).toBe(
      '<h2 id="user-content-custom-id">More</h2>\n',
    );
    expect(await render("## More {#custom-id}", { mode: "markdown" })).toBe(
      '<h2 id="custom-id">More</h2>\n',
    );
    expect(await render('<a id="x">y</a>')).toBe('<p><a id="user-content-x">y</a></p>\n');
  });

  test("the mode wiki resolves links below the wiki", async () => {
    expect(await render("[[Link.jpg]]", { mode: "wiki" })).toBe(
      `<p><a href="${wikiBase}/Link.jpg" rel="nofollow"><img src="${wikiBase}/raw/Link.jpg" title="Link.jpg" alt="Link.jpg"/></a></p>\n`,
    );
  });
});
