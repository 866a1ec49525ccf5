import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { totpCode } from "../../support/vault/vault-accounts.ts";
import { createPageVisitor, type PageVisitor } from "../../support/forge/page-visitor.ts";

let daemon: TestDaemon;
let mira: PageVisitor;
let otto: PageVisitor;
let stranger: PageVisitor;
const people = createForgePeople(() => daemon);
const { by } = people;
const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBqkIpsJ5+lKLZUhFmsPLPHmgVCgOD0SbwUd8HfzNb5m";
const HOSTILE = `"'><script>alert(1)</script>`;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto", "nora"]) await people.newUser(name);
  const visitor = createPageVisitor(() => daemon);
  mira = await visitor("mira", "user-password");
  otto = await visitor("otto", "user-password");
  stranger = await visitor("nora", "user-password");
});
afterAll(() => daemon[Symbol.asyncDispose]());

const sections = [
  "",
  "/collaboration",
  "/branches",
  "/tags",
  "/hooks",
  "/keys",
  "/actions/secrets",
  "/actions/variables",
  "/actions/runners",
];

test("the settings of a repository open for its administrators, and for nobody else", async () => {
  const repo = await people.newRepository("mira", { private: true, auto_init: true });
  const home = `/mira/${repo}/settings`;
  await by("mira", "PUT", `/repos/mira/${repo}/collaborators/otto`, { permission: "read" });
  for (const section of sections) {
    const path = `${home}${section}`;
    expect([path, (await mira.get(path)).status]).toEqual([path, 200]);
    expect([path, (await otto.get(path)).status]).toEqual([path, 404]);
    expect([path, (await stranger.get(path)).status]).toEqual([path, 404]);
    const anonymous = await fetch(`${daemon.url}${path}`, { redirect: "manual" });
    expect([path, anonymous.status]).toEqual([path, 303]);
  }
  expect((await mira.get(`/mira/${repo}`)).text).toContain(`href="${home}"`);
  expect((await otto.get(`/mira/${repo}`)).text).not.toContain(`href="${home}"`);
  for (const [section, fields] of [
    ["", { action: "update", name: "taken", private: "yes" }],
    ["", { action: "delete", typed: `mira/${repo}` }],
    ["/collaboration", { action: "put", user: "otto", permission: "admin" }],
    ["/branches", { action: "create", rule: "main" }],
    ["/hooks", { action: "create", type: "gitea", url: "https://hooks.example.org/" }],
    ["/keys", { action: "add", title: "x", key: KEY }],
    ["/actions/secrets", { action: "put", name: "A", value: "b" }],
    ["/actions/runners", { action: "token" }],
  ] as const)
    for (const person of [otto, stranger])
      expect((await person.send(`${home}${section}`, fields)).status).toBe(404);
  expect((await by("mira", "GET", `/repos/mira/${repo}`)).status).toBe(200);
  const forged = await mira.send(home, { action: "archive", form_token: "forged" });
  expect(forged.status).toBe(403);
  for (const action of ["none", "constructor", ""])
    expect((await mira.send(home, { action })).status).toBe(404);
});

