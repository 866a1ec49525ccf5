import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ForgeApp, startForgeApp } from "../../support/forge/forge-app.ts";

let app: ForgeApp;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  app = await startForgeApp();
  for (const username of ["mira", "nora", "otto", "rita"]) {
    await app.addUser({ username, restricted: username === "rita" });
    tokens[username] = await app.tokenOf(username);
  }
  tokens["admin"] = app.token;
});
afterAll(() => app[Symbol.asyncDispose]());

const by = (user: string, method: string, path: string, json?: unknown) =>
  app.request(`/api/v1${path}`, {
    method,
    ...(user === "" ? {} : { token: tokens[user] ?? "" }),
    ...(json === undefined ? {} : { json }),
  });

async function newOrganization(username: string, fields: object = {}): Promise<void> {
  const made = await by("mira", "POST", "/orgs", { username, ...fields });
  expect(made.status, made.text).toBe(201);
}

async function newTeam(org: string, fields: object): Promise<number> {
  const made = await by("mira", "POST", `/orgs/${org}/teams`, fields);
  expect(made.status, made.text).toBe(201);
  return made.json.id;
}

const names = (list: { readonly name?: string; readonly login?: string }[]) =>
  list.map(({ name, login }) => name ?? login);

describe("organizations", () => {
  test("a user creates, edits, renames and deletes an organization", async () => {
    const made = await by("mira", "POST", "/orgs", {
      username: "Guild",
      full_name: "The Guild",
      email: "guild@example.org",
      repo_admin_change_team_access: true,
    });
    expect(made).toMatchObject({
      status: 201,
      json: {
        name: "Guild",
        username: "Guild",
        email: "guild@example.org",
        visibility: "public",
        repo_admin_change_team_access: true,
      },
    });
    expect(await by("mira", "POST", "/orgs", { username: "guild" })).toMatchObject({
      status: 422,
      json: { message: "user already exists [name: guild]" },
    });
    const edited = await by("mira", "PATCH", "/orgs/guild", { email: "", description: "Masons" });
    expect(edited).toMatchObject({
      status: 200,
      json: { full_name: "The Guild", email: "", description: "Masons" },
    });
    expect((await by("nora", "PATCH", "/orgs/guild", { description: "x" })).status).toBe(403);
    expect((await by("nora", "DELETE", "/orgs/guild")).status).toBe(403);
    expect((await by("mira", "PATCH", "/orgs/guild", { email: "no" })).status).toBe(422);
    const renamed = await by("mira", "POST", "/orgs/guild/rename", { new_name: "union" });
    expect(renamed.status).toBe(204);
    const former = await by("mira", "GET", "/orgs/guild");
    expect(former.status).toBe(307);
    expect(former.headers.get("location")).toBe("/api/v1/orgs/union");
    expect((await by("mira", "DELETE", "/orgs/union")).status).toBe(204);
    expect((await by("mira", "GET", "/orgs/union")).status).toBe(404);
  });

  test("a user without the right to create organizations is refused", async () => {
    await by("admin", "PATCH", "/admin/users/otto", {
      source_id: 0,
      login_name: "otto",
      allow_create_organization: false,
    });
    expect(await by("otto", "POST", "/orgs", { username: "ottos" })).toMatchObject({
      status: 403,
      json: { message: "not allowed to create org" },
    });
  });

  test("an organization is found by those whom its visibility admits, and by members", async () => {
    for (const visibility of ["public", "limited", "private"])
      await newOrganization(`see-${visibility}`, { visibility });
    const found = async (user: string) =>
      names((await by(user, "GET", "/orgs?limit=50")).json).filter((name) =>
        name?.startsWith("see-"),
      );
    expect(await found("")).toEqual(["see-public"]);
    expect(await found("rita")).toEqual(["see-public"]);
    expect(await found("nora")).toEqual(["see-limited", "see-public"]);
    expect(await found("admin")).toEqual(["see-limited", "see-private", "see-public"]);
    const statuses = async (user: string) =>
      Promise.all(
        ["public", "limited", "private"].map(
          async (visibility) => (await by(user, "GET", `/orgs/see-${visibility}`)).status,
        ),
      );
    expect(await statuses("")).toEqual([200, 404, 404]);
    expect(await statuses("rita")).toEqual([200, 404, 404]);
    expect(await statuses("nora")).toEqual([200, 200, 404]);
    expect(await statuses("mira")).toEqual([200, 200, 200]);
    const team = await newTeam("see-private", { name: "inside", permission: "admin" });
    expect((await by("mira", "PUT", `/teams/${team}/members/rita`)).status).toBe(204);
    expect(await statuses("rita")).toEqual([200, 404, 200]);
  });

  test("a public-only token sees only public organizations", async () => {
    await newOrganization("hush", { visibility: "private" });
    const token = await app.tokenOf("mira", ["public-only", "write:organization"]);
    const call = (method: string, path: string, json?: object) =>
      app.request(`/api/v1${path}`, { method, token, ...(json === undefined ? {} : { json }) });
    expect((await call("GET", "/orgs/hush")).status).toBe(403);
    expect((await call("GET", "/orgs/hush/teams")).status).toBe(403);
    expect((await call("POST", "/orgs", { username: "x1", visibility: "private" })).status).toBe(
      403,
    );
    expect(names((await call("GET", "/orgs?limit=50")).json)).not.toContain("hush");
    const teams = (await call("GET", "/user/teams?limit=50")).json;
    expect(
      teams.map((team: { organization: { name: string } }) => team.organization.name),
    ).not.toContain("hush");
  });
});

