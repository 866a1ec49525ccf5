import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

// Issue templates, editor settings, notes of commits, and several files in one request.

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by, api } = people;
const encode = (text: string) => Buffer.from(text).toString("base64");

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  await people.newUser("otto");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function newRepository(
  files: Readonly<Record<string, string>>,
  fields: object = {},
): Promise<string> {
  const name = await people.newRepository("mira", { auto_init: true, ...fields });
  const path = `/repos/mira/${name}`;
  const list = Object.entries(files).map(([file, text]) => ({
    operation: "create",
    path: file,
    content: encode(text),
  }));
  if (list.length > 0)
    expect((await by("mira", "POST", `${path}/contents`, { files: list })).status).toBe(201);
  return path;
}

const FORM = `name: Bug
description: Something is wrong
title: "[bug] "
labels: bug, triage
assignees: [mira]
body:
  - type: markdown
    attributes: { value: Thank you }
  - type: textarea
    id: what
    attributes: { label: What happened, render: sh }
    validations: { required: true }
  - type: dropdown
    id: where
    attributes: { label: Where, options: [here, there], default: 1 }
`;

describe("issue templates", () => {
  test("forms and Markdown are listed, and invalid files are counted in a header", async () => {
    const repo = await newRepository({
      ".gitea/ISSUE_TEMPLATE/bug.yaml": `\uFEFF${FORM}`,
      ".github/ISSUE_TEMPLATE/idea.md":
        "\uFEFF---\nname: Idea\nabout: A wish\nref: next\nlabels: [wish]\n---\n\nTell us\n",
      ".github/ISSUE_TEMPLATE/plain.md": "# Only text\n",
      ".github/ISSUE_TEMPLATE/broken.yml":
        "name: Broken\nabout: x\nbody: [{ type: constructor }]\n",
      ".github/ISSUE_TEMPLATE/nameless.md": "---\nabout: x\n---\ntext",
    });
    const answer = await by("otto", "GET", `${repo}/issue_templates`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-gitea-warning")).toContain("count=2");
    expect(answer.json).toMatchObject([
      {
        name: "Bug",
        about: "Something is wrong",
        title: "[bug] ",
        labels: ["bug", "triage"],
        assignees: ["mira"],
        ref: "refs/heads/",
        content: "",
        file_name: ".gitea/ISSUE_TEMPLATE/bug.yaml",
        body: [
          { type: "markdown", id: "0", visible: ["form"] },
          { type: "textarea", id: "what", visible: ["form", "content"] },
          { type: "dropdown", id: "where", attributes: { default: 1 } },
        ],
      },
      {
        name: "Idea",
        ref: "refs/heads/next",
        labels: ["wish"],
        content: "\nTell us\n",
        body: null,
      },
      { name: "plain.md", about: "# Only text\n", content: "# Only text\n", labels: null },
    ]);
  });

  test("lists no templates for an empty repository and for one without templates", async () => {
    const repo = await newRepository({});
    expect((await by("mira", "GET", `${repo}/issue_templates`)).json).toEqual([]);
    const empty = `/repos/mira/${await people.newRepository("mira", {})}`;
    expect((await by("mira", "GET", `${empty}/issue_templates`)).json).toEqual([]);
    expect((await by("mira", "GET", `${empty}/issue_config`)).json).toEqual({
      blank_issues_enabled: true,
      contact_links: [],
    });
  });

  test("an issue template whose YAML expands without bounds is refused", async () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${["b", "c", "d", "e", "f"]
      .map((key, at) => `${key}: &${key} [${Array(9).fill(`*${"abcdef"[at]}`).join(",")}]`)
      .join("\n")}\n`;
    const repo = await newRepository({ "ISSUE_TEMPLATE/bomb.yaml": `${bomb}name: *f\n` });
    const answer = await by("mira", "GET", `${repo}/issue_templates`);
    expect(answer).toMatchObject({ status: 200, json: [] });
    expect(answer.headers.get("x-gitea-warning")).toContain("count=1");
  });

  test("the configuration of issue templates is read and validated", async () => {
    const link = "contact_links: [{ name: Forum, url: https://example.org/, about: Ask }]";
    const repo = await newRepository({
      ".gitea/ISSUE_TEMPLATE/config.yaml": `blank_issues_enabled: false\n${link}\n`,
    });
    expect((await by("otto", "GET", `${repo}/issue_config`)).json).toEqual({
      blank_issues_enabled: false,
      contact_links: [{ name: "Forum", url: "https://example.org/", about: "Ask" }],
    });
    const valid = await by("otto", "GET", `${repo}/issue_config/validate`);
    expect(valid.json).toEqual({ valid: true, message: "" });
    const wrong = await newRepository({
      ".github/issue_template/config.yml": "contact_links: [{ url: https://x.org, about: y }]\n",
    });
    expect((await by("mira", "GET", `${wrong}/issue_config/validate`)).json).toEqual({
      valid: false,
      message: "contact_link at position 1 is missing name key",
    });
    expect((await by("mira", "GET", `${wrong}/issue_config`)).json.contact_links).toEqual([]);
  });

  test("issue templates of a private repository are hidden from others", async () => {
    const repo = await newRepository({ "a.txt": "x" }, { private: true });
    for (const rest of ["issue_templates", "issue_config", 'file-contents?body={"files":[]}'])
      expect((await by("otto", "GET", `${repo}/${rest}`)).status).toBe(404);
    for (const rest of ["editorconfig/a.txt", "git/notes/main"])
      expect((await by("otto", "GET", `${repo}/${rest}`)).status).toBe(404);
  });
});

describe("an .editorconfig", () => {
  test("an .editorconfig gives the settings of a file, with later sections overriding earlier ones", async () => {
    const repo = await newRepository({
      ".editorconfig": [
        "root = true",
        "[*]",
        "charset = utf-8 ; a comment",
        "indent_style = space",
        "indent_size = 4",
        "[*.{js,ts}]",
        "indent_size = 2",
        "[/lib/**.js]",
        "indent_style = tab",
        "[file{1..3}.txt]",
        "end_of_line = crlf",
        "[Makefile]",
        "charset = unset",
      ].join("\n"),
    });
    const get = async (file: string, ref = "") =>
      (await by("otto", "GET", `${repo}/editorconfig/${file}${ref}`)).json;
    const base = { charset: "utf-8", indent_style: "space", indent_size: "4" };
    expect(await get("src/a.c")).toEqual(base);
    expect(await get("src/a.ts?ref=main")).toEqual({ ...base, indent_size: "2" });
    expect(await get("lib/deep/a.js")).toMatchObject({ indent_style: "tab", indent_size: "2" });
    expect(await get("file2.txt")).toEqual({ ...base, end_of_line: "crlf" });
    expect(await get("file4.txt")).toEqual(base);
    expect(await get("sub/Makefile")).toEqual({ indent_style: "space", indent_size: "4" });
    const missing = await newRepository({});
    expect((await by("mira", "GET", `${missing}/editorconfig/a.ts`)).status).toBe(404);
    expect((await by("mira", "GET", `${repo}/editorconfig/a.ts?ref=no`)).status).toBe(404);
  });
});

describe("several files", () => {
  test("several files are read in one request, in its order, with null for missing files", async () => {
    const repo = await newRepository({ "a.txt": "one", "docs/b.txt": "two" });
    const files = ["docs/b.txt", "none.txt", "docs", "a.txt"];
    const answer = await by("otto", "POST", `${repo}/file-contents`, { files });
    expect(answer).toMatchObject({
      status: 200,
      json: [{ path: "docs/b.txt", content: encode("two") }, null, null, { path: "a.txt" }],
    });
    const query = `body=${encodeURIComponent(JSON.stringify({ files }))}&ref=main`;
    expect((await api("GET", `${repo}/file-contents?${query}`)).json).toHaveLength(4);
    expect((await api("GET", `${repo}/file-contents?body=x`)).status).toBe(422);
    expect((await by("otto", "POST", `${repo}/file-contents`, { files: ["../x"] })).status).toBe(
      422,
    );
    const many = Array.from({ length: 31 }, () => "a.txt");
    expect((await by("otto", "POST", `${repo}/file-contents`, { files: many })).status).toBe(422);
    const none = await by("otto", "POST", `${repo}/file-contents?ref=no`, { files });
    expect(none.status).toBe(404);
  });
});

describe("notes of commits", () => {
  test("a pushed note is shown with the commit that wrote it", async () => {
    const repo = await newRepository({});
    const address = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}${repo.slice(6)}.git`;
    await git.run("clone", "-q", address, "noted");
    await git.in("noted", "notes", "add", "-m", "Reviewed by Otto");
    const pushed = await git.in("noted", "push", "-q", "origin", "refs/notes/commits");
    expect(pushed).toMatchObject({ exitCode: 0 });
    const { json, status } = await by("otto", "GET", `${repo}/git/notes/main`);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      message: "Reviewed by Otto\n",
      commit: { commit: { message: expect.stringContaining("Notes added") } },
    });
    expect((await by("otto", "GET", `${repo}/git/notes/none`)).status).toBe(404);
    expect((await by("otto", "GET", `${repo}/git/notes/a..b`)).status).toBe(422);
  });
});

