import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { api, by } = people;

/** The callers of the matrix. `hut` is private and belongs to `olga`. */
const levels = {
  anonymous: "none",
  outsider: "none",
  "restricted outsider": "none",
  reader: "read",
  "restricted reader": "read",
  writer: "write",
  admin: "admin",
  olga: "owner",
  "site administrator": "owner",
} as const;
type CallerName = keyof typeof levels;
const callers = Object.keys(levels) as CallerName[];
const nameOf = (caller: CallerName) => caller.replaceAll(" ", "-");
const hut = "/repos/olga/hut";
const put = (user: string, permission: string | undefined, path = hut) =>
  by("olga", "PUT", `${path}/collaborators/${user}`, { permission });

const tokenOf = (caller: CallerName) =>
  caller === "anonymous"
    ? ""
    : caller === "site administrator"
      ? people.admin
      : people.tokenOf(nameOf(caller));

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const caller of callers)
    if (caller !== "anonymous" && caller !== "site administrator")
      await people.newUser(nameOf(caller), { restricted: caller.startsWith("restricted") });
  const made = await by("olga", "POST", "/user/repos", {
    name: "hut",
    private: true,
    auto_init: true,
  });
  expect(made.status).toBe(201);
  for (const caller of callers)
    if (["read", "write", "admin"].includes(levels[caller]))
      expect((await put(nameOf(caller), levels[caller])).status).toBe(204);
  await by("olga", "POST", `${hut}/issues`, { title: "Roof" });
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const order = ["none", "read", "write", "admin", "owner"];
const reaches = (caller: CallerName, needed: string) =>
  order.indexOf(levels[caller]) >= order.indexOf(needed);

/** The permission that each route needs, and its status for a caller with read access only. */
const rows: readonly (readonly [
  method: string,
  path: string,
  body: object | undefined,
  needed: string,
  success: number,
  refused: number,
])[] = [
  ["GET", hut, undefined, "read", 200, 0],
  ["GET", `${hut}/issues`, undefined, "read", 200, 0],
  ["GET", `${hut}/issues/1`, undefined, "read", 200, 0],
  ["POST", `${hut}/issues`, { title: "Door" }, "read", 201, 0],
  ["PATCH", `${hut}/issues/1`, { title: "Roof" }, "write", 201, 403],
  ["PATCH", hut, { description: "A hut" }, "admin", 200, 403],
  ["GET", `${hut}/hooks`, undefined, "admin", 200, 403],
  ["GET", `${hut}/collaborators`, undefined, "read", 200, 0],
  ["GET", `${hut}/collaborators/writer`, undefined, "read", 204, 0],
  ["PUT", `${hut}/collaborators/writer`, { permission: "write" }, "admin", 204, 403],
  ["DELETE", `${hut}/collaborators/outsider`, undefined, "admin", 204, 403],
  ["GET", `${hut}/collaborators/olga/permission`, undefined, "admin", 200, 403],
  ["POST", `${hut}/statuses/main`, { state: "success" }, "write", 201, 403],
  ["GET", `${hut}/commits/main/status`, undefined, "read", 200, 0],
  ["GET", `${hut}/subscription`, undefined, "read", 200, 404],
  ["POST", `${hut}/transfer`, { new_owner: "olga2" }, "owner", 404, 403],
];

