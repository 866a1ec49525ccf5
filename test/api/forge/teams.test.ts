import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { api, by } = people;

/** Members of teams of the organization `works`, by their team's permission on its private repository `shed`. */
const members = {
  coder: { code: "write", issues: "none" },
  reader: { code: "read", issues: "none" },
  helper: { code: "none", issues: "write" },
  manager: { code: "admin", issues: "admin" },
  // In a team without the repository.
  elsewhere: { code: "none", issues: "none" },
  "restricted-coder": { code: "write", issues: "none" },
  // Not in the organization.
  outsider: { code: "none", issues: "none" },
  "restricted-outsider": { code: "none", issues: "none" },
} as const;
type MemberName = keyof typeof members;
const names = Object.keys(members) as MemberName[];
const shed = "/repos/works/shed";
const order = ["none", "read", "write", "admin", "owner"];
const reaches = (level: string, needed: string) => order.indexOf(level) >= order.indexOf(needed);

const teamFields: Readonly<Record<string, object>> = {
  coder: { units_map: { "repo.code": "write" } },
  reader: { units_map: { "repo.code": "read" } },
  helper: { units_map: { "repo.issues": "write" } },
  manager: { permission: "admin" },
  elsewhere: { permission: "admin" },
};
const ids: Record<string, number> = {};

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("olga");
  for (const name of names)
    await people.newUser(name, { restricted: name.startsWith("restricted") });
  expect((await by("olga", "POST", "/orgs", { username: "works" })).status).toBe(201);
  for (const name of ["shed", "barn"]) {
    const repository = { name, private: true, auto_init: true };
    expect((await by("olga", "POST", "/orgs/works/repos", repository)).status).toBe(201);
  }
  for (const [name, fields] of Object.entries(teamFields)) {
    const made = await by("olga", "POST", "/orgs/works/teams", { name, ...fields });
    expect(made.status, made.text).toBe(201);
    ids[name] = made.json.id;
    const repository = name === "elsewhere" ? "barn" : "shed";
    const path = `/teams/${ids[name]}/repos/works/${repository}`;
    expect((await by("olga", "PUT", path)).status).toBe(204);
    for (const user of names.filter((each) => each.replace("restricted-", "") === name))
      expect((await by("olga", "PUT", `/teams/${ids[name]}/members/${user}`)).status).toBe(204);
  }
  expect((await by("olga", "POST", `${shed}/issues`, { title: "Roof" })).status).toBe(201);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

describe("the matrix of teams and a private repository", () => {
  const rows: readonly (readonly [
    string,
    string,
    object | undefined,
    "code" | "issues",
    string,
  ])[] = [
    ["GET", `${shed}/commits/main/status`, undefined, "code", "read"],
    ["POST", `${shed}/statuses/main`, { state: "success" }, "code", "write"],
    ["GET", `${shed}/issues`, undefined, "issues", "read"],
    ["GET", `${shed}/issues/1`, undefined, "issues", "read"],
    ["POST", `${shed}/issues`, { title: "Door" }, "issues", "read"],
    ["PATCH", `${shed}/issues/1`, { title: "Roof" }, "issues", "write"],
    ["PATCH", shed, { description: "A shed" }, "code", "admin"],
    ["GET", `${shed}/hooks`, undefined, "code", "admin"],
    ["PUT", `${shed}/collaborators/olga2`, {}, "code", "admin"],
  ];

  test.each(rows)(
    "a private repository admits only team members with the needed permission: %s %s",
    async (method, path, body, unit, needed) => {
      for (const name of names) {
        const level = members[name][unit];
        const { status } = await by(name, method, path, body);
        const isKnown = members[name].code !== "none" || members[name].issues !== "none";
        if (reaches(level, needed))
          expect([name, status >= 200 && status !== 403 && status !== 404]).toEqual([name, true]);
        else if (reaches(level, "read")) expect([name, status]).toEqual([name, 403]);
        // Administration is refused to a member who sees the repository; another unit is not found.
        else expect([name, status]).toEqual([name, isKnown && needed === "admin" ? 403 : 404]);
      }
    },
  );

  test("a repository shows the viewer's permissions on its code", async () => {
    for (const name of names) {
      const { code, issues } = members[name];
      const answer = await by(name, "GET", shed);
      if (code === "none" && issues === "none") {
        expect([name, answer.status]).toEqual([name, 404]);
        continue;
      }
      expect([name, answer.status]).toEqual([name, 200]);
      expect(answer.json.permissions).toEqual({
        admin: reaches(code, "admin"),
        push: reaches(code, "write"),
        pull: reaches(code, "read"),
      });
      const listed = await by(name, "GET", "/user/repos");
      expect(listed.json.map((each: { full_name: string }) => each.full_name)).toEqual([
        "works/shed",
      ]);
      const found = await by(name, "GET", "/repos/search?q=shed");
      expect(found.json.data).toHaveLength(1);
    }
    const own = await by("elsewhere", "GET", "/user/repos");
    expect(own.json).toMatchObject([{ full_name: "works/barn" }]);
    expect((await by("elsewhere", "GET", "/repos/search?q=shed")).json.data).toEqual([]);
  });

  test.each(names)("clone and push over git have the team permission of %s", async (name) => {
    const address = new URL(`${daemon.url}/works/shed.git`);
    address.username = name;
    address.password = people.tokenOf(name);
    const cloned = await git.run("clone", "-q", address.href, name);
    expect(cloned.exitCode === 0).toBe(reaches(members[name].code, "read"));
    if (cloned.exitCode !== 0) return;
    await git.in(name, "commit", "-q", "--allow-empty", "-m", name);
    const pushed = await git.in(name, "push", "-q", "origin", `HEAD:refs/heads/by-${name}`);
    expect(pushed.exitCode === 0).toBe(reaches(members[name].code, "write"));
  });

  test("notifications of an issue are sent only to users who may read issues", async () => {
    for (const name of ["coder", "helper"])
      expect((await by(name, "PUT", `${shed}/subscription`)).status).toBe(200);
    await by("olga", "POST", `${shed}/issues`, { title: "Window @coder @helper" });
    const titles = async (user: string) =>
      (await by(user, "GET", "/notifications?subject-type=issue")).json.map(
        ({ subject }: { subject: { title: string } }) => subject.title,
      );
    await expect
      .poll(() => titles("helper"), { timeout: 60_000 })
      .toContain("Window @coder @helper");
    expect(await titles("coder")).toEqual([]);
  });
});