test("an administrator changes the settings of a repository, archives, renames and deletes it", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const home = `/mira/${repo}/settings`;
  const read = async (name = repo) => (await by("mira", "GET", `/repos/mira/${name}`)).json;
  const update = await mira.send(home, {
    action: "update",
    name: `${repo}-2`,
    description: HOSTILE,
    website: "https://example.org/",
    default_branch: "main",
    private: "yes",
  });
  expect([update.status, update.to]).toEqual([303, `/mira/${repo}-2/settings`]);
  expect(await read(`${repo}-2`)).toMatchObject({ description: HOSTILE, private: true });
  const second = `/mira/${repo}-2/settings`;
  expect((await mira.get(second)).text).not.toContain("<script>alert");
  const features = { has_code: "yes", has_issues: "yes", has_pull_requests: "yes" };
  await mira.send(second, { action: "features", ...features });
  expect(await read(`${repo}-2`)).toMatchObject({ has_issues: true, has_wiki: false });
  await mira.send(second, {
    action: "merging",
    allow_squash_merge: "yes",
    default_merge_style: "squash",
  });
  expect(await read(`${repo}-2`)).toMatchObject({
    allow_squash_merge: true,
    allow_rebase: false,
    default_merge_style: "squash",
  });
  const refused = await mira.send(second, { action: "update", name: "a b", description: "kept" });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('role="alert"')]);
  expect(refused.text).toContain("kept");
  await mira.send(second, { action: "archive" });
  const archived = (await mira.get(second)).text;
  expect(archived).toContain("Unarchive");
  expect(archived).not.toContain("Save features");
  for (const [section, submit, ...kept] of [
    ["branches", ">Protect<"],
    ["tags", ">Protect<"],
    ["keys", ">Add "],
    ["avatar", ">Save the picture<"],
    ["hooks", "no such button", "Webhooks"],
  ] as const) {
    const page = (await mira.get(`${second}/${section}`)).text;
    expect([section, page.includes(submit)]).toEqual([section, false]);
    for (const text of kept) expect(page).toContain(text);
    expect((await mira.get(`/mira/${repo}-2/${section}`)).text).not.toContain(submit);
  }
  await mira.send(second, { action: "unarchive" });
  expect((await read(`${repo}-2`)).archived).toBe(false);

  await mira.send(second, { action: "transfer", new_owner: "otto", typed: `mira/${repo}-2` });
  expect((await mira.get(second)).text).toContain("It is offered to otto.");
  const offer = `/mira/${repo}-2/transfer`;
  expect((await mira.get(offer)).text).not.toContain("Accept the repository");
  const refusedOffer = await mira.send(offer, { action: "accept" });
  expect(refusedOffer.status).toBe(422);
  const given = await people.newRepository("mira", { auto_init: true });
  const giving = { action: "transfer", new_owner: "otto", typed: `mira/${given}` };
  await mira.send(`/mira/${given}/settings`, giving);
  expect((await otto.get(`/mira/${given}`)).text).toContain("Answer the offer");
  expect((await otto.get(`/mira/${given}/transfer`)).text).toContain("Accept the repository");
  const accepted = await otto.send(`/mira/${given}/transfer`, { action: "accept" });
  expect([accepted.status, accepted.to]).toEqual([303, `/otto/${given}`]);
  await mira.send(second, { action: "withdraw" });
  expect((await mira.get(offer)).status).toBe(404);
  expect((await mira.get(second)).text).not.toContain("It is offered");
  const untyped = await mira.send(second, { action: "delete", typed: repo });
  expect([untyped.status, untyped.text]).toEqual([422, expect.stringContaining("to confirm")]);
  const gone = await mira.send(second, { action: "delete", typed: `mira/${repo}-2` });
  expect([gone.status, gone.to]).toEqual([303, "/mira"]);
  expect((await by("mira", "GET", `/repos/mira/${repo}-2`)).status).toBe(404);
});

