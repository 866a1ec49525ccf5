import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startForgeApp, type ForgeApp } from "../../support/forge/forge-app.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

const ed25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g";

let app: ForgeApp;
beforeAll(async () => {
  app = await startForgeApp();
  await app.addUser();
  await app.addUser({ username: "Nora", full_name: "Nora Öst" });
});
afterAll(() => app[Symbol.asyncDispose]());

const get = (path: string) => app.request(`/api/v1${path}`, { token: app.token });
const send = (method: string, path: string, json?: unknown) =>
  app.request(`/api/v1${path}`, { token: app.token, method, json });

describe("e-mails", () => {
  test("lists all e-mail addresses, sorted by address", async () => {
    const answer = await get("/admin/emails");
    expectWireShape("Email", answer.json);
    expect(answer.json.map(({ email }: { email: string }) => email)).toEqual([
      "admin@croft.example",
      "mira@croft.example",
      "Nora@croft.example",
    ]);
    expect(answer.json[2]).toEqual({
      email: "Nora@croft.example",
      verified: true,
      primary: true,
      user_id: 3,
      username: "Nora",
    });
    expect(answer.headers.get("x-total-count")).toBe("3");
  });

  test.each([
    ["", 3],
    ["ÖST", 1],
    ["nora", 1],
    ["%20MIRA@%20", 1],
    ["croft", 3],
    ["nothing", 0],
  ])("the search of addresses for %j finds %i", async (term, count) => {
    const answer = await get(`/admin/emails/search?q=${term}`);
    expect(answer.json).toHaveLength(count);
    expect(answer.headers.get("x-total-count")).toBe(String(count));
  });

  test("a page from the second half of the list of addresses has the same order", async () => {
    const last = await get("/admin/emails?limit=1&page=3");
    expect(last.json[0].email).toBe("Nora@croft.example");
    expect(last.headers.get("link")).toContain('rel="first"');
    expect((await get("/admin/emails?limit=2&page=2")).json).toHaveLength(1);
    expect((await get("/admin/emails?limit=2&page=3")).json).toEqual([]);
    const beyond = await get(`/admin/emails?limit=1&page=${"9".repeat(18)}`);
    expect(beyond.json).toEqual([]);
    expect(beyond.headers.get("link")).toMatch(/page=1>; rel="first",.*page=2>; rel="prev"$/);
    // More than 64 bits hold is not a number.
    expect((await get(`/admin/emails?limit=1&page=${"9".repeat(20)}`)).json).toHaveLength(1);
  });
});

describe("organizations", () => {
  const post = (json: unknown, owner = "mira") => send("POST", `/admin/users/${owner}/orgs`, json);

  test("an organization is created for an owner, who becomes a member", async () => {
    const answer = await post({
      username: "Team",
      full_name: "The team",
      email: "ignored@x.de",
      repo_admin_change_team_access: true,
      visibility: "private",
    });
    expect(answer.status).toBe(201);
    expectWireShape("Organization", answer.json);
    expect(answer.json).toMatchObject({
      name: "Team",
      username: "Team",
      full_name: "The team",
      email: "",
      repo_admin_change_team_access: false,
      visibility: "private",
    });
    const asMember = await app.request("/api/v1/orgs/team", { token: await app.tokenOf("mira") });
    expect(asMember).toMatchObject({ status: 200, json: { id: answer.json.id } });
    const asOther = await app.request("/api/v1/orgs/team", { token: await app.tokenOf("Nora") });
    expect(asOther).toMatchObject({ status: 404, json: { message: "not found" } });
  });

  test.each([
    [{}, "[UserName]: Required"],
    [{ username: "a--b" }, "[UserName]: invalid username"],
    [{ username: "a".repeat(41) }, "[UserName]: MaxSize"],
    [{ username: "ok", website: "x" }, "[Website]: Url"],
    [{ username: "MIRA" }, "user already exists [name: MIRA]"],
    [{ username: "explore" }, "name is reserved [name: explore]"],
  ])("an organization with %j is 422", async (json, message) =>
    expect(await post(json)).toMatchObject({ status: 422, json: { message } }),
  );

  test("organizations and users without the permission cannot create one", async () => {
    await post({ username: "parent" });
    expect(await post({ username: "child" }, "parent")).toMatchObject({
      status: 422,
      json: { message: "target is an organization but not user" },
    });
    const edit = { login_name: "n", allow_create_organization: false };
    await send("PATCH", "/admin/users/Nora", edit);
    expect(await post({ username: "noras" }, "Nora")).toMatchObject({
      status: 403,
      json: { message: "user is not allowed to create organizations" },
    });
  });

  test("all organizations are listed to administrators by name, regardless of visibility", async () => {
    await post({ username: "zeta" });
    await post({ username: "Alpha" });
    const answer = await get("/admin/orgs");
    expectWireShape("Organization", answer.json);
    const names = answer.json.map(({ name }: { name: string }) => name);
    expect(names).toEqual(["Alpha", "Team", "parent", "zeta"]);
    expect(answer.headers.get("x-total-count")).toBe("4");
    expect((await get("/admin/orgs?limit=1&page=2")).headers.get("link")).toContain("page=3");
  });

  test("a user is not found as an organization", async () => {
    expect((await get("/orgs/mira")).status).toBe(404);
  });
});

