import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// The requests of twine and pip on the wire, and requests that they never send. test/e2e/pypi.test.ts runs both.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { tokenOf, newToken } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_MAX_UPLOAD_BYTES: "1MiB" },
  });
  for (const username of ["mira", "nora", "quiet"]) await people.newUser(username);
  await people.by("mira", "POST", "/user/repos", { name: "tools" });
  await daemon.request("/api/v1/admin/users/quiet", {
    method: "PATCH",
    token: people.admin,
    json: { login_name: "quiet", source_id: 0, visibility: "private" },
  });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const sha256 = (bytes: string) => createHash("sha256").update(bytes).digest("hex");
const root = "/api/packages/mira/pypi";

interface Upload {
  readonly content?: string;
  readonly filename?: string;
  readonly owner?: string;
  readonly token?: string;
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
}

/** Sends the form of twine 6, whose file comes last. */
function upload(name: string, version: string, parts: Upload = {}): Promise<TestAnswer> {
  const { content = `${name} ${version}`, owner = "mira", token = tokenOf("mira") } = parts;
  const filename = parts.filename ?? `${name.replaceAll("-", "_")}-${version}-py3-none-any.whl`;
  const form = new FormData();
  const fields = {
    name,
    version,
    filetype: "bdist_wheel",
    pyversion: "py3",
    metadata_version: "2.1",
    sha256_digest: sha256(content),
    ":action": "file_upload",
    protocol_version: "1",
    ...parts.fields,
  };
  for (const [field, values] of Object.entries(fields))
    for (const value of [values].flat()) form.append(field, value as string);
  form.append("content", new File([content], filename));
  return daemon.request(`/api/packages/${owner}/pypi/`, { method: "POST", token, body: form });
}

const simple = (path: string, accept = "", token?: string) =>
  daemon.request(`${root}/simple/${path}`, {
    headers: { Accept: accept },
    ...(token === undefined ? {} : { token }),
  });
const JSON_TYPE = "application/vnd.pypi.simple.v1+json";
/** As pip 23 sends it. */
const PIP_ACCEPT = `${JSON_TYPE}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01`;