test("collaborators, keys and rules are added, changed and removed", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const api = `/repos/mira/${repo}`;
  const send = async (section: string, fields: Readonly<Record<string, string>>, status = 303) => {
    const sent = await mira.send(`/mira/${repo}/settings/${section}`, fields);
    expect([section, fields, sent.status]).toEqual([section, fields, status]);
  };
  const read = async (path: string) => (await by("mira", "GET", `${api}/${path}`)).json;

  await send("collaboration", { action: "put", user: "otto", permission: "write" });
  expect((await read("collaborators/otto/permission")).permission).toBe("write");
  await send("collaboration", { action: "put", user: "nobody", permission: "write" }, 422);
  await send("collaboration", { action: "delete", user: "otto" });
  expect(await read("collaborators")).toEqual([]);

  await send("keys", { action: "add", title: HOSTILE, key: KEY });
  const [key] = await read("keys");
  expect(key).toMatchObject({ title: HOSTILE, read_only: true });
  await send("keys", { action: "add", title: "again", key: "no key" }, 422);
  await send("keys", { action: "delete", id: String(key.id) });
  expect(await read("keys")).toEqual([]);

  const rule = { action: "create", rule: "main", enable_push: "yes", required_approvals: "2" };
  await send("branches", { ...rule, status_check_contexts: "build / test\r\nlint" });
  expect(await read("branch_protections/main")).toMatchObject({
    enable_push: true,
    required_approvals: 2,
    status_check_contexts: ["build / test", "lint"],
  });
  await send("branches", { action: "edit", rule: "main", push_whitelist_usernames: "mira" });
  expect(await read("branch_protections/main")).toMatchObject({ enable_push: false });
  await send("branches", rule, 422);
  await send("branches", { action: "delete", rule: "main" });
  expect(await read("branch_protections")).toEqual([]);

  await send("tags", { action: "create", name_pattern: "v*", whitelist_usernames: "mira" });
  const [tags] = await read("tag_protections");
  await send("tags", { action: "edit", id: String(tags.id), name_pattern: "w*" }, 422);
  await send("tags", {
    ...{ action: "edit", id: String(tags.id) },
    ...{ name_pattern: "w*", whitelist_usernames: "mira otto" },
  });
  expect(await read("tag_protections")).toMatchObject([{ name_pattern: "w*" }]);
  await send("tags", { action: "delete", id: String(tags.id) });
  expect(await read("tag_protections")).toEqual([]);
});

