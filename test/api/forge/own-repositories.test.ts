import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape, omittedOfRepository } from "../../support/forge/forge-wire.ts";

const omitted = [...omittedOfRepository, "repo_transfer"];

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "nora"]) await people.newUser(name);
  await people.newUser("rest", { restricted: true });
  await people.newUser("shy", { visibility: "limited" });
  await people.newUser("hid", { visibility: "private" });
  const org = (username: string, visibility: string) =>
    api("POST", "/admin/users/mira/orgs", { username, visibility });
  for (const visibility of ["public", "limited", "private"])
    expect((await org(`guild-${visibility}`, visibility)).status).toBe(201);
});
afterAll(() => daemon[Symbol.asyncDispose]());

describe("creating one's own", () => {
  test("a user creates a repository and owns it", async () => {
    const answer = await by("mira", "POST", "/user/repos", {
      name: "notes",
      private: true,
      auto_init: true,
    });
    expect(answer.status).toBe(201);
    expectWireShape("Repository", answer.json, omitted);
    expect(answer.json).toMatchObject({
      full_name: "mira/notes",
      private: true,
      empty: false,
      permissions: { admin: true, push: true, pull: true },
    });
    expect((await by("nora", "GET", "/repos/mira/notes")).status).toBe(404);
    expect((await by("mira", "POST", "/user/repos", { name: "Notes" })).status).toBe(409);
    expect((await by("mira", "POST", "/user/repos", { name: "a b" })).status).toBe(422);
    expect((await by("mira", "POST", "/user/repos", { name: ".." })).status).toBe(422);
    expect((await api("POST", "/user/repos", { name: "x" }, "")).status).toBe(401);
  });

  test("the repository limit of an account applies to concurrent requests, but not to administrators", async () => {
    await people.newUser("few");
    const edit = { source_id: 0, login_name: "few", max_repo_creation: 2 };
    expect((await api("PATCH", "/admin/users/few", edit)).status).toBe(200);
    const answers = await Promise.all(
      ["a", "b", "c", "d"].map((name) => by("few", "POST", "/user/repos", { name })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 403, 403]);
    expect((await by("few", "POST", "/user/repos", { name: "e" })).json.message).toBe(
      "user has reached maximum limit of repositories [limit: 2]",
    );
    expect((await api("POST", "/admin/users/few/repos", { name: "f" })).status).toBe(201);
  });

  test("a token needs write:repository, and a public-only one creates no private repository", async () => {
    const read = await people.newToken("mira", ["read:repository"]);
    expect((await api("POST", "/user/repos", { name: "x" }, read)).status).toBe(403);
    const open = await people.newToken("mira", ["public-only", "write:repository"]);
    const secret = { name: "secret", private: true };
    expect((await api("POST", "/user/repos", secret, open)).status).toBe(403);
    expect((await api("POST", "/orgs/guild-limited/repos", { name: "x" }, open)).status).toBe(403);
    expect((await api("POST", "/user/repos", { name: "open" }, open)).status).toBe(201);
    const shy = await people.newToken("shy", ["public-only", "write:repository"]);
    expect((await api("POST", "/user/repos", { name: "x" }, shy)).status).toBe(403);
  });
});

describe("creating in an organization", () => {
  test("owners of an organization create repositories in it, others may not, and a hidden one is 404", async () => {
    const path = "/orgs/guild-public/repos";
    const made = await by("mira", "POST", path, { name: "tools" });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      full_name: "guild-public/tools",
      permissions: { admin: true },
    });
    expect(await by("nora", "POST", path, { name: "x" })).toMatchObject({
      status: 403,
      json: { message: "Given user is not allowed to create repository in organization." },
    });
    expect((await by("nora", "POST", "/orgs/guild-private/repos", { name: "x" })).status).toBe(404);
    expect((await by("mira", "POST", "/orgs/nobody/repos", { name: "x" })).status).toBe(404);
    expect((await by("mira", "POST", "/orgs/mira/repos", { name: "x" })).status).toBe(404);
    expect((await api("POST", path, { name: "by-admin" })).status).toBe(201);
  });
});

