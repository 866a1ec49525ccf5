import { describe, expect, test } from "vitest";
import { render } from "../support.ts";

const show = (filePath: string, text: string) => render(text, { mode: "file", filePath });
const cell = (tag: string, text: string) => `<${tag}>${text}</${tag}>`;
const row = (number: number, tag: string, ...cells: string[]) =>
  `<tr><${tag} class="line-num">${number}</${tag}>${cells.map((text) => cell(tag, text)).join("")}</tr>`;
const table = (...rows: string[]) => `<table class="data-table">${rows.join("")}</table>`;

describe("tables", () => {
  test("renders the table pairs of the behaviour reference", async () => {
    expect(await show("a.csv", "a")).toBe(table(row(1, "th", "a")));
    expect(await show("a.csv", "1;2\n3;4")).toBe(
      table(row(1, "th", "1", "2"), row(2, "td", "3", "4")),
    );
    expect(await show("a.csv", "<br/>")).toBe(table(row(1, "th", "&lt;br/&gt;")));
  });

  test("tables detect their delimiter, which a quoted cell may contain", async () => {
    for (const mark of [",", ";", "\t", "|", "@"])
      expect(await show("a.csv", `a${mark}b\nc${mark}d\n`)).toBe(
        table(row(1, "th", "a", "b"), row(2, "td", "c", "d")),
      );
    expect(await show("a.tsv", "a,b\tc")).toBe(table(row(1, "th", "a,b", "c")));
    expect(await show("a.csv", 'a,"b,""c""\nd"\ne,')).toBe(
      table(row(1, "th", "a", "b,&#34;c&#34;\nd"), row(2, "td", "e", "")),
    );
    expect(await show("a.csv", 'a,"b')).toBe(table(row(1, "th", "a", "b")));
    expect(await show("a.csv", "a\r\nb\r\n")).toBe(table(row(1, "th", "a"), row(2, "td", "b")));
    expect(await show("a.csv", " \n")).toBe("");
  });

  test("an e-mail address is not split, whatever delimiter the table has", async () => {
    expect(await show("a.csv", "mail\nmira@example.org\njo.b+x@mail.example.org\n")).toBe(
      table(
        row(1, "th", "mail"),
        row(2, "td", "mira@example.org"),
        row(3, "td", "jo.b+x@mail.example.org"),
      ),
    );
    expect(await show("a.csv", 'mira@example.org@"a;b"@c')).toBe(
      table(row(1, "th", "mira", "example.org", "a;b", "c")),
    );
    expect(await show("a.csv", '"a"|"b,c" d,e')).toBe(
      table(row(1, "th", "a|&#34;b", "c&#34; d", "e")),
    );
  });

  test("tables end after 2500 rows with a notice about the rest", async () => {
    const html = await show("a.csv", "a,b\n".repeat(3_000));
    expect(html.match(/line-num/g)).toHaveLength(2_500 * 1);
    expect(html).toMatch(/too large to be shown in full\.<\/td><\/tr><\/table>$/);
  });
});