test("webhooks are added, tested, redelivered and deleted, and secrets are shown once at most", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const api = `/repos/mira/${repo}`;
  const hooks = `/mira/${repo}/settings/hooks`;
  const made = await mira.send(hooks, {
    action: "create",
    type: "gitea",
    url: "http://127.0.0.1:9/",
    content_type: "json",
    secret: "hook-secret",
    events: "push",
    active: "yes",
  });
  expect(made.status).toBe(303);
  const [hook] = (await by("mira", "GET", `${api}/hooks`)).json;
  expect(hook).toMatchObject({ active: true, events: ["push"] });
  const page = `${hooks}/${hook.id}`;
  expect((await mira.send(page, { action: "test" })).status).toBe(303);
  const [delivery] = (await by("mira", "GET", `${api}/hooks/${hook.id}/deliveries`)).json;
  const text = (await mira.get(`${page}?delivery=${delivery.id}`)).text;
  expect(text).toContain("X-Gitea-Event");
  expect(text).not.toContain("hook-secret");
  expect((await otto.get(page)).status).toBe(404);
  await mira.send(page, { action: "redeliver", delivery: String(delivery.id) });
  expect((await by("mira", "GET", `${api}/hooks/${hook.id}/deliveries`)).json).toHaveLength(2);
  const edit = { action: "edit", url: "http://127.0.0.1:9/b", content_type: "form" };
  expect((await mira.send(page, { ...edit, events: "issues_only" })).status).toBe(303);
  expect((await by("mira", "GET", `${api}/hooks/${hook.id}`)).json).toMatchObject({
    active: false,
    events: ["issues"],
    config: { url: "http://127.0.0.1:9/b" },
  });
  expect((await mira.send(page, { action: "delete" })).to).toBe(hooks);
  expect((await by("mira", "GET", `${api}/hooks`)).json).toEqual([]);

  const secrets = `/mira/${repo}/settings/actions/secrets`;
  await mira.send(secrets, { action: "put", name: "deploy", value: "secret-value" });
  const shown = (await mira.get(secrets)).text;
  expect(shown).toContain("DEPLOY");
  expect(shown).not.toContain("secret-value");
  const invalid = await mira.send(secrets, { action: "put", name: "a b", value: "x" });
  expect(invalid.status).toBe(422);
  await mira.send(secrets, { action: "delete", name: "DEPLOY" });
  expect((await by("mira", "GET", `${api}/actions/secrets`)).json).toEqual([]);
  const variables = `/mira/${repo}/settings/actions/variables`;
  await mira.send(variables, { action: "create", name: "stage", value: "a\r\nb" });
  const variable = { action: "edit", was: "STAGE", name: "PHASE", value: "c" };
  expect((await mira.send(variables, variable)).status).toBe(303);
  expect((await by("mira", "GET", `${api}/actions/variables/PHASE`)).json.data).toBe("c");
  await mira.send(variables, { action: "delete", name: "PHASE" });
  expect((await by("mira", "GET", `${api}/actions/variables`)).json).toEqual([]);
  const token = await mira.send(`/mira/${repo}/settings/actions/runners`, { action: "token" });
  expect([token.status, token.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(token.text).toContain("Registration token");
});

const ownSections = ["", "/account", "/keys", "/applications", "/security", "/hooks"];

test("the own account has pages for profile, addresses, keys and tokens, whose secret is shown once", async () => {
  for (const section of [...ownSections, ...sections.slice(6)]) {
    const path = `/user/settings${section}`;
    expect([path, (await mira.get(path)).status]).toEqual([path, 200]);
    expect((await fetch(`${daemon.url}${path}`, { redirect: "manual" })).status).toBe(303);
  }
  const own = async (path: string) => (await by("mira", "GET", `/user${path}`)).json;
  const profile = { action: "update", full_name: HOSTILE, website: "https://example.org/" };
  const saved = await mira.send("/user/settings", {
    ...profile,
    hide_email: "yes",
    email_notifications: "disabled",
  });
  expect(saved.status).toBe(303);
  expect(await own("/settings")).toMatchObject({
    full_name: HOSTILE,
    hide_email: true,
    hide_activity: false,
    email_notifications: "disabled",
  });
  const website = await mira.send("/user/settings", { ...profile, website: "javascript:alert(1)" });
  expect(website.status).toBe(422);
  expect((await mira.get("/user/settings")).text).not.toContain("<script>alert");

  const account = "/user/settings/account";
  await mira.send(account, { action: "add", email: "second@example.org" });
  expect(await own("/emails")).toHaveLength(2);
  const taken = await otto.send(account, { action: "add", email: "second@example.org" });
  expect(taken.status).toBe(422);
  await mira.send(account, { action: "delete", email: "second@example.org" });
  expect(await own("/emails")).toHaveLength(1);

  await mira.send("/user/settings/keys", { action: "add", title: "laptop", key: KEY });
  const [key] = await own("/keys");
  const foreign = await otto.send("/user/settings/keys", { action: "delete", id: String(key.id) });
  expect(foreign.status).toBe(422);
  expect(await own("/keys")).toHaveLength(1);
  await mira.send("/user/settings/keys", { action: "delete", id: String(key.id) });
  expect(await own("/keys")).toEqual([]);

  const tokens = "/user/settings/applications";
  const made = await mira.send(tokens, { action: "create", name: "ci", scope_issue: "read:issue" });
  expect([made.status, made.headers.get("cache-control")]).toEqual([200, "no-store"]);
  const secret = /<pre[^>]*>([0-9a-f]{40})<\/pre>/.exec(made.text)?.[1] ?? "";
  const current = await daemon.request("/api/v1/token", { token: secret });
  expect(current.json).toMatchObject({ name: "ci", scopes: ["read:issue"] });
  expect((await mira.get(tokens)).text).not.toContain(secret);
  expect((await mira.send(tokens, { action: "create", name: "none" })).status).toBe(422);
  await mira.send(tokens, { action: "delete", id: String(current.json.id) });
  expect((await daemon.request("/api/v1/token", { token: secret })).status).toBe(401);
});

test("a second factor is set up with a QR code, and turned off again", async () => {
  const ines = await people.newUser();
  const person = await createPageVisitor(() => daemon)(ines, "user-password");
  const security = "/user/settings/security";
  const setup = await person.send(security, { action: "start" });
  expect([setup.status, setup.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(setup.text).toContain("data:image/svg+xml;base64,");
  const address = (/name="address" value="([^"]+)"/.exec(setup.text)?.[1] ?? "").replaceAll(
    "&amp;",
    "&",
  );
  const wrong = await person.send(security, { action: "confirm", address, code: "000000" });
  expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('class="qr"')]);
  expect(wrong.headers.get("cache-control")).toBe("no-store");
  const secret = new URL(address).searchParams.get("secret") ?? "";
  const code = totpCode(secret, Date.now());
  expect((await person.send(security, { action: "confirm", address, code })).to).toBe(security);
  expect((await person.get(security)).text).toContain("The second factor is on.");
  expect((await person.send(security, { action: "start" })).status).toBe(422);
  await person.send(security, { action: "disable" });
  expect((await person.get(security)).text).toContain("Set it up");
});