describe("the matrix of a private repository", () => {
  test.each(rows)(
    "a private repository admits only callers with the needed permission: %s %s",
    async (method, path, body, needed, success, refused) => {
      for (const caller of callers) {
        const answer = await api(method, path, body, tokenOf(caller));
        const { status } = answer;
        // Callers who may not read the repository do not learn that it exists.
        if (!reaches(caller, "read")) expect([caller, status]).toEqual([caller, 404]);
        else if (path.endsWith("/subscription"))
          expect([caller, [success, refused]].flat()).toContain(status);
        else
          expect([caller, status]).toEqual([caller, reaches(caller, needed) ? success : refused]);
      }
    },
  );

  test.each(callers)("clone and push over git have the permission of %s", async (caller) => {
    const address = new URL(`${daemon.url}/olga/hut.git`);
    address.username = nameOf(caller);
    address.password = tokenOf(caller);
    const folder = nameOf(caller);
    const cloned = await git.run("clone", "-q", address.href, folder);
    expect(cloned.exitCode === 0).toBe(reaches(caller, "read"));
    if (cloned.exitCode !== 0) return;
    const commit = await git.in(folder, "commit", "-q", "--allow-empty", "-m", caller);
    expect(commit).toMatchObject({ exitCode: 0 });
    const pushed = await git.in(folder, "push", "-q", "origin", `HEAD:refs/heads/by-${folder}`);
    expect(pushed.exitCode === 0).toBe(reaches(caller, "write"));
  });

  test("a private repository shows every caller their own permission", async () => {
    for (const caller of callers) {
      if (caller === "anonymous" || caller === "site administrator") continue;
      const path = `${hut}/collaborators/${nameOf(caller)}/permission`;
      const own = await api("GET", path, undefined, tokenOf(caller));
      if (!reaches(caller, "read")) expect([caller, own.status]).toEqual([caller, 404]);
      else
        expect(own).toMatchObject({
          status: 200,
          json: {
            permission: levels[caller],
            role_name: levels[caller],
            user: { login: nameOf(caller) },
          },
        });
    }
  });

  test("lists contain a private repository for its readers", async () => {
    const names = (answer: Awaited<ReturnType<typeof api>>) =>
      (answer.json.data ?? answer.json).map((each: { full_name: string }) => each.full_name);
    for (const caller of callers) {
      const found = names(await api("GET", "/repos/search?q=hut", undefined, tokenOf(caller)));
      expect([caller, found]).toEqual([caller, reaches(caller, "read") ? ["olga/hut"] : []]);
      if (caller === "anonymous" || caller === "site administrator") continue;
      const own = await by(nameOf(caller), "GET", "/user/repos");
      expect([caller, names(own)]).toEqual([caller, found]);
      expect(own.headers.get("x-total-count")).toBe(String(found.length));
    }
  });

  test("a public-only token does not reach a private repository, even with its owner's access", async () => {
    for (const user of ["reader", "admin", "olga"]) {
      const token = await people.newToken(user, ["public-only", "all"]);
      for (const path of [hut, `${hut}/collaborators`, `${hut}/issues`])
        expect((await api("GET", path, undefined, token)).status).toBe(404);
      expect((await api("GET", "/user/repos", undefined, token)).json).toEqual([]);
    }
    const read = await people.newToken("admin", ["read:repository"]);
    const change = await api("PUT", `${hut}/collaborators/writer`, {}, read);
    expect(change.status).toBe(403);
  });
});

