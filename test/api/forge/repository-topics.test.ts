import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by } = people;
const hut = "/repos/olga/hut";
const put = (topics: readonly string[], user = "olga", path = hut) =>
  by(user, "PUT", `${path}/topics`, { topics });
const topicsOf = async (path = hut) => (await by("olga", "GET", `${path}/topics`)).json.topics;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["olga", "writer", "keeper2", "outsider"]) await people.newUser(name);
  await by("olga", "POST", "/user/repos", { name: "hut", private: true });
  await by("olga", "POST", "/user/repos", { name: "open" });
  await by("olga", "PUT", `${hut}/collaborators/writer`, { permission: "write" });
  await by("olga", "PUT", `${hut}/collaborators/keeper2`, { permission: "admin" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("topics are replaced, added, removed, and shown with the repository", async () => {
  expect((await put(["go", "Go", "  rust ", ""])).status).toBe(204);
  const listed = await by("olga", "GET", `${hut}/topics?limit=1`);
  expect(listed.json).toEqual({ topics: ["go"] });
  expect(listed.headers.get("x-total-count")).toBe("2");
  expect((await by("keeper2", "PUT", `${hut}/topics/Node.js`)).status).toBe(204);
  expect((await by("keeper2", "PUT", `${hut}/topics/node.js`)).status).toBe(204);
  expect((await by("olga", "GET", hut)).json.topics).toEqual(["go", "node.js", "rust"]);
  expect((await by("olga", "DELETE", `${hut}/topics/NODE.js`)).status).toBe(204);
  expect((await by("olga", "DELETE", `${hut}/topics/node.js`)).status).toBe(404);
  expect(await topicsOf()).toEqual(["go", "rust"]);
  expect((await by("olga", "PUT", `${hut}/topics`, {})).status).toBe(204);
  expect(await topicsOf()).toEqual([]);
});

test("invalid topics and more than 25 are refused, and nothing changes", async () => {
  await put(["kept"]);
  const bad = await put(["go", "a b", "c++", "-x"]);
  expect(bad.status).toBe(422);
  expect(bad.json).toEqual({
    invalidTopics: ["a b", "c++", "-x"],
    message: "Topic names are invalid",
  });
  const long = "a".repeat(36);
  for (const name of ["a b", long, "ä", "a/b"]) {
    const one = await by("olga", "PUT", `${hut}/topics/${encodeURIComponent(name)}`);
    expect(one.status, name).toBe(422);
    expect(one.json).toEqual({ invalidTopics: name, message: "Topic name is invalid" });
  }
  expect((await by("olga", "PUT", `${hut}/topics/${long.slice(1)}`)).status).toBe(204);
  const many = Array.from({ length: 26 }, (_, index) => `t${index}`);
  expect((await put(many)).json).toEqual({
    invalidTopics: null,
    message: "Exceeding maximum number of topics per repo",
  });
  expect(await topicsOf()).toEqual([long.slice(1), "kept"]);
  await put(many.slice(1));
  expect((await by("olga", "PUT", `${hut}/topics/one-more`)).json).toEqual({
    message: "Exceeding maximum allowed topics per repo.",
  });
});

test("at most 25 topics remain when many are added at once", async () => {
  await put(Array.from({ length: 20 }, (_, index) => `r${index}`));
  const added = await Promise.all(
    Array.from({ length: 12 }, (_, index) => by("olga", "PUT", `${hut}/topics/x${index}`)),
  );
  expect(added.filter(({ status }) => status === 204)).toHaveLength(5);
  expect(await topicsOf()).toHaveLength(25);
});

test("readers list topics, administrators change them", async () => {
  await put(["secret-plan"]);
  const reading = await people.newToken("olga", ["read:repository"]);
  const publicOnly = await people.newToken("olga", ["public-only", "all"]);
  for (const [token, read, write] of [
    [people.tokenOf("writer"), 200, 403],
    [people.tokenOf("outsider"), 404, 404],
    ["", 404, 404],
    [reading, 200, 403],
    [publicOnly, 404, 404],
  ] as const) {
    expect((await api("GET", `${hut}/topics`, undefined, token)).status).toBe(read);
    expect((await api("PUT", `${hut}/topics`, { topics: [] }, token)).status).toBe(write);
    expect((await api("PUT", `${hut}/topics/x`, undefined, token)).status).toBe(write);
    expect((await api("DELETE", `${hut}/topics/x`, undefined, token)).status).toBe(write);
  }
  await by("olga", "PATCH", hut, { archived: true });
  expect((await put(["x"])).status).toBe(423);
  await by("olga", "PATCH", hut, { archived: false });
  expect(await topicsOf()).toEqual(["secret-plan"]);
});

test("searches find and count the topics and repositories that the caller may read", async () => {
  await put(["shared", "secret-plan"]);
  await put(["shared", "open-plan"], "olga", "/repos/olga/open");
  const search = async (q: string, token: string) => {
    const found = await api("GET", `/topics/search?q=${q}`, undefined, token);
    expect(found.headers.get("x-total-count")).toBe(String(found.json.topics.length));
    return found.json.topics.map((topic: { topic_name: string; repo_count: number }) => [
      topic.topic_name,
      topic.repo_count,
    ]);
  };
  expect(await search("plan", people.tokenOf("writer"))).toEqual([
    ["open-plan", 1],
    ["secret-plan", 1],
  ]);
  expect(await search("SHARED", people.tokenOf("writer"))).toEqual([["shared", 2]]);
  for (const token of ["", people.tokenOf("outsider")]) {
    expect(await search("plan", token)).toEqual([["open-plan", 1]]);
    expect(await search("shared", token)).toEqual([["shared", 1]]);
  }
  const names = async (query: string, token: string) =>
    (await api("GET", `/repos/search?${query}`, undefined, token)).json.data.map(
      ({ name }: { name: string }) => name,
    );
  const olga = people.tokenOf("olga");
  expect(await names("q=shared&topic=true", olga)).toEqual(["hut", "open"]);
  expect(await names("q=share&topic=true", olga)).toEqual([]);
  expect(await names("q=share", olga)).toEqual(["hut", "open"]);
  expect(await names("q=shared&topic=true", "")).toEqual(["open"]);
  expect(await names("q=secret-plan&topic=true", "")).toEqual([]);
  // The names of members of objects are no order either.
  for (const sort of ["age", "constructor", "__proto__"])
    expect(await api("GET", `/repos/search?sort=${sort}`, undefined, olga)).toMatchObject({
      status: 422,
      json: { message: `Invalid sort mode: "${sort}"` },
    });
  const page = await daemon.request("/olga/open");
  expect(page.text).toContain('href="/?topic=1&amp;q=shared"');
  const start = await daemon.request("/?topic=1&q=shared", {
    headers: { Accept: "text/html" },
  });
  expect(start.text).toContain("olga/open");
  expect(start.text).not.toContain("hut");
  expect((await by("olga", "DELETE", "/repos/olga/open")).status).toBe(204);
  expect(await search("plan", "")).toEqual([]);
});

test("languages are counted after a push of the default branch, for those who may read it", async () => {
  const path = "/repos/olga/code";
  await by("olga", "POST", "/user/repos", { name: "code", private: true, auto_init: true });
  const languages = async () => (await by("olga", "GET", `${path}/languages`)).json;
  const files = (sizes: Readonly<Record<string, number>>, branch?: string) =>
    by("olga", "POST", `${path}/contents`, {
      message: "Files",
      ...(branch === undefined ? {} : { new_branch: branch }),
      files: Object.entries(sizes).map(([name, size]) => ({
        operation: "create",
        path: name,
        content: Buffer.alloc(size, "a").toString("base64"),
      })),
    });
  expect(await languages()).toEqual({});
  const code = { "a.ts": 10, "b/Makefile": 3, "c.go": 20, "d.ts": 15, "vendor/x.c": 99 };
  expect((await files({ ...code, "notes.md": 50, __proto__: 7 })).status).toBe(201);
  await expect.poll(languages).toEqual({ TypeScript: 25, Go: 20, Makefile: 3 });
  expect((await by("olga", "GET", path)).json.language).toBe("TypeScript");
  await files({ "e.rs": 100 }, "side");
  await by("olga", "PATCH", path, { default_branch: "side" });
  await expect.poll(async () => (await by("olga", "GET", path)).json.language).toBe("Rust");
  for (const [token, status] of [
    ["", 404],
    [people.tokenOf("outsider"), 404],
    [await people.newToken("olga", ["public-only", "all"]), 404],
    [await people.newToken("olga", ["read:issue"]), 403],
  ] as const)
    expect((await api("GET", `${path}/languages`, undefined, token)).status).toBe(status);
});

test("languages honour the attributes of each folder, also unset ones, macros and values", async () => {
  const path = "/repos/olga/attributed";
  await by("olga", "POST", "/user/repos", { name: "attributed", auto_init: true });
  const files = {
    ".gitattributes": [
      "[attr]copied linguist-vendored",
      "third/** copied",
      "third/own/** -linguist-vendored",
      "*.inc linguist-language=php",
      "*.el2 linguist-language=Emacs-Lisp",
      "*.odd linguist-language=Odd",
      "gen/* linguist-generated=true",
      "docs/* -linguist-documentation",
      "*.sql linguist-detectable",
      "*.rb -linguist-detectable",
    ].join("\n"),
    "web/.gitattributes": "*.inc !linguist-language\n*.rb linguist-detectable=true\n",
    "third/big.js": 50,
    "third/own/a.js": 40,
    "page.inc": 39,
    "web/page.inc": 1,
    "web/a.rb": 38,
    "a.rb": 1,
    "b.el2": 37,
    "c.odd": 36,
    "gen/out.ts": 50,
    "gen/deep/out.ts": 35,
    "docs/tool.py": 34,
    "examples/tool.py": 1,
    "schema.sql": 33,
    "data.json": 50,
    "main.go": 32,
  };
  const pushed = await by("olga", "POST", `${path}/contents`, {
    message: "Files",
    files: Object.entries(files).map(([name, content]) => ({
      operation: "create",
      path: name,
      content: Buffer.from(typeof content === "number" ? "a".repeat(content) : content).toString(
        "base64",
      ),
    })),
  });
  expect(pushed.status).toBe(201);
  const languages = async () => (await by("olga", "GET", `${path}/languages`)).json;
  await expect.poll(languages).toEqual({
    JavaScript: 40,
    PHP: 39,
    Ruby: 38,
    "Emacs Lisp": 37,
    Odd: 36,
    TypeScript: 35,
    Python: 34,
    SQL: 33,
    Go: 32,
  });
});