describe("lists and search", () => {
  beforeAll(async () => {
    for (const owner of ["mira", "shy", "hid", "guild-public", "guild-limited", "guild-private"])
      for (const isPrivate of [false, true])
        await api("POST", `/admin/users/${owner}/repos`, {
          name: isPrivate ? "zeta-closed" : "zeta-open",
          description: "The Zebra project",
          private: isPrivate,
        });
  });
  const names = (answer: Awaited<ReturnType<typeof api>>) =>
    (answer.json.data ?? answer.json).map((each: { full_name: string }) => each.full_name);

  const readers: readonly (readonly [string, () => string])[] = [
    ["an anonymous caller", () => ""],
    ["an outsider", () => people.tokenOf("nora")],
    ["a restricted user", () => people.tokenOf("rest")],
    ["an owner", () => people.tokenOf("mira")],
    ["an administrator", () => people.admin],
  ];

  test.each(readers)(
    "lists and search contain for %s exactly the readable repositories",
    async (_name, token) => {
      const everything = names(await api("GET", "/repos/search?q=zeta&limit=50"));
      expect(everything).toHaveLength(12);
      const readable: string[] = [];
      for (const name of everything)
        if ((await api("GET", `/repos/${name}`, undefined, token())).status === 200)
          readable.push(name);
      const found = await api("GET", "/repos/search?q=zeta", undefined, token());
      expect(found.json.ok).toBe(true);
      expect(names(found)).toEqual(readable);
      expect(found.headers.get("x-total-count")).toBe(String(readable.length));
      for (const owner of ["mira", "guild-limited", "guild-private", "hid"]) {
        const listed = await api("GET", `/users/${owner}/repos?limit=50`, undefined, token());
        const own = readable.filter((name) => name.startsWith(`${owner}/`));
        if (listed.status === 200)
          expect(
            names(listed)
              .filter((name: string) => name.includes("zeta"))
              .toSorted(),
          ).toEqual(own.toSorted());
        else expect([listed.status, own]).toEqual([404, []]);
      }
    },
  );

  test("a public-only token finds public repositories of public owners", async () => {
    const open = await people.newToken("mira", ["public-only", "read:repository"]);
    const found = await api("GET", "/repos/search?q=zeta", undefined, open);
    expect(names(found)).toEqual(["guild-public/zeta-open", "mira/zeta-open"]);
    expect((await api("GET", "/users/shy/repos", undefined, open)).status).toBe(403);
    const none = await people.newToken("mira", ["read:issue"]);
    expect((await api("GET", "/repos/search", undefined, none)).status).toBe(403);
  });

  test("the list of an organization's repositories is missing for users and hidden organizations", async () => {
    const listed = await by("nora", "GET", "/orgs/guild-public/repos");
    expect(names(listed)).toContain("guild-public/zeta-open");
    expect(names(listed)).not.toContain("guild-public/zeta-closed");
    expect((await by("nora", "GET", "/orgs/mira/repos")).status).toBe(404);
    expect((await by("nora", "GET", "/orgs/guild-private/repos")).status).toBe(404);
  });

  test("filters narrow the search of repositories", async () => {
    const search = async (query: string) => names(await api("GET", `/repos/search?${query}`));
    const mira = (await by("mira", "GET", "/user")).json.id;
    const shy = (await by("shy", "GET", "/user")).json.id;
    expect(await search(`q=zeta&uid=${shy}&exclusive=true`)).toEqual([
      "shy/zeta-closed",
      "shy/zeta-open",
    ]);
    expect(await search(`q=zeta&uid=${mira}&exclusive=1&is_private=true`)).toEqual([
      "mira/zeta-closed",
    ]);
    expect(await search(`q=zeta&uid=${mira}&exclusive=1&private=false`)).toEqual([
      "mira/zeta-open",
    ]);
    const collaborative = await search(`q=zeta&uid=${mira}&mode=collaborative&limit=50`);
    expect(collaborative).toContain("guild-private/zeta-closed");
    expect(collaborative).not.toContain("mira/zeta-open");
    expect(await search(`q=zeta&uid=${mira}&private=false&is_private=true`)).toEqual([]);
    expect(await search("q=zeta&private=false")).toEqual([
      "guild-public/zeta-open",
      "mira/zeta-open",
    ]);
    expect(await search("q=mira/zeta")).toEqual(["mira/zeta-closed", "mira/zeta-open"]);
    expect(await search("q=SHY/closed,IRA/zeta-o")).toEqual(["mira/zeta-open", "shy/zeta-closed"]);
    expect((await search("q=guild/zeta&limit=50")).toSorted()).toEqual([
      "guild-limited/zeta-closed",
      "guild-limited/zeta-open",
      "guild-private/zeta-closed",
      "guild-private/zeta-open",
      "guild-public/zeta-closed",
      "guild-public/zeta-open",
    ]);
    expect(await search("q=mira/zeta/open")).toEqual([]);
    expect(await search("q=zebra&limit=50")).toHaveLength(0);
    expect(await search("q=ZEBRA&includeDesc=true&limit=50")).toHaveLength(12);
    expect(await search("q=nothing,zeta-op&limit=50")).toHaveLength(6);
    expect(await search(`q=zeta&priority_owner_id=${shy}&limit=1`)).toEqual(["shy/zeta-closed"]);
    expect(await search("q=zeta&sort=alpha&order=desc&limit=1")).toEqual(["shy/zeta-open"]);
    expect(await search("q=zeta&archived=true")).toEqual([]);
    expect(await search("q=zeta&template=true")).toEqual([]);
    for (const query of ["q=zeta&topic=true", "mode=fork", "mode=mirror", "starredBy=1", "q=%00"])
      expect(await search(query), query).toEqual([]);
    for (const query of ["mode=odd", "sort=odd", "sort=__proto__", "sort=id&order=odd"])
      expect((await api("GET", `/repos/search?${query}`)).status, query).toBe(422);
  });

  test("a search by a user's id does not reveal hidden memberships", async () => {
    const mira = (await by("mira", "GET", "/user")).json.id;
    const search = (token: string) =>
      api("GET", `/repos/search?q=zeta&uid=${mira}`, undefined, token);
    expect(names(await search(people.tokenOf("nora")))).toEqual(["mira/zeta-open"]);
    expect(names(await search(people.tokenOf("mira")))).toContain("guild-public/zeta-open");
  });

  test("lists of repositories are counted and have links to pages", async () => {
    const page = await api("GET", "/repos/search?q=zeta&limit=5&page=3");
    expect(names(page)).toHaveLength(2);
    expect(page.headers.get("x-total-count")).toBe("12");
    expect(page.headers.get("link")).toContain('rel="prev"');
    expect(names(await api("GET", "/repos/search?q=zeta&page=99"))).toEqual([]);
  });
});