describe("badges", () => {
  test("badges are defined, awarded, removed and deleted", async () => {
    const gold = await send("POST", "/admin/badges", {
      slug: "gold",
      description: "First",
      image_url: "https://x.example/gold.svg",
    });
    expect(gold.status).toBe(201);
    await send("POST", "/admin/badges", { slug: "silver" });
    const awarded = await send("POST", "/admin/users/mira/badges", {
      badge_slugs: ["silver", "gold"],
    });
    expect(awarded.status).toBe(204);
    const owned = await get("/admin/users/mira/badges");
    expectWireShape("Badge", owned.json);
    expect(owned.json.map(({ slug }: { slug: string }) => slug)).toEqual(["silver", "gold"]);
    expect(owned.headers.get("x-total-count")).toBe("2");
    const taken = { badge_slugs: ["gold", "unknown"] };
    for (let round = 0; round < 2; round += 1)
      expect((await send("DELETE", "/admin/users/mira/badges", taken)).status).toBe(204);
    expect((await get("/admin/users/mira/badges")).json).toHaveLength(1);
    expect((await send("DELETE", "/admin/badges/silver")).status).toBe(204);
    expect((await get("/admin/users/mira/badges")).json).toEqual([]);
    expect((await get("/admin/badges")).json.map(({ slug }: { slug: string }) => slug)).toEqual([
      "gold",
    ]);
  });

  test("assigns the badges of a request atomically", async () => {
    await send("POST", "/admin/badges", { slug: "one" });
    const give = (...badge_slugs: string[]) =>
      send("POST", "/admin/users/Nora/badges", { badge_slugs });
    expect(await give("one", "missing")).toMatchObject({
      status: 404,
      json: { message: "badge does not exist [slug: missing]" },
    });
    expect((await get("/admin/users/Nora/badges")).json).toEqual([]);
    expect((await give("one")).status).toBe(204);
    expect((await give("one")).status).toBe(409);
    expect((await give()).status).toBe(204);
    for (const json of [{}, { badge_slugs: null }])
      expect(await send("POST", "/admin/users/Nora/badges", json)).toMatchObject({
        status: 422,
        json: { message: "[BadgeSlugs]: Required" },
      });
  });

  test("removing badges without a content type reads the slugs from the query", async () => {
    await send("POST", "/admin/badges", { slug: "two" });
    await send("POST", "/admin/users/mira/badges", { badge_slugs: ["two"] });
    const path = "/admin/users/mira/badges?badge_slugs=two&badge_slugs=other";
    expect((await send("DELETE", path)).status).toBe(204);
    expect((await get("/admin/users/mira/badges")).json).toEqual([]);
  });

  test.each([
    [{ slug: "-bad" }, 422, "[Slug]: invalid slug"],
    [{ slug: "ok", image_url: "javascript:1" }, 422, "[ImageUrl]: Url"],
    [{ slug: "one" }, 409, "badge already exists [slug: one]"],
  ])("a badge defined as %j is refused", async (json, status, message) =>
    expect(await send("POST", "/admin/badges", json)).toMatchObject({ status, json: { message } }),
  );

  test("deleting an unknown badge is 404", async () =>
    expect((await send("DELETE", "/admin/badges/never")).status).toBe(404));
});