describe("repositories of teams", () => {
  test("owners add repositories to teams and remove them, repository administrators only if the organization allows it", async () => {
    const path = `/teams/${ids["reader"]}/repos/works/barn`;
    expect((await by("manager", "PUT", path)).status).toBe(403);
    const own = `/teams/${ids["manager"]}/repos/works/shed`;
    expect((await by("manager", "DELETE", own)).status).toBe(403);
    expect((await by("coder", "DELETE", own)).status).toBe(403);
    expect((await by("olga", "PUT", path)).status).toBe(204);
    expect((await by("olga", "GET", path)).json.full_name).toBe("works/barn");
    // The route has the scope of organizations, and its answer that of repositories.
    const narrow = await people.newToken("olga", ["read:organization"]);
    expect((await api("GET", path, undefined, narrow)).status).toBe(403);
    expect((await by("reader", "GET", "/repos/works/barn")).status).toBe(200);
    const listed = await by("reader", "GET", `/teams/${ids["reader"]}/repos`);
    expect(listed.json.map((each: { name: string }) => each.name)).toEqual(["barn", "shed"]);
    expect((await by("olga", "DELETE", path)).status).toBe(204);
    expect((await by("reader", "GET", "/repos/works/barn")).status).toBe(404);
    expect((await by("olga", "GET", path)).status).toBe(404);
    expect((await by("olga", "PUT", `/teams/${ids["reader"]}/repos/olga/barn`)).status).toBe(404);

    const teams = async () =>
      (await by("manager", "GET", `${shed}/teams`)).json.map((team: { name: string }) => team.name);
    expect(await teams()).toEqual(["Owners", "coder", "helper", "manager", "reader"]);
    expect((await by("olga", "PUT", `${shed}/teams/elsewhere`)).status).toBe(204);
    expect((await by("olga", "PUT", `${shed}/teams/elsewhere`)).status).toBe(422);
    expect((await by("elsewhere", "GET", shed)).status).toBe(200);
    expect((await by("olga", "DELETE", `${shed}/teams/elsewhere`)).status).toBe(204);
    expect((await by("elsewhere", "GET", shed)).status).toBe(404);
    expect((await by("manager", "PUT", `${shed}/teams/elsewhere`)).status).toBe(403);
    await by("olga", "PATCH", "/orgs/works", { repo_admin_change_team_access: true });
    expect((await by("manager", "PUT", `${shed}/teams/elsewhere`)).status).toBe(204);
    expect((await by("manager", "DELETE", `${shed}/teams/elsewhere`)).status).toBe(204);
  });

  test("a team that includes all repositories has new ones, and is found by a search by team", async () => {
    const made = await by("olga", "POST", "/orgs/works/teams", {
      name: "everything",
      units: ["repo.code"],
      permission: "read",
      includes_all_repositories: true,
      can_create_org_repo: true,
    });
    await people.newUser("newcomer");
    await by("olga", "PUT", `/teams/${made.json.id}/members/newcomer`);
    expect((await by("newcomer", "GET", shed)).json.permissions.push).toBe(false);
    // A member who creates a repository administers it, whatever the team may do with others.
    const own = await by("newcomer", "POST", "/orgs/works/repos", { name: "nest", private: true });
    expect(own.json.permissions).toEqual({ admin: true, push: true, pull: true });
    expect((await by("coder", "POST", "/orgs/works/repos", { name: "no" })).status).toBe(403);
    const found = await by("newcomer", "GET", `/repos/search?team_id=${made.json.id}`);
    expect(found.json.data.map((each: { name: string }) => each.name)).toEqual([
      "barn",
      "nest",
      "shed",
    ]);
  });

  test("a search for issues in the repositories of a team finds those that the caller may read", async () => {
    const [team] = (await by("olga", "GET", "/orgs/works/teams/search?q=reader")).json.data;
    await by("olga", "POST", "/repos/works/shed/issues", { title: "in the shed" });
    await by("olga", "POST", "/repos/works/barn/issues", { title: "in the barn" });
    const titles = async (user: string, query: string) => {
      const found = await by(user, "GET", `/repos/issues/search?q=in%20the&${query}`);
      return found.status === 200
        ? found.json.map(({ title }: { title: string }) => title)
        : [found.status, found.json.message];
    };
    expect(await titles("olga", "owner=works")).toEqual(["in the barn", "in the shed"]);
    expect(await titles("olga", `owner=works&team=${team.name}`)).toEqual(["in the shed"]);
    expect(await titles("reader", `owner=works&team=${team.name}`)).toEqual([]);
    expect(await titles("outsider", `owner=works&team=${team.name}`)).toEqual([
      400,
      expect.stringContaining("team does not exist"),
    ]);
    expect((await titles("olga", "owner=works&team=none"))[0]).toBe(400);
    expect((await titles("olga", "team=none"))[0]).toBe(400);
  });

  test("a public-only token neither gives a private repository to a team nor takes it", async () => {
    const token = await people.newToken("olga", ["public-only", "write:organization"]);
    const status = async (method: string, repository: string) => {
      const path = `/teams/${ids["reader"]}/repos/works/${repository}`;
      return (await api(method, path, undefined, token)).status;
    };
    expect(await status("PUT", "barn")).toBe(404);
    expect(await status("DELETE", "shed")).toBe(404);
    await by("olga", "POST", "/orgs/works/repos", { name: "gate" });
    expect(await status("PUT", "gate")).toBe(204);
    expect(await status("DELETE", "gate")).toBe(204);
  });

  test("a transferred repository is removed from the teams of the organization and added to those of the offer", async () => {
    const repository = { name: "cart", private: true };
    await by("olga", "POST", "/orgs/works/repos", repository);
    await by("olga", "PUT", `/teams/${ids["reader"]}/repos/works/cart`);
    await by("olga", "POST", "/orgs", { username: "yard" });
    const team = await by("olga", "POST", "/orgs/yard/teams", {
      name: "carters",
      permission: "admin",
    });
    await by("olga", "PUT", `/teams/${team.json.id}/members/coder`);
    expect((await by("reader", "GET", "/repos/works/cart")).status).toBe(200);
    const moved = await by("olga", "POST", "/repos/works/cart/transfer", {
      new_owner: "yard",
      team_ids: [team.json.id],
    });
    expect(moved.status, moved.text).toBe(202);
    expect((await by("reader", "GET", "/repos/yard/cart")).status).toBe(404);
    expect((await by("coder", "GET", "/repos/yard/cart")).status).toBe(200);
  });

  test("a member who loses the last team stops watching and is unassigned", async () => {
    await people.newUser("leaver");
    for (const team of ["coder", "helper"])
      await by("olga", "PUT", `/teams/${ids[team]}/members/leaver`);
    await by("leaver", "PUT", `${shed}/subscription`);
    await by("olga", "PATCH", `${shed}/issues/1`, { assignees: ["leaver"] });
    await by("olga", "DELETE", `/teams/${ids["helper"]}/members/leaver`);
    expect((await by("olga", "GET", `${shed}/issues/1`)).json.assignees).toBeNull();
    expect((await by("leaver", "GET", `${shed}/subscription`)).status).toBe(200);
    await by("olga", "DELETE", "/orgs/works/members/leaver");
    expect((await by("leaver", "GET", shed)).status).toBe(404);
    await by("olga", "PUT", `/teams/${ids["coder"]}/members/leaver`);
    expect((await by("leaver", "GET", `${shed}/subscription`)).status).toBe(404);
  });

  test("an organization with repositories is not deleted", async () => {
    const refused = await by("olga", "DELETE", "/orgs/works");
    expect(refused.status).toBe(422);
    expect(refused.json.message).toContain("user still has ownership of repositories");
  });
});

test("packages of an organization have the permission of the teams' unit", async () => {
  await by("olga", "PATCH", "/orgs/works", { visibility: "private" });
  const made = await by("olga", "POST", "/orgs/works/teams", {
    name: "shippers",
    units_map: { "repo.packages": "write" },
  });
  await people.newUser("shipper");
  await by("olga", "PUT", `/teams/${made.json.id}/members/shipper`);
  const put = (user: string, file: string) =>
    daemon.request(`/api/packages/works/generic/box/1/${file}`, {
      method: "PUT",
      token: people.tokenOf(user),
      body: "content",
    });
  expect((await put("shipper", "lid")).status).toBe(201);
  expect((await put("coder", "lid2")).status).toBe(403);
  expect((await put("outsider", "lid3")).status).toBe(404);
  await api("PATCH", "/orgs/works", { visibility: "public" });
});