describe("members", () => {
  test("members see all members, others the public ones", async () => {
    await newOrganization("club");
    const team = await newTeam("club", { name: "staff", permission: "admin" });
    await by("mira", "PUT", `/teams/${team}/members/nora`);
    expect(names((await by("nora", "GET", "/orgs/club/members")).json)).toEqual(["mira", "nora"]);
    expect((await by("rita", "GET", "/orgs/club/members")).json).toEqual([]);
    expect((await by("", "GET", "/orgs/club/members")).status).toBe(401);
    expect((await by("nora", "PUT", "/orgs/club/public_members/mira")).status).toBe(403);
    expect((await by("rita", "PUT", "/orgs/club/public_members/rita")).status).toBe(403);
    expect((await by("nora", "PUT", "/orgs/club/public_members/nora")).status).toBe(204);
    expect(names((await by("", "GET", "/orgs/club/public_members")).json)).toEqual(["nora"]);
    expect(names((await by("rita", "GET", "/orgs/club/members")).json)).toEqual(["nora"]);
    expect((await by("", "GET", "/orgs/club/public_members/nora")).status).toBe(204);
    expect((await by("rita", "GET", "/orgs/club/members/mira")).status).toBe(404);
    expect((await by("nora", "GET", "/orgs/club/members/mira")).status).toBe(204);
    expect((await by("mira", "DELETE", "/orgs/club/public_members/nora")).status).toBe(204);
    expect((await by("", "GET", "/orgs/club/public_members/nora")).status).toBe(404);
  });

  test("an owner removes a member, a member leaves, and the last owner can do neither", async () => {
    await newOrganization("crew");
    const team = await newTeam("crew", { name: "deck", permission: "admin" });
    for (const user of ["nora", "otto"]) await by("mira", "PUT", `/teams/${team}/members/${user}`);
    expect((await by("nora", "DELETE", "/orgs/crew/members/otto")).status).toBe(403);
    expect((await by("mira", "DELETE", "/orgs/crew/members/otto")).status).toBe(204);
    expect((await by("nora", "DELETE", "/orgs/crew/members/nora")).status).toBe(204);
    expect(names((await by("mira", "GET", "/orgs/crew/members")).json)).toEqual(["mira"]);
    const [owners] = (await by("mira", "GET", "/orgs/crew/teams")).json;
    expect(owners.name).toBe("Owners");
    for (const path of ["/orgs/crew/members/mira", `/teams/${owners.id}/members/mira`])
      expect(await by("mira", "DELETE", path)).toMatchObject({
        status: 422,
        json: { message: expect.stringContaining("last member of owner team") },
      });
    expect((await by("mira", "DELETE", `/teams/${owners.id}`)).status).toBe(422);
    expect((await by("mira", "PUT", `/teams/${owners.id}/members/nora`)).status).toBe(204);
    expect((await by("mira", "DELETE", "/orgs/crew/members/mira")).status).toBe(204);
    expect((await by("nora", "GET", "/users/nora/orgs/crew/permissions")).json).toEqual({
      is_owner: true,
      is_admin: true,
      can_write: true,
      can_read: true,
      can_create_repository: true,
    });
  });

  test("a user's organizations are shown to callers who may see the memberships", async () => {
    await newOrganization("shown");
    await newOrganization("unshown");
    await by("mira", "PUT", "/orgs/shown/public_members/mira");
    const organizationsSeenBy = async (user: string) =>
      names((await by(user, "GET", "/users/mira/orgs?limit=50")).json);
    expect(await organizationsSeenBy("rita")).toContain("shown");
    expect(await organizationsSeenBy("rita")).not.toContain("unshown");
    expect(await organizationsSeenBy("mira")).toContain("unshown");
    expect(await organizationsSeenBy("admin")).toContain("unshown");
    expect((await by("rita", "GET", "/users/mira/orgs/unshown/permissions")).status).toBe(404);
  });
});

