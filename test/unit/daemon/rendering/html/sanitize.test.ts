import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createSanitizer } from "../../../../../daemon/rendering/html/sanitize.ts";
import { allowedElements } from "../../../../../daemon/rendering/html/policy.ts";
import { cases } from "../../../../support/property.ts";

const author = createSanitizer({ kind: "author" });
const clean = (html: string) => author(html, "html");

describe("the allowlist", () => {
  test("elements and attributes by the names of members of objects are not allowed, and do no harm", () => {
    for (const name of ["constructor", "toString", "valueOf", "hasOwnProperty"])
      expect(clean(`<${name} id="a" ${name}="1">b</${name}><i ${name}="1">c</i>`)).toBe(
        "b<i>c</i>",
      );
  });

  test("the sanitizer converts the examples of the behaviour reference", () => {
    const unchanged = (html: string) => [html, html] as const;
    const examples = [
      [
        '<a onblur="alert(secret)" href="http://www.google.com">Google</a>',
        '<a href="http://www.google.com" rel="nofollow">Google</a>',
      ],
      ['<code class="random string"></code>', "<code></code>"],
      unchanged('<span class="k"></span><span class="nb"></span>'),
      ['<input type="hidden">', ""],
      unchanged('<input type="checkbox">'),
      ["<input checked disabled autofocus>", '<input checked="" disabled="">'],
      ['<i class="dropdown icon">NAUGHTY</i>', "<i>NAUGHTY</i>"],
      ['<span class="emoji dropdown">NAUGHTY</span>', "<span>NAUGHTY</span>"],
      unchanged('<span style="color: red">Hello</span>'),
      unchanged('<p style="color: red">Hello</p>'),
      ['<code style="color: red">Hello</code>', "<code>Hello</code>"],
      ['<span style="bad-color: red">Hello</span>', "<span>Hello</span>"],
      unchanged('<li class="checked"></li>'),
      unchanged('<li class="unchecked"></li>'),
      unchanged('<li class="indeterminate"></li>'),
      [
        '<a href="matrix:roomid/abc:host?action=join">x</a>',
        '<a href="matrix:roomid/abc:host?action=join" rel="nofollow">x</a>',
      ],
      unchanged('<picture><source media="a"><source media="b"><img alt="c" src="d"></picture>'),
      [
        '<math display="display" class="foo"><mi mathcolor="c" class="bar"></mi></math>',
        '<math display="display"><mi mathcolor="c"></mi></math>',
      ],
      ["<a href=\"javascript:alert('xss')\">bad</a>", "bad"],
      ["<a href=\"vbscript:alert('xss')\">bad</a>", "bad"],
      ['<a href="data:1234">bad</a>', "bad"],
      [
        '<div class="link-action" data-attr-class="foo" data-url="xxx">txt</div>',
        '<div data-attr-class="foo">txt</div>',
      ],
      [
        '<div data-markdown-generated-content="bar" data-global-init="a">txt</div>',
        '<div data-markdown-generated-content="bar">txt</div>',
      ],
    ];
    expect(examples.map(([html = ""]) => [html, clean(html)])).toEqual(examples);
  });

  test("a scheme that runs code is removed in every spelling", () => {
    const spellings = [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      " javascript:alert(1)",
      "java\tscript:alert(1)",
      "java\nscript:alert(1)",
      "\x01javascript:alert(1)",
      "javascript&colon;alert(1)",
      "&#106;avascript:alert(1)",
      "&#x6A;avascript:alert(1)",
      "javascript\u00a0:alert(1)",
      "vbscript:x",
      "data:text/html,x",
      "data:image/svg+xml,x",
    ];
    for (const spelling of spellings)
      for (const tag of [
        '<a href="URL">x</a>',
        '<img src="URL">',
        '<area href="URL">',
        '<video src="URL"></video>',
      ])
        expect(clean(tag.replace("URL", spelling)), spelling).not.toMatch(/script|data:|href|src/i);
  });

  test("links get rel nofollow", () => {
    expect(clean('<a href="/x" target="_blank">x</a>')).toBe(
      '<a href="/x" target="_blank" rel="nofollow noopener">x</a>',
    );
    expect(clean('<a href="/x" rel="me">x</a>')).toBe('<a href="/x" rel="me nofollow">x</a>');
    expect(clean('<area href="/x">')).toBe('<area href="/x" rel="nofollow">');
  });

  test("elements that run or load are removed with their content, and other unknown tags keep their text", () => {
    expect(
      clean(
        "a<script>b</script><style>c</style><iframe>d</iframe><noscript>e</noscript><object>f</object>g",
      ),
    ).toBe("ag");
    expect(
      clean("<form action=x><button>go</button></form><textarea>t</textarea><title>u</title>"),
    ).toBe("gotu");
    expect(clean("<!-- c --><!doctype html><?php x ?>a")).toBe("a");
  });

  test("an author cannot set the engine's classes by any spelling of the attribute", () => {
    const engine = createSanitizer({ kind: "protected", secret: "abc:" });
    expect(engine('<p data-attr-class="abc:code-block">x</p>', "html")).toBe(
      '<p class="code-block">x</p>',
    );
    expect(engine('<p data-attr-class="abd:code-block" class="code-block">x</p>', "html")).toBe(
      '<p data-attr-class="abd:code-block">x</p>',
    );
    expect(engine('<p data-attr-class="abc:not-known">x</p>', "html")).toBe("<p>x</p>");
  });

  test("a named image cannot shadow a property of the document", () => {
    expect(clean('<img name="cookie" src="x">')).toBe('<img src="x">');
  });

  test("an element without its required attribute is removed, and its content is kept", () => {
    expect(clean("a<input>b<a>c<a href=x>d</a></a>e<x>f</x>")).toBe(
      'abc<a href="x" rel="nofollow">d</a>ef',
    );
    expect(clean("<p>a</p><br>")).toBe("<p>a</p><br>");
  });

  test("text around a removed element is parsed as in a browser", () => {
    expect(clean("<p><a><p>x")).toBe("<p></p><p>x</p><p></p>");
  });

  test("text that looks like a tag is text", () => {
    expect(author("a < b > c <", "html")).toBe("a &lt; b &gt; c &lt;");
    expect(author('<p "></p>"\'</q>', "html")).toBe("<p></p>&#34;&#39;");
  });
});

