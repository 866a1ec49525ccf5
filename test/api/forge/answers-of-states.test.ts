import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Declared answers that need a state of their own, which no other test makes.

let daemon: TestDaemon;
let repo: string;
const people = createForgePeople(() => daemon);
const { by, api } = people;
const encode = (text: string) => Buffer.from(text).toString("base64");

beforeAll(async () => {
  daemon = await startTestDaemon();
  await people.newUser("mira");
  await by("mira", "POST", "/orgs", { username: "works" });
  repo = `/repos/works/${await people.newRepository("works", { auto_init: true })}`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("an inactive user is not added to a team", async () => {
  const user = await people.newUser();
  await api("PATCH", `/admin/users/${user}`, { source_id: 0, login_name: user, active: false });
  const [team] = (await by("mira", "GET", "/orgs/works/teams")).json;
  const refused = await by("mira", "PUT", `/teams/${team.id}/members/${user}`);
  expect([refused.status, refused.json.message]).toEqual([422, "the user's account is inactive"]);
});

test("a team that does not have a repository is not taken from it", async () => {
  const units = { "repo.code": "read" };
  await by("mira", "POST", "/orgs/works/teams", { name: "readers", units_map: units });
  const refused = await by("mira", "DELETE", `${repo}/teams/readers`);
  expect([refused.status, refused.json.message]).toEqual([
    422,
    "team 'readers' was not added to repo",
  ]);
});

test("tokens are listed by password, and a page is written in decimal digits", async () => {
  const basic = "mira:user-password";
  const list = (page: string) =>
    daemon.request(`/api/v1/users/mira/tokens?page=${page}`, { basic });
  expect((await list("1")).status).toBe(200);
  expect((await list("1e3")).status).toBe(422);
});

test("a file is created by the change of a file without its id", async () => {
  const created = await by("mira", "PUT", `${repo}/contents/new.txt`, { content: encode("text") });
  expect([created.status, created.json.content.path]).toEqual([201, "new.txt"]);
});

test("a workflow without the event workflow_dispatch has no inputs", async () => {
  const text = "on: push\njobs:\n  one:\n    runs-on: x\n    steps:\n      - run: echo\n";
  await by("mira", "POST", `${repo}/contents/.gitea/workflows/w.yml`, { content: encode(text) });
  const refused = await by("mira", "GET", `${repo}/actions/workflows/w.yml/inputs`);
  expect([refused.status, refused.json.message]).toEqual([
    422,
    "w.yml has no event workflow_dispatch",
  ]);
});

test("unsubscribing from an issue a second time is 200 and changes nothing", async () => {
  await by("mira", "POST", `${repo}/issues`, { title: "text" });
  const unsubscribe = () => by("mira", "DELETE", `${repo}/issues/1/subscriptions/mira`);
  expect((await unsubscribe()).status).toBe(201);
  expect((await unsubscribe()).status).toBe(200);
});

test("a wiki page is not changed over a change that its editor has not seen", async () => {
  await by("mira", "POST", `${repo}/wiki/new`, { title: "Home", content_base64: encode("one") });
  for (const method of ["PATCH", "DELETE"]) {
    const refused = await daemon.request(`/api/v1${repo}/wiki/page/Home`, {
      method,
      token: people.tokenOf("mira"),
      headers: { "If-Match": `"${"0".repeat(40)}"` },
      ...(method === "PATCH" ? { json: { content_base64: encode("two") } } : {}),
    });
    expect([refused.status, refused.json.message]).toEqual([412, "the page has changed"]);
  }
});
