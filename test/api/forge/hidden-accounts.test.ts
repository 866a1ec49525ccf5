import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Public data must not reveal the names or the existence of accounts and teams that are hidden from the caller.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by } = people;
/** A public repository of a public organization, in which `hermit` (private) and `mira` take part. */
const REPOSITORY = "/repos/club/hall";
const OUTSIDERS = ["otto", "rita", ""] as const;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto", "rita"]) await people.newUser(name);
  await people.newUser("hermit", { visibility: "private" });
  await people.newUser("shy", { visibility: "limited" });
  await api("PATCH", "/admin/users/rita", { source_id: 0, login_name: "rita", restricted: true });
  const made = async (answer: ReturnType<typeof api>) => {
    const { status, text } = await answer;
    expect(text + String(status)).toMatch(/20\d$/);
  };
  await made(by("mira", "POST", "/orgs", { username: "club" }));
  await made(by("mira", "POST", "/orgs/club/repos", { name: "hall", auto_init: true }));
  const team = (name: string, visibility: string) =>
    by("mira", "POST", "/orgs/club/teams", {
      name,
      visibility,
      units_map: { "repo.code": "write", "repo.issues": "write" },
      includes_all_repositories: true,
    });
  const secret = (await team("conspirators", "private")).json;
  await made(team("greeters", "public"));
  await made(api("PUT", `/teams/${secret.id}/members/hermit`));
  await made(by("hermit", "PUT", "/orgs/club/public_members/hermit"));
  await made(api("PUT", `${REPOSITORY}/collaborators/hermit`, { permission: "write" }));
  await made(by("mira", "POST", `${REPOSITORY}/issues`, { title: "one" }));
  await made(by("hermit", "PUT", `${REPOSITORY}/issues/1/subscriptions/hermit`));
  await made(by("mira", "PUT", `${REPOSITORY}/issues/1/subscriptions/mira`));
  const content = Buffer.from("x").toString("base64");
  const author = { name: "H", email: "hermit@example.org" };
  await made(by("mira", "POST", `${REPOSITORY}/contents/x`, { content, author }));
});
afterAll(() => daemon[Symbol.asyncDispose]());

const as = (caller: string, method: string, path: string, json?: unknown) =>
  caller === "" ? api(method, path, json, "") : by(caller, method, path, json);

describe("lists", () => {
  test.each([
    `${REPOSITORY}/collaborators`,
    `${REPOSITORY}/issues/1/subscriptions`,
    `${REPOSITORY}/commits`,
    `${REPOSITORY}/branches`,
    `${REPOSITORY}/assignees`,
    `${REPOSITORY}/teams`,
    `${REPOSITORY}/activities/feeds`,
    "/orgs/club/activities/feeds",
    "/orgs/club/public_members",
    "/orgs/club/members",
    "/orgs/club/teams",
  ])("%s names neither a private account nor a private team to outsiders", async (path) => {
    for (const caller of OUTSIDERS) {
      const { status, text, headers } = await as(caller, "GET", path);
      expect([200, 401]).toContain(status);
      // An address in a commit is public; the account that has it is not.
      const shown = text.replaceAll("hermit@example.org", "");
      expect(shown).not.toMatch(/hermit|conspirators/);
      if (/collaborators|members/.test(path) && status === 200)
        expect(Number(headers.get("x-total-count"))).toBe(JSON.parse(text).length);
    }
  });

  test("owners, members and the account itself still see a private account in lists", async () => {
    const names = async (caller: string, path: string) => (await as(caller, "GET", path)).text;
    expect(await names("mira", `${REPOSITORY}/collaborators`)).toContain("hermit");
    expect(await names("mira", `${REPOSITORY}/teams`)).toContain("conspirators");
    expect(await names("hermit", `${REPOSITORY}/teams`)).toContain("conspirators");
    expect((await by("hermit", "GET", `${REPOSITORY}/teams/conspirators`)).status).toBe(200);
    expect(await names("hermit", "/orgs/club/public_members")).toContain("hermit");
    expect(await names("mira", "/orgs/club/members")).toContain("hermit");
    expect((await by("hermit", "GET", `${REPOSITORY}/commits`)).json[0].author.login).toBe(
      "hermit",
    );
    expect((await by("mira", "GET", `${REPOSITORY}/issues/1/subscriptions`)).json).toHaveLength(1);
  });
});

describe("a question about one name", () => {
  test.each([
    ["GET", "/users/NAME"],
    ["GET", "/users/NAME/repos"],
    ["GET", "/users/NAME/orgs"],
    ["GET", "/users/NAME/followers"],
    ["GET", "/users/NAME/starred"],
    ["GET", "/users/NAME/heatmap"],
    ["GET", "/users/NAME/activities/feeds"],
    ["GET", "/users/NAME/tokens"],
    ["GET", "/users/NAME/orgs/club/permissions"],
    ["GET", "/user/following/NAME"],
    ["PUT", "/user/following/NAME"],
    ["GET", "/orgs/club/members/NAME"],
    ["GET", "/orgs/club/public_members/NAME"],
    ["GET", `${REPOSITORY}/collaborators/NAME`],
    ["GET", `${REPOSITORY}/collaborators/NAME/permission`],
    ["GET", `${REPOSITORY}/issues?created_by=NAME`],
    ["GET", `${REPOSITORY}/issues?assigned_by=NAME`],
    ["GET", `${REPOSITORY}/actions/runs?actor=NAME`],
    ["GET", "/repos/issues/search?owner=NAME"],
    ["GET", `${REPOSITORY}/teams/NAME`],
    ["PUT", `${REPOSITORY}/issues/1/subscriptions/NAME`],
    ["GET", "/packages/NAME/generic/box/1"],
    ["GET", "/repos/NAME/any"],
    ["GET", "/orgs/NAME"],
  ])("%s %s has the same response for a hidden and a free name", async (method, path) => {
    for (const caller of OUTSIDERS)
      for (const hidden of caller === "otto" ? ["hermit"] : ["hermit", "shy"]) {
        const ask = async (name: string) => {
          const answer = await as(caller, method, path.replace("NAME", name));
          return [answer.status, answer.text.replaceAll(name, "NAME")];
        };
        expect([caller, await ask(hidden)]).toEqual([caller, await ask("nobody-has-this")]);
      }
  });

  test("a former name of a private account does not redirect outsiders", async () => {
    await people.newUser("before", { visibility: "private" });
    const renamed = await api("POST", "/admin/users/before/rename", { new_username: "after" });
    expect(renamed.status).toBe(204);
    for (const caller of OUTSIDERS) {
      const answer = await as(caller, "GET", "/users/before");
      expect([answer.status, answer.headers.get("location")]).toEqual([404, null]);
    }
    const own = await fetch(`${daemon.url}/api/v1/users/before`, {
      redirect: "manual",
      headers: { Authorization: `token ${people.admin}` },
    });
    expect([own.status, own.headers.get("location")]).toEqual([307, "/api/v1/users/after"]);
  });
});

test("a member of a private organization opens its page, an outsider does not", async () => {
  await by("mira", "POST", "/orgs", { username: "lodge", visibility: "private" });
  expect((await by("mira", "GET", "/users/lodge")).status).toBe(200);
  expect((await by("otto", "GET", "/users/lodge")).status).toBe(404);
});
