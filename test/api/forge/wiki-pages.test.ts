import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const encode = (text: string) => Buffer.from(text).toString("base64");

/** Signs in at the page, and returns how pages are read and forms are sent. */
async function signIn(name: string) {
  const body = new URLSearchParams({ user_name: name, password: "user-password" });
  const answer = await fetch(`${daemon.url}/user/login`, {
    method: "POST",
    body,
    redirect: "manual",
    headers: { origin: daemon.url },
  });
  const cookie = (answer.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
  const get = (path: string) => daemon.request(path, { headers: { cookie } });
  const page = (await get(`/${name}`)).text;
  const token = /name="form_token"[^>]*value="([^"]+)"/.exec(page)?.[1] ?? "";
  return {
    get,
    async send(path: string, fields: Readonly<Record<string, string>>) {
      const sent = await fetch(`${daemon.url}${path}`, {
        method: "POST",
        body: new URLSearchParams({ form_token: token, ...fields }),
        redirect: "manual",
        headers: { cookie, origin: daemon.url },
      });
      const to = sent.headers.get("location");
      return { status: sent.status, text: await sent.text(), to };
    },
  };
}

const inputOf = (html: string, name: string) =>
  new RegExp(`name="${name}"[^>]*value="([^"]*)"`).exec(html)?.[1] ?? "";

test("a person writes the first page with a preview, edits, renames and deletes it, and sees its history", async () => {
  const repo = await people.newRepository("mira");
  const wiki = `/mira/${repo}/wiki`;
  const mira = await signIn("mira");
  const empty = await mira.get(wiki);
  expect([empty.status, empty.text]).toEqual([
    200,
    expect.stringContaining("Write the first page"),
  ]);
  expect((await daemon.request(wiki)).text).not.toContain("Write the first page");
  expect((await mira.get(`${wiki}?action=_pages`)).text).toContain("No pages.");
  const form = (await mira.get(`${wiki}?action=_new&title=Home`)).text;
  expect(inputOf(form, "title")).toBe("Home");

  const text = "# Welcome\r\n\r\n[[C++ notes]] ![](images/a.png) <script>alert(1)</script>";
  const fields = { title: "Home", content: text, message: "Begin", base: "" };
  const preview = await mira.send(`${wiki}?action=_new`, { ...fields, do: "preview" });
  expect(preview.text).toContain("Welcome</h1>");
  expect(preview.text).not.toContain("<script>alert");
  const made = await mira.send(`${wiki}?action=_new`, fields);
  expect([made.status, made.to]).toEqual([303, `${wiki}/Home`]);
  const again = await mira.send(`${wiki}?action=_new`, fields);
  expect([again.status, again.text]).toEqual([422, expect.stringContaining("already exists")]);

  const page = (await daemon.request(wiki)).text;
  expect(page).toContain("Welcome</h1>");
  expect(page).toContain(`${wiki}/raw/images/a.png`);
  expect(page).toMatch(new RegExp(`href="[^"]*${wiki}/C(?:\\+\\+|%2B%2B)-notes"`));
  expect(page).not.toContain("action=_edit");
  expect((await mira.get(`${wiki}/Home`)).text).toContain("?action=_edit");

  const edit = (await mira.get(`${wiki}/Home?action=_edit`)).text;
  const base = inputOf(edit, "base");
  const other = await by("mira", "PATCH", `/repos/mira/${repo}/wiki/page/Home`, {
    content_base64: encode("other"),
  });
  const stale = await mira.send(`${wiki}/Home?action=_edit`, { ...fields, base });
  expect([stale.status, stale.text]).toEqual([422, expect.stringContaining("in the meantime")]);
  const renamed = await mira.send(`${wiki}/Home?action=_edit`, {
    ...{ title: "C++ notes", content: "plus", message: "Rename" },
    base: other.json.last_commit.sha,
  });
  expect(renamed.to).toBe(`${wiki}/C%2B%2B-notes`);
  // As `[[C++ notes]]` links to it.
  expect((await mira.get(`${wiki}/C++-notes`)).text).toContain("C++ notes");
  const history = (await mira.get(`${wiki}/C%2B%2B-notes?action=_history`)).text;
  expect(history).toContain("Rename");
  const revision = /href="([^"]*\?ref=[0-9a-f]{40})"/.exec(history)?.[1] ?? "";
  expect((await mira.get(revision)).text).toBe("plus");
  expect((await mira.get(`${wiki}/raw/C%2B%2B-notes`)).text).toBe("plus");
  expect((await mira.get(`${wiki}?action=_pages`)).text).toContain("C++ notes");
  const kept = await mira.send(`${wiki}/C%2B%2B-notes?action=_delete`, { base });
  expect([kept.status, kept.text]).toEqual([422, expect.stringContaining("in the meantime")]);
  const last = inputOf(kept.text, "base");
  const gone = await mira.send(`${wiki}/C%2B%2B-notes?action=_delete`, { base: last });
  expect(gone.to).toBe(`${wiki}?action=_pages`);
  expect((await mira.get(`${wiki}/C%2B%2B-notes`)).status).toBe(404);
});

test("sidebar and footer stand beside every page, and who may not write has no form", async () => {
  const repo = await people.newRepository("mira");
  const wiki = `/mira/${repo}/wiki`;
  for (const [title, text] of [
    ["Home", "home text"],
    ["_Sidebar", "sidebar text"],
    ["_Footer", "footer text"],
  ] as const)
    await by("mira", "POST", `/repos/mira/${repo}/wiki/new`, {
      title,
      content_base64: encode(text),
    });
  const otto = await signIn("otto");
  const page = (await otto.get(wiki)).text;
  for (const text of ["home text", "sidebar text", "footer text"]) expect(page).toContain(text);
  expect((await otto.get(`${wiki}?action=_new`)).status).toBe(404);
  expect((await otto.get(`${wiki}/Home?action=_edit`)).status).toBe(404);
  const forbidden = { title: "X", content: "x", message: "", base: "" };
  expect((await otto.send(`${wiki}?action=_new`, forbidden)).status).toBeGreaterThanOrEqual(400);
  expect((await otto.send(`${wiki}/Home?action=_delete`, {})).status).toBeGreaterThanOrEqual(400);
  const anonymous = await fetch(`${daemon.url}${wiki}/Home?action=_edit`, { redirect: "manual" });
  expect([anonymous.status, anonymous.headers.get("location")]).toEqual([
    303,
    expect.stringContaining("/user/login"),
  ]);
  expect((await daemon.request(`/mira/${repo}`)).text).toContain(`href="${wiki}"`);
  const settings = {
    has_wiki: true,
    external_wiki: { external_wiki_url: "https://example.org/w" },
  };
  await by("mira", "PATCH", `/repos/mira/${repo}`, settings);
  expect((await otto.get(wiki)).text).toContain('href="https://example.org/w"');
  await by("mira", "PATCH", `/repos/mira/${repo}`, { has_wiki: false });
  expect((await otto.get(wiki)).status).toBe(404);
  expect((await daemon.request(`/mira/${repo}`)).text).not.toContain(`href="${wiki}"`);
});