describe("Org", () => {
  test("Org renders headings, emphasis, links and images", async () => {
    expect(
      await show("a.org", "#+TITLE: T\n* One /two/\ntext *b* =c= ~d~ +e+ _f_\nmore\n\n-----\n"),
    ).toBe(
      '<h1 id="user-content-t">T</h1>\n<h1 id="user-content-one-two">One <em>two</em></h1>\n' +
        "<p>text <strong>b</strong> <code>c</code> <code>d</code> <del>e</del> <u>f</u>\nmore</p>\n<hr/>\n",
    );
    expect(await show("a.org", "[[https://a.example][x]] [[file:b c.png]] a*b* 1/2/3")).toBe(
      '<p><a href="https://a.example" rel="nofollow">x</a> <a href="http://localhost:3000/src/b%20c.png" target="_blank" rel="nofollow noopener">' +
        '<img src="http://localhost:3000/src/b%20c.png" alt="file:b c.png"/></a> a*b* 1/2/3</p>\n',
    );
  });

  test("Org renders nested lists, with checkboxes and terms", async () => {
    expect(await show("a.org", "- [X] a\n  more\n  - b\n- t :: d\n\n1. x\n2. y\n")).toBe(
      '<ul>\n<li><input type="checkbox" disabled="" checked=""/>a\nmore\n<ul>\n<li>b</li>\n</ul>\n</li>\n<li><strong>t</strong> d</li>\n</ul>\n' +
        "<ol>\n<li>x</li>\n<li>y</li>\n</ol>\n",
    );
  });

  test("Org renders blocks, tables and footnotes, and shows directives that read a file as text", async () => {
    expect(await show("a.org", "#+begin_src c\nint a;\n#+end_src")).toBe(
      '<div><pre><code class="chroma language-c"><span class="kt">int</span> a;</code></pre></div>\n',
    );
    expect(await show("a.org", "| a | b |\n|---+---|\n| 1 | 2 |")).toBe(
      "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
    );
    expect(await show("a.org", '#+INCLUDE: "/etc/passwd"\n# comment\n:A: b\n: fixed')).toBe(
      "<p>#+INCLUDE: &#34;/etc/passwd&#34;</p>\n<p>:A: b</p>\n<pre>fixed</pre>\n",
    );
    expect(await show("a.org", "x[fn:1]\n\n[fn:1] note")).toContain(
      '<li id="fn:user-content-1">\n<p>note <a href="#fnref:user-content-1"',
    );
    expect(await show("a.org", "#+begin_quote\nq\n#+end_quote\n#+begin_example\n<b>\n")).toBe(
      "<blockquote>\n<p>q</p>\n</blockquote>\n<pre>&lt;b&gt;\n</pre>\n",
    );
  });

  test("Org leaves out property drawers, logbooks and clock lines, and shows other drawers", async () => {
    const task =
      "* NEXT Repair the jetty\nDEADLINE: <2024-05-04 Sat>\n:PROPERTIES:\n:EFFORT:   3h\n:END:\nOrder planks.\n" +
      ":LOGBOOK:\n- Note taken\nCLOCK: [2024-04-01 Mon 10:00]\n:END:\nCLOCK: [2024-04-01 Mon 10:00]\nAsk.\n";
    expect(await show("a.org", task)).toBe(
      '<h1 id="user-content-next-repair-the-jetty">NEXT Repair the jetty</h1>\n' +
        "<p>DEADLINE: &lt;2024-05-04 Sat&gt;</p>\n<p>Order planks.</p>\n<p>Ask.</p>\n",
    );
    expect(await show("a.org", ":TIPS:\n- a\n:END:\n:item: and\n:word:\nmore")).toBe(
      "<ul>\n<li>a</li>\n</ul>\n<p>:item: and\n:word:\nmore</p>\n",
    );
  });

  test("Org links to headings by their text and by their own id", async () => {
    const html = await show(
      "a.org",
      "* One /two/ :tag:\n* DONE Ends\n:PROPERTIES:\n:CUSTOM_ID: fin\n:END:\n* One\n* One\n[[*one /two/]] [[*Ends][e]] [[#fin][f]] [[One]]",
    );
    expect(html).toContain('<h1 id="user-content-fin">DONE Ends</h1>');
    expect(html).toContain('<h1 id="user-content-one-1">One</h1>');
    expect(html).toContain(
      '<p><a href="#user-content-one-two-tag" rel="nofollow">one /two/</a> <a href="#user-content-fin" rel="nofollow">e</a> ' +
        '<a href="#user-content-fin" rel="nofollow">f</a> <a href="#user-content-one" rel="nofollow">One</a></p>',
    );
  });

  test("an item of Org keeps its paragraphs, blocks and lists, also after a blank line", async () => {
    expect(
      await show(
        "a.org",
        "- a\n\n- b\n\n  more\n  #+begin_src c\n  int a;\n    b\n  #+end_src\n  1. x\n\n  2. y\n\n\nend\n- c",
      ),
    ).toBe(
      '<ul>\n<li>a</li>\n<li>b\n<p>more</p>\n<div><pre><code class="chroma language-c"><span class="kt">int</span> a;\n  b</code></pre></div>\n' +
        "<ol>\n<li>x</li>\n<li>y</li>\n</ol>\n</li>\n</ul>\n<p>end</p>\n<ul>\n<li>c</li>\n</ul>\n",
    );
  });

  test("a footnote of Org has several lines and a link back to its first reference", async () => {
    const html = await show(
      "a.org",
      "x[fn:1] y[fn:1]\n\n[fn:1] one\ntwo\n\n- three\n[fn:2] other\n\n\nafter",
    );
    expect(html).toContain(
      '<li id="fn:user-content-1">\n<p>one\ntwo</p>\n<ul>\n<li>three</li>\n</ul>\n<p> <a href="#fnref:user-content-1"',
    );
    expect(html).toContain('<li id="fn:user-content-2">\n<p>other <a');
    expect(html).toContain('<sup id="fnref1:user-content-1">');
    expect(html.indexOf("<p>after</p>")).toBeLessThan(html.indexOf("<hr/>"));
  });

  test("Org renders five thousand items, deep lists and long lines", async () => {
    expect((await show("a.org", "- a\n".repeat(5_000))).match(/<li>/g)).toHaveLength(5_000);
    expect(
      await show(
        "a.org",
        Array.from({ length: 300 }, (_, depth) => `${" ".repeat(depth)}- a`).join("\n"),
      ),
    ).toContain("<li>a");
    expect(await show("a.org", "*a ".repeat(20_000))).toContain("*a *a");
  });
});