describe("lists of images", () => {
  test.each(["a.png", "a.png 1x, b.png 2x", "a.png 1x,b.png 1.5x", "a,b.png 640w, c.png 1200w"])(
    "the sanitizer keeps the list of images %s",
    (list) => {
      expect(clean(`<source srcset="${list}">`)).toBe(
        `<source srcset="${list.replaceAll("x,b", "x, b")}">`,
      );
    },
  );

  test.each(["a 5o", "a 0w", "a 1x 2x", "javascript:alert(1) 1x, b 2x", "data:a,b 2x", ", a", ""])(
    "%j is removed without output on standard output",
    (list) => {
      const log = vi.spyOn(console, "log");
      expect(clean(`<source srcset="${list}">`)).toBe("<source>");
      expect(log).not.toHaveBeenCalled();
      log.mockRestore();
    },
  );
});

describe("sanitizer with any HTML", () => {
  const names = [
    ...allowedElements,
    "script",
    "style",
    "iframe",
    "form",
    "x-y",
    "plaintext",
    "template",
    "select",
  ];
  const value = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom("javascript:alert(1)", "#a", "red", "_blank", "k"),
  );
  const attribute = fc
    .tuple(
      fc.constantFrom(
        "href",
        "src",
        "class",
        "style",
        "id",
        "onclick",
        "data-attr-class",
        "title",
        "rel",
        "srcset",
        "<x",
      ),
      value,
    )
    .map(([name, content]) => `${name}="${content}"`);
  const piece = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc
      .tuple(fc.constantFrom(...names), fc.array(attribute, { maxLength: 3 }))
      .map(([name, list]) => `<${name} ${list.join(" ")}>`),
    fc.constantFrom(...names).map((name) => `</${name}>`),
    fc.constantFrom(
      "<!--",
      "-->",
      "<![CDATA[",
      "]]>",
      "<",
      ">",
      "&lt;",
      "&#60;",
      '"',
      "'",
      "/",
      "<svg/",
      "<math><mtext>",
    ),
  );

  test("the sanitizer keeps only allowed elements, and is idempotent", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const once = clean(pieces.join(""));
        expect(author(once, "html")).toBe(once);
        expectAllowed(once);
      }),
      cases(600),
    );
  });
});

function expectAllowed(html: string): void {
  for (const [, name = ""] of html.matchAll(/<\/?([a-z0-9-]*)/gi))
    expect(allowedElements).toContain(name);
  expect(html).not.toMatch(/<[^>]*\son\w+=/i);
}