test("a person creates a repository and an organization", async () => {
  const made = await mira.send("/repo/create", {
    action: "create",
    owner: "mira",
    name: "from-page",
    auto_init: "yes",
    private: "yes",
    default_branch: "trunk",
  });
  expect([made.status, made.to]).toEqual([303, "/mira/from-page"]);
  expect((await by("mira", "GET", "/repos/mira/from-page")).json).toMatchObject({
    private: true,
    default_branch: "trunk",
  });
  const again = await mira.send("/repo/create", { action: "create", name: "from-page" });
  expect([again.status, again.text]).toEqual([422, expect.stringContaining("from-page")]);
  const club = { action: "create", username: "club", visibility: "public" };
  expect((await mira.send("/org/create", club)).to).toBe("/club");
  const inClub = { action: "create", owner: "club", name: "first" };
  expect((await mira.send("/repo/create", inClub)).to).toBe("/club/first");
  expect((await otto.send("/repo/create", { ...inClub, name: "second" })).status).toBe(422);
});

test("a person with write access starts, cancels and repeats a run; others have no button", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const workflow = `on:
  workflow_dispatch:
    inputs:
      stage: { required: true, description: "Where to?", type: choice, options: [one, two] }
      count: { type: number, default: 3 }
      dry: { type: boolean, default: true }
jobs:
  a: { runs-on: ubuntu-latest, steps: [{ run: "true" }] }
`;
  await by("mira", "POST", `/repos/mira/${repo}/contents/.gitea/workflows/ci.yml`, {
    content: Buffer.from(workflow).toString("base64"),
  });
  const runs = `/mira/${repo}/actions`;
  expect((await mira.get(runs)).text).toContain("Start a workflow");
  expect((await otto.get(runs)).text).not.toContain("Start a workflow");
  const start = { workflow: "ci.yml", ref: "main" };
  const form = (await mira.get(`${runs}?workflow=ci.yml&ref=main`)).text;
  for (const field of [
    /Where to\? \(stage\)<select[^>]*name="input\.stage"[^>]*required/,
    /<option value="two">two<\/option>/,
    /<input[^>]*name="input\.count"[^>]*value="3"/,
    /<input type="hidden" name="input\.dry" value="false"\/><input type="checkbox"[^>]*checked[^>]*value="true"/,
  ])
    expect(form).toMatch(field);
  const unknown = (await mira.get(`${runs}?workflow=none.yml&ref=main`)).text;
  expect(unknown).toContain("workflow &quot;none.yml&quot; not found");
  const without = await mira.send(`${runs}/start`, { ...start, "input.other": "1" });
  expect([without.status, without.text]).toEqual([422, expect.stringContaining("unknown input")]);
  expect((await otto.send(`${runs}/start`, { ...start, "input.stage": "one" })).status).toBe(422);
  const started = await mira.send(`${runs}/start`, { ...start, "input.stage": "two" });
  expect(started.to).toMatch(new RegExp(`^${runs}/runs/\\d+$`));
  const run = started.to ?? "";
  expect((await mira.get(run)).text).toContain("Cancel</button>");
  expect((await otto.get(run)).text).not.toContain("Cancel</button>");
  expect((await otto.send(`${run}/cancel`, {})).status).toBe(422);
  expect((await mira.send(`${run}/cancel`, {})).to).toBe(run);
  const over = (await mira.get(run)).text;
  expect(over).toContain("Run all jobs again");
  expect((await mira.send(`${run}/rerun`, {})).to).toBe(run);
  expect((await mira.get(run)).text).toContain("Cancel</button>");
});
