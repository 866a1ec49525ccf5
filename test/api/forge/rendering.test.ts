import http from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";

let daemon: TestDaemon;
let root: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "true" } });
  root = `${daemon.url}/`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

const markdown = (json: unknown) => daemon.request("/api/v1/markdown", { method: "POST", json });
const token = () => daemon.first?.forge.token ?? "";
const markup = (json: unknown) => daemon.request("/api/v1/markup", { method: "POST", json });
const raw = (body: string | Uint8Array<ArrayBuffer>, type: string | undefined = "text/plain") =>
  daemon.request("/api/v1/markdown/raw", {
    method: "POST",
    body,
    headers: type === undefined ? {} : { "content-type": type },
  });

describe("emoji that are not characters", () => {
  test("emoji that are not characters are pictures that the daemon serves", async () => {
    const aliases = ["git", "gitea", "codeberg", "gitlab", "github", "gogs"];
    const Text = aliases.map((alias) => `:${alias}:`).join(" ");
    const { text } = await markdown({ Text, Mode: "comment" });
    const sources = [...text.matchAll(/<img [^>]*src="([^"]*)"/g)].map(
      ([, source]) => source ?? "",
    );
    expect(sources).toEqual(aliases.map((alias) => `/assets/img/emoji/${alias}.png`));
    for (const source of sources) {
      const picture = await daemon.request(source);
      expect(picture.status).toBe(200);
      expect(picture.headers.get("content-type")).toBe("image/svg+xml");
      expect(picture.headers.get("content-security-policy")).toContain("sandbox");
      expect(picture.text).toMatch(/^<svg [^]*<\/svg>$/);
      const tag = picture.headers.get("etag") ?? "";
      const headers = { "If-None-Match": tag };
      expect((await daemon.request(source, { headers })).status).toBe(304);
    }
  });

  test.each(["none.png", "gitea", "gitea.svg", "constructor.png", "__proto__.png", "..%2fgit.png"])(
    "the emoji picture %s is not found",
    async (file) => {
      expect((await daemon.request(`/assets/img/emoji/${file}`)).status).toBe(404);
    },
  );
});