describe("uploads", () => {
  test("a file of a Python package is uploaded, listed and downloaded", async () => {
    const fields = {
      requires_python: ">=3.8,<4",
      summary: "Small tools",
      license: "MIT",
      author: "Mira",
      classifiers: ["Programming Language :: Python", "Topic :: Utilities"],
      requires_dist: ["requests>=2", "click"],
      description: "# Small tools\n\nUse *them*.",
      description_content_type: "text/markdown",
      project_urls: [`Source, ${daemon.url}/mira/tools`, "Docs, https://docs.example/"],
    };
    expect(
      await upload("Small.Tools", "1.0", {
        content: "wheel",
        fields,
        filename: "small_tools-1.0-py3-none-any.whl",
      }),
    ).toMatchObject({ status: 201 });
    expect(
      (
        await upload("small_tools", "1.0.0", {
          content: "source",
          filename: "small-tools-1.0.0.tar.gz",
        })
      ).status,
    ).toBe(201);
    const file = `${daemon.url}${root}/files/small-tools/1.0/small_tools-1.0-py3-none-any.whl`;
    const page = await simple("small_tools/");
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.text).toContain(
      `<a href="${file}#sha256=${sha256("wheel")}" data-requires-python="&gt;=3.8,&lt;4">small_tools-1.0-py3-none-any.whl</a><br>`,
    );
    const listed = await simple("SMALL-tools", PIP_ACCEPT);
    expect(listed.headers.get("content-type")).toBe(JSON_TYPE);
    expect(listed.headers.get("vary")).toContain("Accept");
    expect(JSON.parse(listed.text)).toEqual({
      meta: { "api-version": "1.1" },
      name: "small-tools",
      versions: ["1.0", "1.0.0"],
      files: [
        {
          filename: "small_tools-1.0-py3-none-any.whl",
          url: file,
          hashes: { sha256: sha256("wheel") },
          "requires-python": ">=3.8,<4",
          size: 5,
          "upload-time": expect.stringMatching(/^20.*Z$/),
        },
        expect.objectContaining({ filename: "small-tools-1.0.0.tar.gz" }),
      ],
    });
    const got = await daemon.request(file.slice(daemon.url.length));
    expect(got).toMatchObject({ status: 200, text: "wheel" });
    expect(got.headers.get("content-disposition")).toContain("attachment");
    const described = await daemon.request(
      "/api/v1/packages/mira/pypi/small-tools/1.0/description",
    );
    expect(described.json).toEqual({
      summary: "Small tools",
      // A form has lines that end in both characters.
      readme: "# Small tools\r\n\r\nUse *them*.",
      readme_type: "text/markdown",
      license: "MIT",
      home_page: `${daemon.url}/mira/tools`,
      requires: ">=3.8,<4",
      dependencies: ["requests>=2", "click"],
    });
    const version = await daemon.request("/api/v1/packages/mira/pypi/small-tools/1.0");
    expect(version.json).toMatchObject({
      type: "pypi",
      name: "Small-Tools",
      repository: { full_name: "mira/tools" },
    });
    const respelled = await daemon.request("/api/v1/packages/mira/pypi/SMALL_tools/1.0");
    expect(respelled.json).toMatchObject({ name: "Small-Tools" });
    const shown = await daemon.request("/mira/-/packages/pypi/small-tools/1.0");
    expect(shown.text).toContain(
      `pip install --index-url ${daemon.url}/api/packages/mira/pypi/simple/ Small-Tools==1.0`,
    );
    expect(shown.text).toContain("<em>them</em>");
  });

  test("the index names the projects of an owner in the media type that the client asks for", async () => {
    await upload("indexed", "1");
    const html = await simple("", "application/vnd.pypi.simple.v1+html");
    expect(html.headers.get("content-type")).toBe("application/vnd.pypi.simple.v1+html");
    expect(html.text).toContain('<a href="indexed/">indexed</a><br>');
    const json = await simple("", "application/vnd.pypi.simple.latest+json, text/html;q=0.5");
    expect(JSON.parse(json.text).projects).toContainEqual({ name: "indexed" });
    for (const accept of ["*/*", "", `text/html, ${JSON_TYPE};q=0`, "application/json"])
      expect((await simple("", accept)).headers.get("content-type")).toContain("text/html");
  });

  test("a file of a Python package is not replaced, under any version or letter case", async () => {
    expect((await upload("once", "1.0", { content: "one" })).status).toBe(201);
    expect((await upload("once", "1.0", { content: "two" })).status).toBe(409);
    const filename = "Once-1.0-py3-none-any.whl";
    expect((await upload("once", "1.0.0", { content: "three", filename })).status).toBe(409);
    expect(JSON.parse((await simple("once", JSON_TYPE)).text).files).toHaveLength(1);
  });

  test("of concurrent uploads of one file of a Python package one succeeds", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        upload("race", index % 2 === 0 ? "1.0" : "1.0.0", {
          content: `body ${index}`,
          filename: "race-1.0.tar.gz",
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  test("the file of a Python package may come first, beside a signature", async () => {
    const form = new FormData();
    form.append("content", new File(["body"], "early-1.tar.gz"));
    form.append("gpg_signature", new File(["signature"], "early-1.tar.gz.asc"));
    for (const [name, value] of Object.entries({
      name: "early",
      version: "1",
      sha256_digest: sha256("body").toUpperCase(),
    }))
      form.append(name, value);
    const sent = { method: "POST", token: tokenOf("mira"), body: form };
    expect((await daemon.request(root, sent)).status).toBe(201);
  });

  test("deletes a version of a Python package, and the project with the last one", async () => {
    await upload("gone", "1");
    const removed = await daemon.request("/api/v1/packages/mira/pypi/gone/1", {
      method: "DELETE",
      token: tokenOf("mira"),
    });
    expect(removed.status).toBe(204);
    expect((await simple("gone/")).status).toBe(404);
  });
});

describe("refusals", () => {
  test.each<[string, string, string, Upload]>([
    ["a name with a slash", "a/b", "1", {}],
    ["a name that ends in a dot", "a.", "1", {}],
    ["a name with a line break", "a\n", "1", {}],
    ["no name", "", "1", {}],
    ["a version that is none", "a", "one", {}],
    ["a version with markup", "a", "1<script>", {}],
    ["a path as file name", "a", "1", { filename: "../a-1.tar.gz" }],
    ["a file of another project", "a", "1", { filename: "b-1.tar.gz" }],
    ["a file of another version", "a", "1", { filename: "a-2.tar.gz" }],
    ["a file of another type", "a", "1", { filename: "a-1.html" }],
    ["a wrong digest", "a", "1", { fields: { sha256_digest: "0".repeat(64) } }],
    ["no digest", "a", "1", { fields: { sha256_digest: [] } }],
    ["a wrong MD5", "a", "1", { fields: { md5_digest: "0".repeat(32) } }],
    ["another action", "a", "1", { fields: { ":action": "submit" } }],
  ])("refuses an upload of a Python package with %s", async (_what, name, version, parts) => {
    expect(await upload(name, version, parts)).toMatchObject({
      status: 400,
      json: { error: expect.any(String) },
    });
  });

  test.each([
    ["a long file", { content: "x".repeat(1024 * 1024 + 1) }, 413],
    ["long fields", { fields: { description: "x".repeat(1024 * 1024 + 1) } }, 413],
    ["many fields", { fields: { classifiers: Array.from({ length: 2_100 }, String) } }, 400],
  ])(
    "refuses an upload of a Python package with %s and keeps nothing",
    async (_what, parts, status) => {
      const before = await daemon.listObjects();
      expect((await upload("large", "1", parts)).status).toBe(status);
      expect(await daemon.listObjects()).toEqual(before);
      expect((await simple("large")).status).toBe(404);
    },
  );

  test("refuses a body that is not the form of an upload of a Python package", async () => {
    const token = tokenOf("mira");
    const send = (type: string, body: string) =>
      daemon.request(root, { method: "POST", token, body, headers: { "Content-Type": type } });
    expect((await send("application/json", "{}")).status).toBe(400);
    expect((await send("multipart/form-data", "x")).status).toBe(400);
    expect((await send("multipart/form-data; boundary=B", "no boundary")).status).toBe(400);
    const cut =
      '--B\r\nContent-Disposition: form-data; name="content"; filename="a-1.zip"\r\n\r\nab';
    expect((await send("multipart/form-data; boundary=B", cut)).status).toBe(400);
  });

  test("markup in the metadata of a Python package is text in lists and pages", async () => {
    const markup = `"><script>alert(1)</script>`;
    const fields = {
      requires_python: markup,
      summary: markup,
      home_page: `javascript:alert(1)`,
      description: `${markup}\n\n[x](javascript:alert(2))`,
      description_content_type: "text/markdown",
    };
    expect((await upload("markup", "1", { fields })).status).toBe(201);
    for (const path of [`${root}/simple/markup`, "/mira/-/packages/pypi/markup/1"]) {
      const { text } = await daemon.request(path);
      expect(text).toContain("markup");
      expect(text).not.toMatch(/<script>alert|href="javascript:/);
    }
  });
});

describe("rights", () => {
  test("a Python package is published by who may write to its owner, with the scope for packages", async () => {
    expect((await upload("rights", "1", { token: tokenOf("nora") })).status).toBe(403);
    expect(
      (await upload("rights", "1", { token: await newToken("mira", ["read:package"]) })).status,
    ).toBe(403);
    expect(
      (await upload("rights", "1", { token: await newToken("mira", ["write:package"]) })).status,
    ).toBe(201);
    const form = new FormData();
    form.append("name", "x");
    const anonymous = await daemon.request(root, { method: "POST", body: form });
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get("www-authenticate")).toBe('Basic realm="croft"');
  });

  test("Python packages of a private owner are hidden, and nothing tells whether a project exists", async () => {
    expect((await upload("hidden", "1", { owner: "quiet", token: tokenOf("quiet") })).status).toBe(
      201,
    );
    const at = "/api/packages/quiet/pypi";
    for (const path of [
      "simple",
      "simple/hidden",
      "simple/missing",
      "files/hidden/1/hidden-1-py3-none-any.whl",
    ]) {
      expect((await daemon.request(`${at}/${path}`)).status).toBe(404);
      expect((await daemon.request(`${at}/${path}`, { token: tokenOf("nora") })).status).toBe(404);
    }
    expect((await daemon.request(`${at}/simple/hidden`, { token: tokenOf("quiet") })).status).toBe(
      200,
    );
    const narrow = await newToken("quiet", ["read:package", "public-only"]);
    expect((await daemon.request(`${at}/simple/hidden`, { token: narrow })).status).toBe(403);
    expect((await daemon.request("/api/v1/packages/quiet/pypi/hidden/1/description")).status).toBe(
      404,
    );
  });
});