describe("public keys", () => {
  const add = (json: unknown, name = "mira") => send("POST", `/admin/users/${name}/keys`, json);

  test("a public key is stored once, with its fingerprint and owner", async () => {
    const made = await add({ title: "laptop", key: `${ed25519}  me at home \n`, read_only: true });
    expect(made.status).toBe(201);
    expectWireShape("PublicKey", made.json);
    expect(made.json).toMatchObject({
      key: `${ed25519} me at home`,
      fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
      title: "laptop",
      read_only: false,
      key_type: "user",
      user: { login: "mira", active: true },
      url: `http://croft.example:7420/api/v1/user/keys/${made.json.id}`,
      created_at: "2026-03-01T12:00:00Z",
      last_used_at: "2026-03-01T12:00:00Z",
    });
    expect(await add({ title: "other", key: ed25519 }, "Nora")).toMatchObject({
      status: 422,
      json: { message: "Key content has been used as non-deploy key" },
    });
    const second = ed25519.replace("AECAwQ", "BECAwQ");
    expect(await add({ title: "laptop", key: second })).toMatchObject({
      status: 422,
      json: { message: "Key title has been used" },
    });
    expect((await add({ title: "laptop", key: second }, "Nora")).status).toBe(201);
  });

  test.each([
    [{}, "[Title]: Required"],
    [{ title: "x" }, "[Key]: Required"],
    [{ title: "x", key: "hello" }, "Invalid key content: the key is not base64 of a public key"],
  ])("a public key with %j is 422", async (json, message) =>
    expect(await add(json)).toMatchObject({ status: 422, json: { message } }),
  );

  test("a public key is deleted only by its owner or an administrator, under the user of the path", async () => {
    const key = ed25519.replace("AECAwQ", "CECAwQ");
    const { id } = (await add({ title: "to delete", key })).json;
    const remove = (name: string, id: string | number) =>
      send("DELETE", `/admin/users/${name}/keys/${id}`);
    expect(await remove("Nora", id)).toMatchObject({
      status: 403,
      json: { message: "You do not have access to this key" },
    });
    for (const unknown of ["0", "999", "abc", "9223372036854775808"])
      expect((await remove("mira", unknown)).status).toBe(404);
    expect((await remove("admin", id)).status).toBe(204);
    expect((await remove("mira", id)).status).toBe(404);
  });
});

describe("path tricks in names", () => {
  test.each(["..", "%2e%2e", "..%2f..%2fetc", "%252e%252e", "..%5c", "mira.git", "CON", "mira%20"])(
    "the path %s finds no account",
    async (name) => {
      const answer = await send("DELETE", `/admin/users/${name}`);
      expect([404, 405]).toContain(answer.status);
    },
  );

  test("a search term with a NUL finds nothing", async () => {
    for (const path of [
      "/admin/users?q=mira%00",
      "/admin/emails/search?q=a%00",
      "/admin/users?q=%00",
    ]) {
      const answer = await get(path);
      expect([answer.status, answer.json]).toEqual([200, []]);
    }
  });

  test("a NUL in an address is refused except in a search term", async () => {
    for (const path of ["/users/mira%00", "/admin/users?sudo=a%00", "/user?token=abcdefgh%00"])
      expect((await get(path)).status).toBe(400);
    const basic = await app.request("/api/v1/user", { basic: "mira\0:user-password" });
    expect(basic.status).toBe(401);
    for (const text of ["a\0b", "\ud800"])
      expect(await send("PATCH", "/admin/users/mira", { login_name: text })).toMatchObject({
        status: 422,
        json: { message: "[]: a text contains a character that cannot be stored" },
      });
    expect(
      (await send("PATCH", "/admin/users/mira", { login_name: "\\u0000 \u{1F600}" })).status,
    ).toBe(200);
  });
});