describe("teams", () => {
  test("a team has a permission for each unit", async () => {
    await newOrganization("works");
    const units_map = { "repo.code": "read", "repo.issues": "write", "repo.wiki": "none" };
    const made = await by("mira", "POST", "/orgs/works/teams", {
      name: "support",
      description: "Answers",
      units_map,
      visibility: "limited",
    });
    expect(made).toMatchObject({
      status: 201,
      json: {
        name: "support",
        description: "Answers",
        permission: "write",
        units: ["repo.code", "repo.issues", "repo.wiki"],
        units_map: { "repo.code": "read", "repo.issues": "write", "repo.wiki": "none" },
        includes_all_repositories: false,
        can_create_org_repo: false,
        visibility: "limited",
        organization: { name: "works" },
      },
    });
    const { id } = made.json;
    const edited = await by("mira", "PATCH", `/teams/${id}`, {
      name: "help",
      permission: "read",
      units: ["repo.code", "repo.releases"],
    });
    expect(edited.json).toMatchObject({
      name: "help",
      permission: "read",
      description: "Answers",
      units_map: { "repo.code": "read", "repo.releases": "read" },
    });
    const raised = await by("mira", "PATCH", `/teams/${id}`, { permission: "admin" });
    expect(raised.json.units_map).toMatchObject({ "repo.code": "admin", "repo.ext_wiki": "read" });
    expect((await by("mira", "PATCH", `/teams/${id}`, { permission: "read" })).status).toBe(422);
    expect((await by("mira", "GET", `/teams/${id}`)).json.permission).toBe("admin");
  });

  test.each([
    [{ name: "none", permission: "read" }],
    [{ name: "none", units_map: { "repo.roof": "read" } }],
    [{ name: "none", units_map: { "repo.code": "all" } }],
    [{ name: "none", permission: "owner", units: ["repo.code"] }],
    [{ name: "Owners", permission: "admin" }],
    [{ name: "new", permission: "admin" }],
    [{ name: "a b", permission: "admin" }],
    [{ permission: "admin" }],
  ])("refuses the team %j", async (fields) => {
    await by("mira", "POST", "/orgs", { username: "strict" });
    expect((await by("mira", "POST", "/orgs/strict/teams", fields)).status).toBe(422);
  });

  test("an organization finds its hidden members, whom its owners remove, and outsiders do not", async () => {
    await newOrganization("dusk");
    const id = await newTeam("dusk", { name: "night", permission: "read", units: ["repo.code"] });
    for (const username of ["shade", "umbra"]) {
      await app.addUser({ username });
      expect((await by("mira", "PUT", `/teams/${id}/members/${username}`)).status).toBe(204);
      const hidden = { source_id: 0, login_name: username, visibility: "private" };
      expect((await by("admin", "PATCH", `/admin/users/${username}`, hidden)).status).toBe(200);
    }
    await by("mira", "PUT", `/teams/${id}/members/nora`);
    const status = async (user: string, method: string, path: string) =>
      (await by(user, method, path)).status;
    for (const user of ["mira", "nora"]) {
      expect(await status(user, "GET", "/orgs/dusk/members/shade")).toBe(204);
      expect(await status(user, "GET", `/teams/${id}/members/shade`)).toBe(200);
      expect(await status(user, "GET", "/users/shade/orgs/dusk/permissions")).toBe(200);
      expect(await status(user, "GET", "/users/shade")).toBe(404);
    }
    expect(await status("otto", "GET", "/orgs/dusk/members/shade")).toBe(404);
    expect(await status("otto", "DELETE", "/orgs/dusk/members/shade")).toBe(404);
    expect(await status("nora", "DELETE", "/orgs/dusk/members/shade")).toBe(403);
    expect(await status("nora", "DELETE", `/teams/${id}/members/shade`)).toBe(403);
    expect(await status("mira", "DELETE", `/teams/${id}/members/umbra`)).toBe(204);
    expect(await status("mira", "DELETE", "/orgs/dusk/members/shade")).toBe(204);
    expect(names((await by("mira", "GET", "/orgs/dusk/members")).json)).toEqual(["mira", "nora"]);
    // Who is no member is hidden again.
    expect(await status("mira", "DELETE", "/orgs/dusk/members/shade")).toBe(404);
    expect(await status("mira", "PUT", `/teams/${id}/members/umbra`)).toBe(404);
  });

  test("a team is visible according to visibility and membership", async () => {
    await newOrganization("halls");
    const ids: Record<string, number> = {};
    for (const visibility of ["public", "limited", "private"])
      ids[visibility] = await newTeam("halls", {
        name: visibility,
        visibility,
        permission: "admin",
      });
    await by("mira", "PUT", `/teams/${ids["limited"]}/members/nora`);
    const list = async (user: string) => names((await by(user, "GET", "/orgs/halls/teams")).json);
    expect(await list("mira")).toEqual(["Owners", "limited", "private", "public"]);
    expect(await list("nora")).toEqual(["limited", "public"]);
    expect(await list("otto")).toEqual(["public"]);
    expect((await by("", "GET", "/orgs/halls/teams")).status).toBe(401);
    const status = async (user: string, team: string) =>
      (await by(user, "GET", `/teams/${ids[team]}`)).status;
    expect(await status("nora", "private")).toBe(403);
    expect(await status("otto", "private")).toBe(404);
    expect(await status("otto", "public")).toBe(200);
    expect((await by("otto", "GET", `/teams/${ids["public"]}/members`)).status).toBe(404);
    expect((await by("nora", "GET", `/teams/${ids["limited"]}/members/nora`)).status).toBe(200);
    for (const user of ["nora", "otto"]) {
      expect((await by(user, "PATCH", `/teams/${ids["public"]}`, { name: "x" })).status).toBe(403);
      expect((await by(user, "DELETE", `/teams/${ids["public"]}`)).status).toBe(403);
      expect((await by(user, "PUT", `/teams/${ids["public"]}/members/otto`)).status).toBe(403);
    }
    const search = async (query: string) =>
      names((await by("mira", "GET", `/orgs/halls/teams/search?q=${query}`)).json.data);
    expect(await search("LIM")).toEqual(["limited"]);
    expect(await search("%25")).toEqual([]);
    expect(names((await by("nora", "GET", "/user/teams?limit=50")).json)).toContain("limited");
  });

  test("a user who leaves the last team is no longer a member", async () => {
    await newOrganization("brief");
    const one = await newTeam("brief", { name: "one", permission: "admin" });
    const two = await newTeam("brief", { name: "two", permission: "admin" });
    for (const team of [one, two]) await by("mira", "PUT", `/teams/${team}/members/nora`);
    const isMember = async () =>
      (await by("mira", "GET", "/orgs/brief/members/nora")).status === 204;
    expect((await by("nora", "DELETE", `/teams/${one}/members/nora`)).status).toBe(204);
    expect(await isMember()).toBe(true);
    expect((await by("mira", "DELETE", `/teams/${two}`)).status).toBe(204);
    expect(await isMember()).toBe(false);
    // An id of a deleted team never names another one.
    expect(await newTeam("brief", { name: "three", permission: "admin" })).toBeGreaterThan(two);
  });
});
