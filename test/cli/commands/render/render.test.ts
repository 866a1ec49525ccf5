import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toTerminalText } from "../../../../cli/output/terminal-html.ts";
import { type FakeAnswer, fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

test("a line becomes options", async () => {
  expect(await optionsOf("render markdown", [])).toEqual({});
  expect(
    await optionsOf("render markdown", [
      "a.md",
      "--mode",
      "gfm",
      "--context",
      "/o/r",
      "--wiki",
      "--terminal",
    ]),
  ).toEqual({
    file: "a.md",
    mode: "gfm",
    context: "/o/r",
    wiki: true,
    terminal: true,
  });
  expect(await optionsOf("render markup", ["a.org", "--file-path", "x/a.org"])).toEqual({
    file: "a.org",
    filePath: "x/a.org",
    mode: "file",
  });
});

describe("rendering", () => {
  const html = (body: string): FakeAnswer => ({
    body: Buffer.from(body),
    headers: { "Content-Type": "text/html; charset=utf-8" },
  });
  const ask = async (line: readonly string[], answer: FakeAnswer, stdin?: string) => {
    await using home = await temporaryHome();
    await writeFile(join(home.path, "a.csv"), "1,2\n");
    await using daemon = await fakeDaemon({
      "POST /api/v1/markdown": answer,
      "POST /api/v1/markup": answer,
    });
    const ran = await runCli(["render", ...line], {
      home: home.path,
      workingDirectory: home.path,
      env: { CROFT_URL: daemon.url },
      ...(stdin === undefined ? {} : { stdin }),
    });
    return { ran, sent: daemon.requests[0]?.json(), headers: daemon.requests[0]?.headers };
  };

  test("the error for a missing file begins with its name", async () => {
    const { ran, sent } = await ask(["markdown", "no's.md", "--json"], html(""));
    expect(ran.error()).toMatchObject({ code: "file_error", exit_code: 17 });
    expect(ran.error()["message"]).toMatch(/^\/.*no's\.md: no such file or directory$/);
    expect(sent).toBeUndefined();
  });

  test("renders standard input without a sign-in", async () => {
    const { ran, sent, headers } = await ask(
      ["markdown", "--mode", "gfm", "--context", "/o/r"],
      html("<p>a</p>\n"),
      "# a\n",
    );
    expect(sent).toEqual({ Text: "# a", Mode: "gfm", Context: "/o/r" });
    expect(headers?.authorization).toBeUndefined();
    expect(ran.out).toBe("<p>a</p>\n");
  });

  test("a file is sent with its name", async () => {
    const { ran, sent } = await ask(["markup", "a.csv", "--json"], html("<table></table>"));
    expect(sent).toEqual({ Text: "1,2\n", Mode: "file", FilePath: "a.csv" });
    expect(ran.json()).toEqual({ html: "<table></table>" });
  });

  test("a text that cannot be rendered exits 12 with the daemon's message", async () => {
    const refusal = {
      status: 422,
      body: Buffer.from("unable to find a render\n"),
      headers: { "Content-Type": "text/plain; charset=utf-8" },
    };
    const { ran } = await ask(["markup", "--file-path", "x.unknown"], refusal, "a");
    expect(ran.code).toBe(12);
    expect(ran.err).toContain("unable to find a render");
  });

  test("standard input without a name is a usage error", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["render", "markup"], { home: home.path, stdin: "a" });
    expect(ran.code).toBe(2);
    expect(ran.err).toContain("--file-path");
  });

  test("rendering with --terminal it is laid out for reading", async () => {
    const { ran } = await ask(
      ["markdown", "--terminal"],
      html('<h1>T</h1>\n<p>a <a href="https://b.example">c</a></p>\n'),
      "x",
    );
    expect(ran.out).toBe("T\n\na c (https://b.example)\n");
  });
});

describe("HTML for reading in a terminal", () => {
  const plain = { bold: String, dim: String, red: String, green: String, yellow: String };
  const show = (html: string, width = 40) => toTerminalText(html, { width, style: plain });

  test("lists, quotes, code, tables, tasks", () => {
    expect(
      show(
        '<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n<li><input type="checkbox" checked=""/>c</li>\n</ul>\n<ol>\n<li>d</li>\n<li><p>e</p></li>\n</ol>',
      ),
    ).toBe("  - a\n      - b\n  - [x] c\n\n 1. d\n 2. e\n");
    expect(show("<blockquote>\n<p>q</p>\n<p>r</p>\n</blockquote>\n<hr/>")).toBe(
      `| q\n\n| r\n\n${"-".repeat(40)}\n`,
    );
    expect(
      show(
        '<div class="x"><pre><code><span class="k">if</span> a\n  b\n</code></pre></div><p>c</p>',
      ),
    ).toBe("    if a\n      b\n\nc\n");
    expect(
      show("<table><tr><th>1</th><th>wide</th></tr><tr><td>22</td><td>x</td></tr></table>"),
    ).toBe("1   wide\n22  x\n");
  });

  test("prints mentions and references without their addresses", () => {
    expect(
      show('<p><a href="https://x/mira" data-markdown-generated-content="">@mira</a> in #1</p>'),
    ).toBe("@mira in #1\n");
  });

  test("wraps by cells, not characters", () => {
    expect(show(`<p>${"漢字 ".repeat(8)}</p>`, 20)).toBe(
      "漢字 漢字 漢字 漢字\n漢字 漢字 漢字 漢字\n",
    );
  });

  test("no text can move the cursor or hide itself", () => {
    expect(
      show(
        '<p>a\u001b[2Jb\u202ec &lt;d&gt; <a href="https://x.example/\u001b]0;t\u0007">e</a></p>',
      ),
    ).toBe("abc <d> e (https://x.example/)\n");
  });
});