describe("collaborators", () => {
  const shed = "/repos/olga/shed";
  beforeAll(async () => {
    await by("olga", "POST", "/user/repos", { name: "shed", private: true });
  });

  test("collaborators are listed as users, counted, and changed in place", async () => {
    for (const user of ["writer", "reader"])
      expect((await put(user, undefined, shed)).status).toBe(204);
    expect((await put("writer", "admin", shed)).status).toBe(204);
    const listed = await by("olga", "GET", `${shed}/collaborators?limit=1`);
    expect(listed.headers.get("x-total-count")).toBe("2");
    expectWireShape("User", listed.json[0]);
    const permission = await by("olga", "GET", `${shed}/collaborators/reader/permission`);
    expect(permission.json.permission).toBe("write");
    const changed = await by("olga", "GET", `${shed}/collaborators/WRITER/permission`);
    expect(changed.json.permission).toBe("admin");
  });

  test("adding an account that cannot be a collaborator is 422", async () => {
    await people.newUser("secretive", { visibility: "private" });
    await people.newUser("inactive");
    const edit = { source_id: 0, login_name: "inactive", active: false };
    await api("PATCH", "/admin/users/inactive", edit);
    await api("POST", "/admin/users/olga/orgs", { username: "union" });
    for (const user of ["nobody", "olga", "union", "inactive", "secretive"])
      expect([user, (await put(user, "read", shed)).status]).toEqual([user, 422]);
    for (const permission of ["owner", "none", "odd", "READ"])
      expect([permission, (await put("outsider", permission, shed)).status]).toEqual([
        permission,
        422,
      ]);
    expect((await by("olga", "GET", `${shed}/collaborators/nobody`)).status).toBe(422);
    expect((await by("olga", "GET", `${shed}/collaborators/outsider`)).status).toBe(404);
    const unknown = await by("olga", "GET", `${shed}/collaborators/nobody/permission`);
    expect(unknown.status).toBe(404);
  });

  test("a collaborator who hides from others stays one whom administrators see, change and remove", async () => {
    await people.newUser("shy");
    expect((await put("shy", "write", shed)).status).toBe(204);
    const hidden = { source_id: 0, login_name: "shy", visibility: "private" };
    expect((await api("PATCH", "/admin/users/shy", hidden)).status).toBe(200);
    const path = `${shed}/collaborators/shy`;
    expect((await by("olga", "GET", path)).status).toBe(204);
    expect((await put("shy", "read", shed)).status).toBe(204);
    const permission = await by("olga", "GET", `${path}/permission`);
    expect(permission.json.permission).toBe("read");
    expect((await by("reader", "GET", path)).status).toBe(422);
    expect((await by("olga", "DELETE", path)).status).toBe(204);
    expect((await by("shy", "GET", shed)).status).toBe(404);
    expect((await by("olga", "DELETE", path)).status).toBe(422);
    expect((await put("shy", "read", shed)).status).toBe(422);
  });

  test("a removed collaborator loses the repository, its watch, assignments and the content of its notifications at once", async () => {
    expect((await put("outsider", "write", shed)).status).toBe(204);
    expect((await by("outsider", "PUT", `${shed}/subscription`)).status).toBe(200);
    const issue = await by("olga", "POST", `${shed}/issues`, {
      title: "Floor",
      assignees: ["outsider"],
    });
    expect(issue.json.assignees).toMatchObject([{ login: "outsider" }]);
    const notified = async () => (await by("outsider", "GET", "/notifications?all=true")).json;
    await expect.poll(notified).not.toEqual([]);
    const path = `${shed}/collaborators/outsider`;
    expect((await by("olga", "DELETE", path)).status).toBe(204);
    expect((await by("olga", "DELETE", path)).status).toBe(204);
    expect((await by("outsider", "GET", shed)).status).toBe(404);
    const after = await by("olga", "GET", `${shed}/issues/${issue.json.number}`);
    expect(after.json.assignees).toBe(null);
    const repository = await by("olga", "GET", shed);
    expect(repository.json.watchers_count).toBe(1);
    for (const thread of (await by("outsider", "GET", "/notifications?all=true")).json)
      expect(thread).toMatchObject({ repository: null, subject: null });
  });

  test("collaborators are removed with their account, and a new owner stops being a collaborator", async () => {
    await people.newUser("passing");
    await put("passing", "read", shed);
    expect((await api("DELETE", "/admin/users/passing?purge=true")).status).toBe(204);
    const names = async (path: string) =>
      (await api("GET", `${path}/collaborators`)).json.map((user: { login: string }) => user.login);
    expect(await names(shed)).not.toContain("passing");
    expect((await api("POST", `${shed}/transfer`, { new_owner: "writer" })).status).toBe(202);
    expect(await names("/repos/writer/shed")).toEqual(["reader"]);
    expect((await by("olga", "GET", "/repos/writer/shed")).status).toBe(404);
    expect((await by("reader", "GET", "/repos/writer/shed")).status).toBe(200);
  });
});