describe("AsciiDoc", () => {
  test("AsciiDoc is rendered without including, running or fetching anything", async () => {
    const html = await show(
      "a.adoc",
      "= T\n\n== S\n\n*b* link:x.adoc[y]\n\ninclude::/etc/passwd[]\n\n++++\n<script>hit()</script>\n++++\n",
    );
    expect(html).toContain(
      '<strong>b</strong> <a href="http://localhost:3000/src/x.adoc" rel="nofollow">y</a>',
    );
    expect(html).toContain('id="user-content-_s"');
    expect(html).not.toContain("root:");
    expect(html).not.toContain("<script");
  });

  test("references between documents of AsciiDoc lead to the source files", async () => {
    const html = await show(
      "docs/a.adoc",
      "xref:bus times.adoc[b] xref:c.adoc#part[c] <<d.adoc#>> link:++guest list.md++[g]",
    );
    for (const target of ["bus%20times.adoc", "c.adoc#part", "d.adoc", "guest%20list.md"])
      expect(html).toContain(`href="http://localhost:3000/src/docs/${target}"`);
    expect(await show("a.asciidoc", "xref:b.asciidoc[b]")).toContain('src/b.asciidoc"');
  });
});

describe("notebooks", () => {
  const notebook = (...cells: object[]) =>
    JSON.stringify({ metadata: { language_info: { name: "python" } }, cells });

  test("notebooks show their cells in order with their outputs", async () => {
    const html = await show(
      "a.ipynb",
      notebook(
        { cell_type: "markdown", source: ["# T\n", "text"] },
        {
          cell_type: "code",
          source: "print(1)",
          outputs: [
            { output_type: "stream", text: ["1\n"] },
            {
              output_type: "display_data",
              data: { "text/html": "<b onclick=hit()>x</b>", "text/plain": "x" },
            },
            { output_type: "display_data", data: { "image/svg+xml": "<svg/>" } },
            { output_type: "error", traceback: ["\u001b[31mNo\u001b[0m", "way"] },
          ],
        },
      ),
    );
    expect(html).toContain(
      '<div class="notebook-cell"><h1 id="user-content-t">T</h1>\n<p>text</p>\n</div>',
    );
    expect(html).toContain('<span class="nb">print</span>(<span class="mi">1</span>)');
    for (const shown of ["<pre>1\n</pre>", "<b>x</b>", "(an image)", "<pre>No\nway</pre>"])
      expect(html).toContain(
        `<div class="notebook-output">${shown.startsWith("(") ? `<p>${shown}</p>` : shown}</div>`,
      );
  });

  test("notebooks show their images and attachments, and not the style sheets of tables", async () => {
    const png = { "image/png": ["AA\n", "AA"] };
    const html = await show(
      "a.ipynb",
      notebook(
        {
          cell_type: "markdown",
          source: "![a](attachment:my%20map.png) ![b](attachment:gone.png)",
          attachments: { "my map.png": png },
        },
        {
          cell_type: "code",
          source: "df",
          outputs: [
            { output_type: "display_data", data: png },
            {
              output_type: "execute_result",
              data: {
                "text/html":
                  "<style scoped>\n.a > b {}\n</style>\n<table><tr><td>1</td></tr></table>",
              },
            },
            { output_type: "display_data", data: { "image/png": '"><script>' } },
          ],
        },
      ),
    );
    expect(html).toContain('<img src="data:image/png;base64,AAAA" alt="a"/>');
    expect(html).toContain('<div class="notebook-output"><img src="data:image/png;base64,AAAA"');
    expect(html).toContain('<div class="notebook-output">\n<table>');
    expect(html).toContain("<p>(an image)</p>");
    expect(html).not.toMatch(/style|script|\.a/);
    // An author's own image is not embedded: only the renderer knows the prefix.
    expect(await render('<img src="data:image/png;base64,AAAA" alt="x">')).not.toContain("data:");
  });

  test("notebooks embed one attachment as often as its images stay below the limit", async () => {
    const data = "A".repeat(1024 * 1024);
    const source = "![a](attachment:a.png) ".repeat(10);
    const html = await show(
      "a.ipynb",
      notebook({ cell_type: "markdown", source, attachments: { "a.png": { "image/png": data } } }),
    );
    expect(html.match(/data:image/g)).toHaveLength(4);
  });

  test("shows an invalid notebook as plain text", async () => {
    for (const text of ["not json", "[]", '{"cells":1}', "null", `${"[".repeat(100_000)}`])
      expect(await show("a.ipynb", text)).toContain('class="chroma language-json display"');
  });
});

test("plain text is shown unchanged", async () => {
  expect(await show("a.txt", "<b> & 'c'\n\n  d")).toBe(
    '<pre class="plain-text">&lt;b&gt; &amp; &#39;c&#39;\n\n  d</pre>\n',
  );
});

describe("a byte order mark", () => {
  test.each([
    ["a.md", "# Log", "<h1"],
    ["a.md", "---\na: b\n---\ntext", "<details"],
    ["a.csv", '"a",b', "<th>a</th>"],
    ["a.tsv", "a\tb", "<th>a</th>"],
    ["a.org", "* Log", "<h1"],
    ["a.adoc", "== Log", "<h2"],
    ["a.ipynb", '{"cells":[{"cell_type":"markdown","source":"# Log"}]}', "<h1"],
  ])("is not part of the text of %s", async (filePath, text, shown) => {
    const html = await show(filePath, `\uFEFF${text}`);
    expect(html).toContain(shown);
    expect(html).toBe(await show(filePath, text));
  });
});
