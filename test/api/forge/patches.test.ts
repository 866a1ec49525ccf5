import { afterAll, beforeAll, expect, test } from "vitest";
import { shippedLicenses } from "../../../daemon/forge/templates/shipped.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by, api } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const encode = (text: string) => Buffer.from(text).toString("base64");

async function newRepository(files: Readonly<Record<string, string>>) {
  const name = await people.newRepository("mira", { auto_init: true, default_branch: "main" });
  const path = `/repos/mira/${name}`;
  await by("mira", "POST", `${path}/contents`, {
    files: Object.entries(files).map(([file, text]) => ({
      operation: "create",
      path: file,
      content: encode(text),
    })),
  });
  return path;
}

const toPatch = (file: string, before: string, after: string) =>
  `diff --git a/${file} b/${file}\n--- a/${file}\n+++ b/${file}\n@@ -1 +1 @@\n-${before}\n+${after}\n`;

test("a patch is applied in a commit, to a new branch too, and what git refuses changes nothing", async () => {
  const path = await newRepository({ "a.txt": "one\n", "b.txt": "gone\n" });
  const patch =
    toPatch("a.txt", "one", "two") +
    "diff --git a/docs/new.txt b/docs/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/docs/new.txt\n@@ -0,0 +1 @@\n+new\n" +
    "diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
  const applied = await by("mira", "POST", `${path}/diffpatch`, {
    content: patch,
    message: "Apply it",
    new_branch: "patched",
    author: { name: "Nora", email: "nora@example.org" },
  });
  expect(applied).toMatchObject({
    status: 201,
    json: { content: null, commit: { message: "Apply it\n", author: { name: "Nora" } } },
  });
  const read = async (file: string, ref: string) =>
    (await by("mira", "GET", `${path}/raw/${file}?ref=${ref}`)).text;
  expect([await read("a.txt", "patched"), await read("docs/new.txt", "patched")]).toEqual([
    "two\n",
    "new\n",
  ]);
  expect((await by("mira", "GET", `${path}/contents/b.txt?ref=patched`)).status).toBe(404);
  expect(await read("a.txt", "main")).toBe("one\n");

  const tip = async () => (await by("mira", "GET", `${path}/branches/main`)).json.commit.id;
  const before = await tip();
  for (const content of [
    toPatch("a.txt", "other", "two"),
    "no patch",
    toPatch("../a.txt", "one", "two"),
    "--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n",
    '--- /dev/null\n+++ b/.gitmodules\n@@ -0,0 +1,3 @@\n+[submodule "x"]\n+\tpath = x\n+\turl = -u./run\n',
    `diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/tmp\ndiff --git a/l/x b/l/x\nnew file mode 100644\n${"--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n"}`,
  ])
    expect((await by("mira", "POST", `${path}/diffpatch`, { content })).status, content).toBe(422);
  expect(await tip()).toBe(before);
  const content = toPatch("a.txt", "one", "two");
  expect((await by("otto", "POST", `${path}/diffpatch`, { content })).status).toBe(403);
  expect((await api("POST", `${path}/diffpatch`, { content }, "")).status).toBe(401);
  expect((await by("mira", "POST", `${path}/diffpatch`, { content: "" })).status).toBe(422);
});

test("licenses are recognized by their words, with any holder, and further terms make none", async () => {
  const load = async (id: string) => (await shippedLicenses.get(id)?.()) ?? "";
  const mit = (await load("MIT"))
    .replace(/<year>|\[year\]/i, "2026")
    .replace(/<copyright holders>|\[fullname\]/i, "Mira Kiln");
  const path = await newRepository({
    "LICENSE-MIT": mit.replaceAll("\n", "\r\n"),
    "LICENSE-APACHE.txt": await load("Apache-2.0"),
    "license.md": "You may look at it.",
    "src/LICENSE": await load("GPL-3.0"),
  });
  expect((await by("mira", "GET", `${path}/licenses`)).json).toEqual(["Apache-2.0", "MIT"]);
  const other = await newRepository({ COPYING: `${mit}\n${"No use on Sundays. ".repeat(40)}` });
  expect((await api("GET", `${other}/licenses`, undefined, "")).json).toEqual([]);
  for (const id of ["BSD-2-Clause", "BSD-3-Clause", "GPL-2.0", "LGPL-3.0", "ISC", "MIT-0"]) {
    const own = await newRepository({ LICENSE: await load(id) });
    expect((await by("mira", "GET", `${own}/licenses`)).json).toEqual([id]);
  }
  const empty = await people.newRepository("mira");
  expect((await by("mira", "GET", `/repos/mira/${empty}/licenses`)).json).toEqual([]);
});

test("the picture of a repository is shown by its address and on its page until it is deleted", async () => {
  const name = await people.newRepository("mira");
  const path = `/repos/mira/${name}`;
  expect((await by("mira", "GET", path)).json.avatar_url).toBe("");
  const image = "R0lGODlhCAAIAAAAADs=";
  expect((await by("otto", "POST", `${path}/avatar`, { image })).status).toBe(403);
  expect((await by("mira", "POST", `${path}/avatar`, { image: "%" })).status).toBe(400);
  expect((await by("mira", "POST", `${path}/avatar`, { image })).status).toBe(204);
  const address = (await by("mira", "GET", path)).json.avatar_url;
  const picture = await daemon.request(new URL(address).pathname);
  expect(picture.headers.get("content-type")).toBe("image/gif");
  expect((await daemon.request(`/mira/${name}`)).text).toContain(new URL(address).pathname);
  expect((await by("mira", "DELETE", `${path}/avatar`)).status).toBe(204);
  expect((await by("mira", "GET", path)).json.avatar_url).toBe("");
  expect((await by("mira", "DELETE", `${path}/avatar`)).status).toBe(204);
});
