import { generateSync } from "otplib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { createPerson } from "../support/vault/vault-person.ts";

// Operations that no other test of the API carries out: `npm test` fails when one of the contract is never called, or never
// succeeds (test/support/answers.ts).

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("a badge is made, given and deleted", async () => {
  expect((await api("POST", "/admin/badges", { slug: "kind" })).status).toBe(201);
  expect((await api("DELETE", "/admin/badges/kind")).status).toBe(204);
  expect((await api("DELETE", "/admin/badges/kind")).status).toBe(404);
});

test("an organization is renamed by its owner", async () => {
  const owner = await people.newUser();
  expect((await by(owner, "POST", "/orgs", { username: "works" })).status).toBe(201);
  expect((await by(owner, "POST", "/orgs/works/rename", { new_name: "plant" })).status).toBe(204);
  expect((await by(owner, "GET", "/orgs/plant")).json).toMatchObject({ name: "plant" });
});

test("a second factor is turned off with a code, or by an administrator", async () => {
  const user = await people.newUser();
  const basic = `${user}:user-password`;
  const enable = async () => {
    const { json } = await daemon.request("/api/v1/user/2fa/setup", { basic, method: "POST" });
    const codeAt = (seconds: number) =>
      generateSync({ secret: json.secret, epoch: Math.floor(Date.now() / 1000) + seconds });
    const enabled = await daemon.request("/api/v1/user/2fa/enable", {
      basic,
      json: { code: codeAt(0) },
    });
    expect(enabled.status).toBe(204);
    return codeAt(30);
  };
  const code = await enable();
  const disable = { basic, method: "DELETE", headers: { "X-Gitea-OTP": code } };
  expect((await daemon.request("/api/v1/user/2fa", disable)).status).toBe(204);
  await enable();
  expect((await api("DELETE", `/admin/users/${user}/2fa`)).status).toBe(204);
  expect((await daemon.request("/api/v1/user/2fa", { basic })).json).toMatchObject({
    enabled: false,
  });
});

test("a delivery of a hook of an organization is read and repeated", async () => {
  const owner = await people.newUser();
  await by(owner, "POST", "/orgs", { username: "mill" });
  const hook = await by(owner, "POST", "/orgs/mill/hooks", {
    type: "gitea",
    config: { url: "http://127.0.0.1:9/", content_type: "json" },
    events: ["repository"],
    active: true,
  });
  await by(owner, "POST", "/orgs/mill/repos", { name: "hut" });
  const path = `/orgs/mill/hooks/${hook.json.id}/deliveries`;
  const first = async () => (await by(owner, "GET", path)).json[0];
  await expect.poll(first).toBeDefined();
  const { id } = await first();
  expect((await by(owner, "GET", `${path}/${id}`)).json).toMatchObject({ id });
  expect((await by(owner, "POST", `${path}/${id}/redeliver`)).status).toBe(201);
});

test.each([
  ["a package", "pack", "pack"],
  ["a package whose scope is a segment of its own", "@mira/scoped", "@mira/scoped"],
])("%s is published, tagged, revised and withdrawn", async (_what, name, path) => {
  const token = people.admin;
  const root = "/api/packages/keeper/npm";
  const send = (method: string, at: string, json?: unknown) =>
    daemon.request(`${root}/${at}`, {
      method,
      token,
      ...(json === undefined ? {} : { json }),
    });
  const file = (version: string) => `${name.replace(/^.*\//, "")}-${version}.tgz`;
  const toDocument = (version: string) => ({
    _id: name,
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { name, version, dist: {} } },
    _attachments: {
      [file(version)]: { content_type: "application/octet-stream", data: "eA==", length: 1 },
    },
  });
  for (const version of ["1.0.0", "2.0.0"])
    expect((await send("PUT", path, toDocument(version))).status).toBe(201);
  expect((await send("GET", `${path}/-/${file("1.0.0")}`)).text).toBe("x");
  const tags = `-/package/${path}/dist-tags`;
  expect((await send("PUT", `${tags}/next`, "1.0.0")).status).toBe(200);
  expect((await send("GET", tags)).json).toMatchObject({ next: "1.0.0", latest: "2.0.0" });
  expect((await send("DELETE", `${tags}/next`)).status).toBe(200);
  const revision = async () => (await send("GET", path)).json._rev;
  const { versions, ...rest } = (await send("GET", path)).json;
  const revised = { ...rest, versions: { "1.0.0": versions["1.0.0"] } };
  expect((await send("PUT", `${path}/-rev/${await revision()}`, revised)).status).toBe(200);
  const withdrawn = `${path}/-/${file("2.0.0")}/-rev/${await revision()}`;
  expect((await send("DELETE", withdrawn)).status).toBe(200);
  expect(Object.keys((await send("GET", path)).json.versions)).toEqual(["1.0.0"]);
  expect((await send("DELETE", `${path}/-rev/${await revision()}`)).status).toBe(200);
  expect((await send("GET", path)).status).toBe(404);
});

test("the events of a document are listed, and a topic is renamed", async () => {
  const mira = createPerson(daemon, "mira", "192.0.2.1");
  await mira.register();
  await mira.signIn();
  const body = new FormData();
  body.append("file", new File(["text"], "text.txt"));
  const { id } = (await mira.request("/api/documents/upload", { method: "POST", body })).json;
  const events = await mira.request(`/api/documents/${id}/events`);
  expect([events.status, events.json.items.length > 0]).toEqual([200, true]);
  const topic = await mira.request("/api/topics", { json: { name: "Letters" } });
  const renamed = await mira.request(`/api/topics/${topic.json.id}`, {
    method: "PATCH",
    json: { name: "Mail" },
  });
  expect([renamed.status, renamed.json.name]).toEqual([200, "Mail"]);
});

test("administrators invite people to both APIs, and change an account of the vault", async () => {
  const invited = { username: "nora", email: "nora@example.org" };
  expect((await api("POST", "/admin/invitations", invited)).status).toBe(201);
  const login = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
  });
  const bearer = login.json.access_token;
  const person = { handle: "nora", email: "nora@example.org" };
  const made = await daemon.request("/api/admin/invitations", { bearer, json: person });
  expect(made.status).toBe(201);
  const edited = await daemon.request(`/api/admin/users/${made.json.id}`, {
    method: "PATCH",
    bearer,
    json: { handle: "nora2" },
  });
  expect([edited.status, edited.json.handle]).toEqual([200, "nora2"]);
});

test("the inputs of a workflow are listed", async () => {
  const owner = await people.newUser();
  const repository = await people.newRepository(owner, { auto_init: true });
  const path = `/repos/${owner}/${repository}`;
  await by(owner, "PATCH", path, { has_actions: true });
  const text =
    "on:\n  workflow_dispatch:\n    inputs:\n      level: { required: true }\njobs:\n  one:\n    runs-on: x\n    steps: [{ run: echo }]\n";
  await by(owner, "POST", `${path}/contents/.gitea/workflows/w.yml`, {
    content: Buffer.from(text).toString("base64"),
  });
  const inputs = await by(owner, "GET", `${path}/actions/workflows/w.yml/inputs?ref=main`);
  expect([inputs.status, inputs.json]).toMatchObject([200, [{ name: "level" }]]);
});
