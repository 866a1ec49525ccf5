import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createPageVisitor } from "../../support/forge/page-visitor.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;
const signIn = (name: string) => createPageVisitor(() => daemon)(name, "user-password");
const path = "/repos/mira/hut/releases";
const home = "/mira/hut/releases";

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto", "nora"]) await people.newUser(name);
  await people.api("POST", "/admin/users/mira/repos", { name: "hut", auto_init: true });
  await by("mira", "PUT", "/repos/mira/hut/collaborators/otto", { permission: "write" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("a release is previewed, published with a file, changed and deleted by pages", async () => {
  const otto = await signIn("otto");
  const list = (await otto.get(home)).text;
  for (const text of ["New release", "croft release create mira/hut"]) expect(list).toContain(text);
  expect((await otto.get(`${home}/new`)).text).toContain('name="target" value="main"');
  const fields = { tag: "v1", target: "main", name: "One", body: "It **opens**" };
  const shown = (await otto.send(`${home}/new/preview`, fields)).text;
  for (const text of ["<strong>opens</strong>", 'value="v1"', 'value="One"'])
    expect(shown).toContain(text);
  expect((await by("mira", "GET", path)).json).toEqual([]);
  expect((await otto.upload(`${home}/new`, fields, Buffer.from("bytes"))).status).toBe(303);
  const [release] = (await by("mira", "GET", path)).json;
  expect(release).toMatchObject({ tag_name: "v1", name: "One", draft: false });
  expect(release.assets).toMatchObject([{ name: "file", size: 5 }]);
  const again = await otto.send(`${home}/new`, { ...fields, body: "Kept text" });
  expect([again.status, again.text.includes("Kept text")]).toEqual([422, true]);

  const edit = `${home}/edit/v1`;
  expect((await otto.get(home)).text).toContain(edit);
  expect((await otto.get(edit)).text).toContain("It **opens**");
  const changed = { ...fields, name: "First", prerelease: "yes" };
  expect((await otto.send(edit, changed)).to).toBe(home);
  expect((await by("mira", "GET", `${path}/${release.id}`)).json).toMatchObject({
    name: "First",
    prerelease: true,
  });
  expect((await otto.send(`${home}/delete/v1`, { id: String(release.id) })).to).toBe(home);
  expect((await by("mira", "GET", path)).json).toEqual([]);
});

test("a file of a release is deleted by its name, once, and by those who may write only", async () => {
  const [otto, nora] = [await signIn("otto"), await signIn("nora")];
  const made = await by("otto", "POST", path, { tag_name: "v/files", target_commitish: "main" });
  const { id } = made.json as { id: number };
  const names = ["tool.zip", '<b>"&.txt'];
  for (const name of names)
    await daemon.request(`/api/v1${path}/${id}/assets?${new URLSearchParams({ name })}`, {
      method: "POST",
      body: "bytes",
      token: people.tokenOf("otto"),
      headers: { "Content-Type": "application/octet-stream" },
    });
  const filesOf = async () =>
    (await by("mira", "GET", `${path}/${id}`)).json.assets as { id: number; name: string }[];
  const [tool, odd] = await filesOf();
  const edit = `${home}/edit/v/files`;
  const page = (await otto.get(edit)).text;
  for (const text of ["Delete tool.zip for good", `name="file" value="${tool?.id}"`])
    expect(page).toContain(text);
  expect(page).not.toContain("<b>");

  const target = `${home}/delete-file/v/files`;
  const fields = { id: String(id), file: String(tool?.id) };
  expect((await nora.send(target, fields)).status).toBe(404);
  expect((await otto.send(target, { ...fields, form_token: "" })).status).toBe(403);
  expect(await filesOf()).toHaveLength(2);
  expect((await otto.send(target, fields)).to).toBe(edit);
  expect(await filesOf()).toMatchObject([{ id: odd?.id }]);
  const again = await otto.send(target, fields);
  expect([again.status, again.text.includes("for good")]).toEqual([422, true]);
  expect((await otto.send(target, { ...fields, file: "x" })).status).toBe(422);
  await by("mira", "DELETE", `${path}/${id}`);
});

test("a draft has its form, notes are written from what was merged, and readers have neither", async () => {
  const [otto, nora] = [await signIn("otto"), await signIn("nora")];
  const notes = await otto.send(`${home}/new/notes`, { tag: "v2", target: "main", body: "" });
  expect([notes.status, notes.text.includes('value="v2"')]).toEqual([200, true]);
  const draft = { tag: "v2", target: "main", name: "", body: "", draft: "yes" };
  expect((await otto.send(`${home}/new`, draft)).to).toBe(home);
  const edit = `${home}/edit/v2`;
  expect((await otto.get(edit)).text).toMatch(/name="draft"[^>]*checked/);
  expect((await otto.send(edit, { ...draft, draft: "" })).to).toBe(home);
  expect((await daemon.request(`${home}/tag/v2`)).status).toBe(200);

  const list = (await nora.get(home)).text;
  for (const text of ["New release", edit]) expect(list).not.toContain(text);
  for (const address of [`${home}/new`, edit]) expect((await nora.get(address)).status).toBe(404);
  expect((await nora.send(`${home}/new`, { ...draft, tag: "v3" })).status).toBe(404);
  const [{ id }] = (await by("mira", "GET", path)).json;
  expect((await nora.send(`${home}/delete/v2`, { id: String(id) })).status).toBe(403);
});