describe("POST /markdown", () => {
  test("POST /markdown renders HTML for anonymous callers, with a policy that disables active content", async () => {
    const answer = await markdown({ Text: "**hi** <script>alert(1)</script>" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("content-security-policy")).toContain("sandbox");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.text).toBe('<p dir="auto"><strong>hi</strong> </p>\n');
  });

  test("POST /markdown resolves links against the context in the modes with references", async () => {
    const { text } = await markdown({
      Text: "[Link](test.md)",
      Mode: "gfm",
      Context: "/user2/repo1/src/branch/main",
    });
    expect(text).toBe(
      `<p dir="auto"><a href="${root}user2/repo1/src/branch/main/test.md" rel="nofollow">Link</a></p>\n`,
    );
    const wiki = await markdown({
      Text: "[[Name|Link]]",
      Mode: "gfm",
      Wiki: true,
      Context: "/user2/repo1",
    });
    expect(wiki.text).toBe(
      `<p dir="auto"><a href="${root}user2/repo1/wiki/Link" rel="nofollow">Name</a></p>\n`,
    );
  });

  test("POST /markdown accepts member names in any case, null, an empty body and forms", async () => {
    expect((await markdown({ text: "a" })).text).toBe('<p dir="auto">a</p>\n');
    expect((await markdown({ Text: null, Mode: null })).text).toBe("");
    expect((await markdown({})).text).toBe("");
    const form = await daemon.request("/api/v1/markdown", {
      method: "POST",
      body: "text=a%0Ab&mode=comment",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(form.text).toBe('<p dir="auto">a<br/>\nb</p>\n');
  });

  test("POST /markdown links only mentions of publicly visible users", async () => {
    const { first } = daemon;
    const name = first?.forge?.username ?? "admin";
    const { text } = await markdown({ Text: `@${name} @nobody-here`, Mode: "comment" });
    expect(text).toContain(
      `<a href="${root}${name}" data-markdown-generated-content="" rel="nofollow">@${name}</a> @nobody-here`,
    );
  });

  test("POST /markdown answers 422 in plain text for an unknown mode and for a file without a name", async () => {
    const unknown = await markdown({ Text: "a", Mode: "unknown" });
    expect([unknown.status, unknown.text]).toEqual([422, "unsupported render mode: unknown\n"]);
    expect(unknown.headers.get("content-type")).toMatch(/^text\/plain/);
    const file = await markdown({ Text: "a", Mode: "file" });
    expect([file.status, file.text]).toEqual([422, "unable to find a render\n"]);
  });

  test("POST /markdown answers 422 in JSON for a body that cannot be decoded", async () => {
    for (const body of ["{", '{"Text":1}', "[]"]) {
      const answer = await daemon.request("/api/v1/markdown", {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
      });
      expect(answer.status, body).toBe(422);
      expect(answer.json.message, body).toMatch(/^\[/);
    }
  });

  test("POST /markdown answers 422 for a text beyond any limit", async () => {
    const limits: [string, string][] = [
      ["x".repeat(2 * 1024 * 1024 + 1), "the text is too large\n"],
      ["[".repeat(400_000), "the text has too much markup\n"],
      ["a\n".repeat(70_000), "the text has too many lines\n"],
      ["<b>".repeat(1_000), "elements nest too deep\n"],
    ];
    for (const [text, message] of limits) {
      const answer = await daemon.request("/api/v1/markdown", {
        method: "POST",
        json: { Text: text },
        token: token(),
      });
      expect([answer.status, answer.text]).toEqual([422, message]);
    }
  });

  test("POST /markdown answers 413 for an anonymous body over 1 MiB, which an account may send", async () => {
    const json = { Text: "word ".repeat(220_000) };
    expect((await markdown(json)).status).toBe(413);
    const signedIn = { method: "POST", json, token: token() };
    expect((await daemon.request("/api/v1/markdown", signedIn)).status).toBe(200);
  });
});

describe("POST /markdown/raw", () => {
  test("POST /markdown/raw renders a body of any type but a form", async () => {
    for (const type of ["text/plain", "text/markdown", "application/octet-stream"])
      expect((await raw("# a", type)).text).toBe("<h1>a</h1>\n");
    expect((await raw("[[Name|Link]]")).text).toBe('<p dir="auto">[[Name|Link]]</p>\n');
    expect((await raw("")).text).toBe("");
    expect((await raw("# a", "application/x-www-form-urlencoded")).text).toBe("");
  });

  test("POST /markdown/raw refuses with 422 a body that is not text or is too large", async () => {
    expect((await raw(new Uint8Array([0x61, 0xff]))).json.message).toBe("the text is not UTF-8");
    const large = await daemon.request("/api/v1/markdown/raw", {
      method: "POST",
      body: "x".repeat(2 * 1024 * 1024 + 1),
      headers: { "content-type": "text/plain" },
      token: token(),
    });
    expect([large.status, large.json.message]).toEqual([422, "the text is too large"]);
  });
});

describe("POST /markup", () => {
  test("POST /markup chooses the format by the file's name in mode file", async () => {
    const { text } = await markup({
      Text: "[Link](test.md)\n![Image](image.png)",
      Mode: "file",
      FilePath: "path/new-file.md",
      Context: "/user2/repo1/src/branch/main/path",
    });
    expect(text).toBe(
      `<p dir="auto"><a href="${root}user2/repo1/src/branch/main/path/test.md" rel="nofollow">Link</a>\n` +
        `<a href="${root}user2/repo1/src/branch/main/path/image.png" target="_blank" rel="nofollow noopener"><img src="${root}user2/repo1/media/branch/main/path/image.png" alt="Image" loading="lazy"/></a></p>\n`,
    );
    const unknown = await markup({ Text: "a", Mode: "file", FilePath: "path/test.unknown" });
    expect([unknown.status, unknown.text]).toEqual([422, "unable to find a render\n"]);
  });

  test("POST /markup renders tables, Org, AsciiDoc, notebooks and plain text", async () => {
    const show = async (FilePath: string, Text: string) =>
      (await markup({ Text, Mode: "file", FilePath })).text;
    expect(await show("a.csv", "a")).toBe(
      '<table class="data-table"><tr><th class="line-num">1</th><th>a</th></tr></table>',
    );
    expect(await show("A.ORG", "* Title")).toBe('<h1 id="user-content-title">Title</h1>\n');
    expect(await show("a.adoc", "== Title\n\n*bold* link:javascript:alert(1)[x]")).toContain(
      "<strong>bold</strong> x",
    );
    expect(await show("a.txt", "<b>")).toBe('<pre class="plain-text">&lt;b&gt;</pre>\n');
    expect(
      await show("a.ipynb", '{"cells":[{"cell_type":"markdown","source":["# T"]}]}'),
    ).toContain("T</h1>");
  });
});

describe("large texts", () => {
  test("large texts are rendered in worker threads, with the same result", async () => {
    const text = "## Title\n\nSome *text* with a [link](there.md) and `code`.\n\n".repeat(3_000);
    const { status, text: html } = await markdown({ Text: text, Mode: "gfm", Context: "/o/r" });
    expect(status).toBe(200);
    expect(
      html.startsWith(
        '<h2 id="user-content-title">Title</h2>\n<p dir="auto">Some <em>text</em> with a <a href=',
      ),
    ).toBe(true);
    expect(html.match(/<h2/g)).toHaveLength(3_000);
  });
});

describe("bodies that are too large", () => {
  /** Sends 16 MiB in pieces, without saying beforehand how much it will be. */
  const sendInPieces = (path: string, type: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const message = http.request(
        `${daemon.url}${path}`,
        { method: "POST", headers: { "content-type": type } },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      );
      // The connection ends with the refusal, perhaps before all is sent.
      message.on("error", reject);
      for (let piece = 0; piece < 16; piece += 1) message.write(Buffer.alloc(1024 * 1024, "a"));
      message.end();
    });

  test("bodies that are too large are refused, and the daemon continues answering", async () => {
    expect(await sendInPieces("/api/v1/markdown/raw", "text/plain")).toBe(413);
    expect(await sendInPieces("/api/v1/markdown", "application/json")).toBe(413);
    expect((await markdown({ Text: "still there" })).status).toBe(200);
  });
});

test("rendering removes NUL from the text in JSON, in forms and in raw bodies", async () => {
  expect(await markdown({ Text: "a\0b", Mode: "gfm" })).toMatchObject({
    status: 200,
    text: '<p dir="auto">ab</p>\n',
  });
  const form = await daemon.request("/api/v1/markdown", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "text=a%00b",
  });
  expect(form).toMatchObject({ status: 200, text: '<p dir="auto">ab</p>\n' });
  expect(await raw("a\0b")).toMatchObject({ status: 200, text: '<p dir="auto">ab</p>\n' });
});

test("the OpenAPI document declares both content types of a rendering refusal", async () => {
  const { json } = await daemon.request("/openapi/forge.json");
  const { content } = json.paths["/api/v1/markup"].post.responses["422"];
  expect(Object.keys(content)).toEqual(["application/json", "text/plain; charset=utf-8"]);
});

test("rendering refuses wrong credentials, and limits only anonymous callers", async () => {
  const refused = await daemon.request("/api/v1/markdown", {
    method: "POST",
    json: { Text: "a" },
    token: "0123456789abcdef",
  });
  expect(refused.status).toBe(401);
  expect((await markdown({ Text: "a" })).headers.get("ratelimit-limit")).toBe("600");
  const signedIn = await daemon.request("/api/v1/markdown", {
    method: "POST",
    json: { Text: "a" },
    token: daemon.first?.forge.token ?? "",
  });
  expect(signedIn.status).toBe(200);
  expect(signedIn.headers.get("ratelimit-limit")).toBeNull();
});
