import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createPageVisitor, type PageVisitor } from "../../support/forge/page-visitor.ts";

let daemon: TestDaemon;
let mira: PageVisitor;
let otto: PageVisitor;
let root: PageVisitor;
const people = createForgePeople(() => daemon);
const { by, api } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto"]) await people.newUser(name);
  await people.newUser("chief");
  await api("PATCH", "/admin/users/chief", { login_name: "chief", admin: true });
  const visitor = createPageVisitor(() => daemon);
  mira = await visitor("mira", "user-password");
  otto = await visitor("otto", "user-password");
  root = await visitor("chief", "user-password");
});
afterAll(() => daemon[Symbol.asyncDispose]());

const statusOf = async (person: PageVisitor, paths: readonly string[]) =>
  Promise.all(paths.map(async (path) => [path, (await person.get(path)).status]));

test("owners change an organization, its teams and members; others see what the API shows them", async () => {
  await by("mira", "POST", "/orgs", { username: "guild" });
  await by("mira", "POST", "/orgs/guild/repos", { name: "hall" });
  const open = ["/org/guild/members", "/org/guild/teams"];
  const owned = ["", "/hooks", "/actions/secrets", "/actions/variables", "/actions/runners"].map(
    (section) => `/org/guild/settings${section}`,
  );
  expect(await statusOf(mira, [...open, ...owned])).toEqual(
    [...open, ...owned].map((path) => [path, 200]),
  );
  expect(await statusOf(otto, owned)).toEqual(owned.map((path) => [path, 404]));
  expect((await otto.get("/org/guild/members")).status).toBe(200);

  const made = await mira.send("/org/guild/teams", {
    ...{ action: "create", name: "makers", description: "They make" },
    "repo.code": "write",
  });
  expect(made.to).toBe("/org/guild/teams/makers");
  const team = "/org/guild/teams/makers";
  for (const fields of [
    { action: "addMember", member: "otto" },
    { action: "addRepository", repo: "hall" },
  ])
    expect((await mira.send(team, fields)).status).toBe(303);
  const text = (await mira.get(team)).text;
  expect(text).toContain("guild/hall");
  expect((await otto.get(team)).text).not.toContain("Add member");
  expect((await otto.send(team, { action: "addMember", member: "chief" })).status).toBe(422);
  const edit = { action: "edit", name: "writers", "repo.code": "read" };
  expect((await mira.send(team, edit)).to).toBe("/org/guild/teams/writers");
  const writers = "/org/guild/teams/writers";
  const [, writing] = (await by("mira", "GET", "/orgs/guild/teams")).json;
  expect(writing).toMatchObject({ permission: "read", units_map: { "repo.code": "read" } });
  await mira.send(writers, { action: "removeRepository", repo: "hall" });
  await mira.send(writers, { action: "removeMember", member: "otto" });
  expect((await mira.get(writers)).text).toContain("No repositories.");
  expect((await mira.send(writers, { action: "delete" })).to).toBe("/org/guild/teams");

  const members = "/org/guild/members";
  await mira.send(members, { action: "show", member: "mira" });
  expect((await by("mira", "GET", "/orgs/guild/public_members")).json).toHaveLength(1);
  await mira.send(members, { action: "hide", member: "mira" });
  expect((await mira.send(members, { action: "delete", member: "mira" })).status).toBe(422);

  const settings = "/org/guild/settings";
  const update = { action: "update", description: "<script>alert(1)</script>" };
  await mira.send(settings, { ...update, visibility: "public" });
  expect((await mira.get(settings)).text).not.toContain("<script>alert");
  for (const action of ["update", "rename", "delete"])
    expect((await otto.send(settings, { action, new_name: "x", typed: "guild" })).status).toBe(404);
  const renamed = await mira.send(settings, { action: "rename", new_name: "guild2" });
  expect(renamed.to).toBe("/org/guild2/settings");
  const full = await mira.send("/org/guild2/settings", { action: "delete", typed: "guild2" });
  expect(full.status).toBe(422);
  await by("mira", "DELETE", "/repos/guild2/hall");
  expect((await mira.send("/org/guild2/settings", { action: "delete", typed: "x" })).status).toBe(
    422,
  );
  expect((await mira.send("/org/guild2/settings", { action: "delete", typed: "guild2" })).to).toBe(
    "/",
  );
});

test("administrators of the instance manage users, hooks, runners and tasks; others find no page", async () => {
  const sections = ["", "/users", "/orgs", "/repos", "/hooks", "/cron", "/system"];
  const levels = ["jobs", "runners", "secrets", "variables"].map((name) => `/actions/${name}`);
  const paths = [...sections, ...levels].map((section) => `/-/admin${section}`);
  expect(await statusOf(root, paths)).toEqual(paths.map((path) => [path, 200]));
  expect(await statusOf(mira, paths)).toEqual(paths.map((path) => [path, 404]));
  expect((await root.get("/mira")).text).toContain('href="/-/admin"');
  expect((await mira.get("/mira")).text).not.toContain('href="/-/admin"');

  const users = "/-/admin/users";
  const newcomer = { username: "tessa", email: "tessa@example.org", password: "user-password" };
  expect((await root.send(users, { action: "create", ...newcomer })).status).toBe(303);
  expect((await mira.send(users, { action: "create", ...newcomer })).status).toBe(404);
  const edit = { action: "edit", user: "tessa", email: "t@example.org", full_name: "Tessa" };
  expect((await root.send(users, { ...edit, active: "yes", restricted: "yes" })).status).toBe(303);
  expect((await api("GET", "/users/tessa")).json).toMatchObject({
    full_name: "Tessa",
    restricted: true,
    is_admin: false,
    active: true,
  });
  expect((await root.get(`${users}?q=tessa`)).text).toContain("t@example.org");
  expect((await mira.send(users, { action: "delete", user: "tessa" })).status).toBe(404);
  expect((await root.send(users, { action: "delete", user: "tessa" })).status).toBe(303);
  expect((await api("GET", "/users/tessa")).status).toBe(404);

  const [task] = (await api("GET", "/admin/cron")).json;
  expect((await root.send("/-/admin/cron", { action: "run", task: task.name })).status).toBe(303);
  expect((await root.send("/-/admin/cron", { action: "run", task: "none" })).status).toBe(422);
  const hook = {
    action: "create",
    type: "gitea",
    url: "http://127.0.0.1:9/",
    content_type: "json",
  };
  expect(
    (await root.send("/-/admin/hooks", { ...hook, events: "push", system: "yes" })).status,
  ).toBe(303);
  expect((await api("GET", "/admin/hooks?type=system")).json).toHaveLength(1);
  const token = await root.send("/-/admin/actions/runners", { action: "token" });
  expect(token.headers.get("cache-control")).toBe("no-store");
});