describe("requests of Gitea clients about the server", () => {
  test("clients read the limits of attachments, and are refused signing keys", async () => {
    const { json: limits } = await api("GET", "/settings/api");
    expect(limits.default_max_response_size).toBe(limits.default_max_blob_size);
    expect((await api("GET", "/settings/attachment")).json).toMatchObject({
      enabled: true,
      max_size: 100,
    });
    const repo = await newRepository({});
    for (const path of ["/signing-key.gpg", "/signing-key.pub", `${repo}/signing-key.gpg`])
      expect(await api("GET", path)).toMatchObject({
        status: 404,
        json: { message: "no signing key" },
      });
  });

  test("a missing feature answers 404 with a text that names it", async () => {
    const repo = await newRepository({});
    expect(await by("mira", "GET", `${repo}/hooks/git/pre-receive`)).toMatchObject({
      status: 404,
      json: {
        message: "this server does not support hooks in git",
        url: expect.stringContaining("/api/swagger"),
      },
    });
    expect((await by("mira", "GET", `${repo}/wikiX`)).text).toBe("404 page not found\n");
  });

  test("users are found by their public fields, and only by callers who may see them", async () => {
    await people.newUser("quill", { full_name: "Quill Feather" });
    await people.newUser("quinn", { visibility: "limited" });
    await people.newUser("quiet", { visibility: "private" });
    await by("quill", "PATCH", "/user/settings", { hide_email: true });
    const search = async (who: string | undefined, q: string) => {
      const path = `/users/search?q=${encodeURIComponent(q)}`;
      const answer =
        who === undefined ? await daemon.request(`/api/v1${path}`) : await by(who, "GET", path);
      expect(answer.json.ok).toBe(true);
      return answer.json.data.map(({ login }: { login: string }) => login);
    };
    expect(await search(undefined, "qui")).toEqual(["quill"]);
    expect(await search("otto", "QUI")).toEqual(["quill", "quinn"]);
    expect(await search("quiet", "qui")).toEqual(["quiet", "quill", "quinn"]);
    expect(await search("otto", "feather")).toEqual(["quill"]);
    expect(await search("otto", "quill@example")).toEqual([]);
    expect(await search("quill", "quill@example")).toEqual(["quill"]);
    const paged = await by("otto", "GET", "/users/search?q=qui&limit=1&page=2");
    expect(paged.json.data).toMatchObject([{ login: "quinn" }]);
    expect(paged.headers.get("x-total-count")).toBe("2");
  });

  test("a token shows and deletes itself", async () => {
    const token = await people.newToken("otto", ["read:user"]);
    const answer = await daemon.request("/api/v1/token", { token });
    expect(answer).toMatchObject({
      status: 200,
      json: { scopes: ["read:user"], user: { login: "otto" } },
    });
    expect((await daemon.request("/api/v1/token", {})).status).toBe(404);
    const gone = await daemon.request("/api/v1/token", { method: "DELETE", token });
    expect(gone.status).toBe(204);
    expect((await daemon.request("/api/v1/token", { token })).status).toBe(401);
  });

  test("the packages of an owner are listed, and deleted with all versions", async () => {
    for (const version of ["1", "2"])
      await daemon.request(`/api/packages/mira/generic/box/${version}/lid`, {
        method: "PUT",
        token: people.tokenOf("mira"),
        body: version,
      });
    const list = await by("otto", "GET", "/packages/mira?type=generic&q=bo");
    expect(list.json).toMatchObject([{ version: "2" }, { version: "1" }]);
    expect(list.headers.get("x-total-count")).toBe("2");
    expect((await by("otto", "GET", "/packages/mira?q=nothing")).json).toEqual([]);
    const versions = await by("otto", "GET", "/packages/mira/generic/box?limit=1");
    expect(versions.json).toMatchObject([{ name: "box", version: "2" }]);
    const latest = await by("otto", "GET", "/packages/mira/generic/box/-/latest");
    expect(latest.json).toMatchObject({ version: "2", type: "generic" });
    expect((await by("otto", "DELETE", "/packages/mira/generic/box")).status).toBe(403);
    expect((await by("mira", "DELETE", "/packages/mira/generic/box")).status).toBe(204);
    expect((await by("otto", "GET", "/packages/mira/generic/box")).status).toBe(404);
  });
});
