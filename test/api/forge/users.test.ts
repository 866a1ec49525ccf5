import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startForgeApp, type ForgeApp } from "../../support/forge/forge-app.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

const users = "/api/v1/admin/users";
const swagger = "http://croft.example:7420/api/swagger";

describe("GET /version, /user and /users/{username}", () => {
  let app: ForgeApp;
  beforeAll(async () => {
    app = await startForgeApp();
    await app.addUser();
    await app.addUser({ username: "hermit", visibility: "private" });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test("anonymous callers may read the version", async () => {
    const answer = await app.request("/api/v1/version");
    expect(answer).toMatchObject({ status: 200, json: { version: "28.2.0" } });
    expectWireShape("ServerVersion", answer.json);
  });

  test("every response has the general headers", async () => {
    const { headers } = await app.request("/api/v1/version");
    expect(headers.get("content-type")).toBe("application/json;charset=utf-8");
    expect(headers.get("cache-control")).toBe("max-age=0, private, must-revalidate");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
  });

  test("signed-in users see the private members of their own account", async () => {
    const answer = await app.request("/api/v1/user", { basic: "mira:user-password" });
    expect(answer.status).toBe(200);
    expectWireShape("User", answer.json);
    expect(Object.keys(answer.json).at(-1)).toBe("username");
    expect(answer.json).toMatchObject({
      login: "mira",
      username: "mira",
      email: "mira@croft.example",
      active: true,
      is_admin: false,
      created: "2026-03-01T12:00:00Z",
      html_url: "http://croft.example:7420/mira",
    });
  });

  test("another user sees no private members", async () => {
    const token = await app.tokenOf("mira");
    const { json } = await app.request("/api/v1/users/admin", { token });
    expectWireShape("User", json);
    expect(json).toMatchObject({
      is_admin: false,
      active: false,
      language: "",
      last_login: "0001-01-01T00:00:00Z",
      email: "admin@croft.example",
    });
  });

  test("an anonymous caller sees only public users, without their addresses", async () => {
    const { status, json } = await app.request("/api/v1/users/mira");
    expect(status).toBe(200);
    expectWireShape("User", json);
    expect(json).toMatchObject({ email: "2+mira@noreply.croft.example", active: false });
    expect((await app.request("/api/v1/users/hermit")).status).toBe(404);
  });

  test("a private user is unknown to others, and not to administrators", async () => {
    const token = await app.tokenOf("mira");
    expect((await app.request("/api/v1/users/hermit", { token })).status).toBe(404);
    expect((await app.request("/api/v1/users/hermit", { token: app.token })).status).toBe(200);
  });

  test("GET /user is 401 for an anonymous caller", async () => {
    const answer = await app.request("/api/v1/user");
    expect(answer).toMatchObject({
      status: 401,
      json: { message: "token is required", url: swagger },
    });
    expectWireShape("APIError", answer.json);
  });

  test("GET /user with a token without the scope is 403 and names the required scope", async () => {
    const token = await app.tokenOf("mira", ["read:repository"]);
    expect(await app.request("/api/v1/user", { token })).toMatchObject({
      status: 403,
      json: {
        message:
          "token does not have at least one of required scope(s), required=[read:user], token scope=read:repository",
      },
    });
  });
});

describe("GET /admin/users", () => {
  let app: ForgeApp;
  beforeAll(async () => {
    app = await startForgeApp();
    for (const [index, username] of ["carol", "Bob", "alice", "dave"].entries()) {
      await app.addUser({
        username,
        full_name: `${username} of Öland`,
        created_at: `2026-02-0${4 - index}T00:00:00Z`,
        visibility: index === 0 ? "private" : "public",
        restricted: index === 1,
      });
    }
    await app.request(`${users}/dave`, {
      token: app.token,
      method: "PATCH",
      json: { login_name: "ldap-dave", active: false },
    });
    await app.request(`${users}/admin/orgs`, { token: app.token, json: { username: "an-org" } });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const list = async (query: string) => app.request(`${users}?${query}`, { token: app.token });
  const names = async (query: string) =>
    (await list(query)).json.map(({ login }: { login: string }) => login);

  test("GET /admin/users lists users of every state, in binary order of names, and no organizations", async () => {
    const answer = await list("");
    expect(answer.status).toBe(200);
    expectWireShape("User", answer.json);
    expect(await names("")).toEqual(["Bob", "admin", "alice", "carol", "dave"]);
  });

  test.each([
    ["sort=name&order=desc", ["dave", "carol", "alice", "admin", "Bob"]],
    ["sort=created", ["dave", "alice", "Bob", "carol", "admin"]],
    ["sort=id&order=desc", ["dave", "alice", "Bob", "carol", "admin"]],
    ["sort=updated&order=desc&limit=2", ["dave", "admin"]],
    ["order=desc", ["Bob", "admin", "alice", "carol", "dave"]],
    ["order=sideways", ["Bob", "admin", "alice", "carol", "dave"]],
    ["q=ALI", ["alice"]],
    ["q=%20öland%20", ["Bob", "alice", "carol", "dave"]],
    ["q=carol@", ["carol"]],
    ["q=nobody", []],
    ["visibility=private", ["carol"]],
    ["visibility=", ["Bob", "admin", "alice", "carol", "dave"]],
    ["is_admin=true", ["admin"]],
    ["is_admin=1&is_active=on", ["admin"]],
    ["is_active=false", ["dave"]],
    ["is_active=garbage", ["dave"]],
    ["is_restricted=true", ["Bob"]],
    ["is_2fa_enabled=true", []],
    ["is_prohibit_login=true", []],
    ["is_prohibit_login=", ["Bob", "admin", "alice", "carol", "dave"]],
    ["login_name=ldap-dave", ["dave"]],
    ["login_name=LDAP-DAVE", []],
    ["source_id=7", []],
    ["source_id=nonsense", ["Bob", "admin", "alice", "carol", "dave"]],
    ["unknown=parameter", ["Bob", "admin", "alice", "carol", "dave"]],
  ])("GET /admin/users filters and sorts by %s", async (query, expected) => {
    expect(await names(query)).toEqual(expected);
    expect((await list(query)).headers.get("x-total-count")).toBe(
      String(query.includes("limit") ? 5 : expected.length),
    );
  });

  test.each([
    ["sort=age", 'Invalid sort mode: "age"'],
    ["sort=age&order=sideways", 'Invalid sort order: "sideways"'],
    ["visibility=secret", "invalid visibility"],
  ])("GET /admin/users with %s is 422", async (query, message) => {
    expect(await list(query)).toMatchObject({ status: 422, json: { message, url: swagger } });
  });

  test("pages have links with the request's query, in the order next, last, first, prev", async () => {
    const at = (page: number) =>
      `<http://croft.example:7420/api/v1/admin/users?limit=2&page=${page}&q=a>`;
    const first = await list("q=a&limit=2");
    expect(first.headers.get("link")).toBe(`${at(2)}; rel="next",${at(3)}; rel="last"`);
    expect(first.headers.get("x-total-count")).toBe("5");
    expect(first.headers.get("access-control-expose-headers")).toBe("Link, X-Total-Count");
    const middle = await list("q=a&limit=2&page=2");
    expect(middle.headers.get("link")).toBe(
      [
        `${at(3)}; rel="next"`,
        `${at(3)}; rel="last"`,
        `${at(1)}; rel="first"`,
        `${at(1)}; rel="prev"`,
      ].join(","),
    );
    const past = await list("q=a&limit=2&page=9");
    expect(past.json).toEqual([]);
    expect(past.headers.get("link")).toBe(`${at(1)}; rel="first",${at(2)}; rel="prev"`);
  });

  test("a single page has no links", async () => {
    const { headers } = await list("");
    expect(headers.has("link")).toBe(false);
    expect(headers.get("access-control-expose-headers")).toBe("X-Total-Count");
  });

  test.each([
    "page=0",
    "page=-1",
    "page=x",
    "limit=0",
    "limit=-5",
    "limit=x",
    "limit=%20",
    "limit=1000000000",
  ])("GET /admin/users with %s ignores or clamps it", async (query) =>
    expect((await list(query)).json).toHaveLength(5),
  );

  test.each(["page=9223372036854775807", "page=9007199254740991&limit=50"])(
    "GET /admin/users with %s is answered in bounded time and memory",
    async (query) => expect((await list(query)).status).toBe(200),
  );

  test.each([
    "page=0x1",
    "page=1e0",
    "page=1.0",
    "page=%2B0b1",
    "limit=0x10",
    "limit=1E2",
    "limit=0o7",
    "limit=%201",
    "page=1%0A",
    "page=+1",
    "source_id=0x0",
    "source_id=0e1",
  ])("GET /admin/users with %s is refused: the number is not decimal", async (query) =>
    expect(await list(query)).toMatchObject({
      status: 422,
      json: { message: "a number in a query must be written in decimal digits" },
    }),
  );

  test.each([
    "%25a".repeat(150),
    "%25_".repeat(1500),
    "a".repeat(8000),
    "%22*",
    "NEAR(a b)",
    "names:bob",
    "%5c%25",
  ])("the search term %s is matched literally", async (term) => {
    for (const path of [`${users}?q=${term}`, `/api/v1/admin/emails/search?q=${term}`])
      expect(await app.request(path, { token: app.token })).toMatchObject({
        status: 200,
        json: [],
      });
  });

  test("GET /admin/users is 401 for anonymous callers and 403 without the right", async () => {
    expect(await app.request(users)).toMatchObject({
      status: 401,
      json: { message: "token is required" },
    });
    expect(await app.request(users, { basic: "alice:user-password" })).toMatchObject({
      status: 403,
      json: { message: "user should be the site admin" },
    });
  });
});

describe("POST /admin/users", () => {
  let app: ForgeApp;
  beforeAll(async () => {
    app = await startForgeApp();
    await app.addUser({ username: "Taken", email: "taken@croft.example" });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const post = (json: unknown) => app.request(users, { token: app.token, json });
  const valid = { username: "nora", email: "nora@croft.example", password: "12345678" };

  test("POST /admin/users creates an active account that must change its password", async () => {
    const answer = await post({
      ...valid,
      full_name: "Nora",
      visibility: "limited",
      login_name: "n",
    });
    expect(answer.status).toBe(201);
    expectWireShape("User", answer.json);
    expect(answer.json).toMatchObject({
      login: "nora",
      full_name: "Nora",
      login_name: "n",
      visibility: "limited",
      active: true,
      restricted: false,
    });
    const signIn = await app.request("/api/v1/user", { basic: "nora:12345678" });
    expect(signIn).toMatchObject({
      status: 403,
      json: {
        message:
          'You must change your password. Run "croft account password --username nora", ' +
          "POST it to http://croft.example:7420/api/v1/user/password, " +
          "or sign in at http://croft.example:7420/user/settings/change_password",
      },
    });
    expect(signIn.json).not.toHaveProperty("url");
  });

  test("POST /admin/users treats null members as absent, and accepts members of any case", async () => {
    const answer = await post({
      UserName: "casey",
      Email: "casey@croft.example",
      password: "12345678",
      must_change_password: null,
      restricted: null,
      created_at: null,
    });
    expect(answer.status).toBe(201);
  });

  test("POST /admin/users accepts forms by their form names", async () => {
    const body = new URLSearchParams({
      username: "form",
      email: "form@croft.example",
      password: "12345678",
      must_change_password: "off",
    });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const init = { token: app.token, body: body.toString(), headers };
    expect((await app.request(users, init)).status).toBe(201);
    expect((await app.request("/api/v1/user", { basic: "form:12345678" })).status).toBe(200);
    const bad = { ...init, body: "restricted=maybe" };
    expect(await app.request(users, bad)).toMatchObject({
      status: 422,
      json: { message: "[restricted]: Value could not be parsed as boolean" },
    });
    const multipart = new FormData();
    for (const [name, value] of [...body, ["username", "ignored"]] as const)
      if (name !== "email") multipart.append(name, value);
    expect(await app.request(users, { token: app.token, body: multipart })).toMatchObject({
      status: 422,
      json: { message: "[Email]: Required" },
    });
  });

  test.each([
    [{}, 422, "[Username]: Required"],
    [{ username: "" }, 422, "[Username]: Required"],
    [{ username: "a b", email: "x" }, 422, "[Username]: invalid username"],
    [{ username: "a".repeat(41), email: "x" }, 422, "[Username]: MaxSize"],
    [{ ...valid, full_name: "ö".repeat(101) }, 422, "[FullName]: MaxSize"],
    [{ username: "new" }, 422, "[Email]: Required"],
    [{ username: "new", email: "a@localhost" }, 422, "[Email]: Email"],
    [{ ...valid, password: "x".repeat(256) }, 422, "[Password]: MaxSize"],
    [{ ...valid, visibility: "Public" }, 422, "[Visibility]: In"],
    [{ ...valid, source_id: 3 }, 422, "login source does not exist [id: 3]"],
    [{ ...valid, username: "x1", password: "" }, 400, "PasswordIsRequired"],
    [{ ...valid, username: "x1", password: "1234567" }, 400, "PasswordIsRequired"],
    [{ ...valid, username: "Admin", email: "n@x.de" }, 409, "user already exists [name: Admin]"],
    [{ ...valid, username: "TAKEN", email: "n@x.de" }, 409, "user already exists [name: TAKEN]"],
    [
      { ...valid, username: "x1", email: "TAKEN@croft.example" },
      409,
      "e-mail already in use [email: TAKEN@croft.example]",
    ],
    [{ ...valid, username: "Api" }, 422, "name is reserved [name: api]"],
    [{ ...valid, username: "my.KEYS" }, 422, "name pattern is not allowed [pattern: *.keys]"],
    [
      { ...valid, username: "x1", email: "-233@qq.com" },
      422,
      "e-mail invalid [email: -233@qq.com]",
    ],
  ])("POST /admin/users with %j is refused", async (json, status, message) => {
    expect(await post(json)).toMatchObject({ status, json: { message, url: swagger } });
  });

  test.each([
    ['{"username":', "[]: invalid JSON"],
    ["[]", "[]: a JSON object is expected"],
    ['"text"', "[]: a JSON object is expected"],
    ['{"username":5}', "[]: a value has the wrong type, expected string"],
    ['{"restricted":"yes"}', "[]: a value has the wrong type, expected boolean"],
    ['{"source_id":1.5}', "[]: a value has the wrong type, expected integer"],
    ['{"created_at":"yesterday"}', "[]: a value has the wrong type, expected time"],
    ["null", "[Username]: Required"],
    ["", "[Username]: Required"],
  ])("POST /admin/users with the body %s is refused", async (body, message) => {
    const headers = { "content-type": "application/json" };
    const answer = await app.request(users, { token: app.token, method: "POST", body, headers });
    expect(answer).toMatchObject({ status: 422, json: { message } });
  });

  test("POST /admin/users refuses a body without a content type, or of an unknown one", async () => {
    expect(await app.request(users, { token: app.token, method: "POST" })).toMatchObject({
      status: 422,
      json: { message: "[]: Empty Content-Type" },
    });
    const init = { token: app.token, body: "x", headers: { "content-type": "text/plain" } };
    expect(await app.request(users, init)).toMatchObject({
      status: 422,
      json: { message: "[]: Unsupported Content-Type" },
    });
  });

  test("a created user is notified by mail on request, without the password", async () => {
    const before = app.mails.length;
    const create = (username: string, send_notify: boolean) =>
      post({ ...valid, username, email: `${username}@x.de`, send_notify });
    await create("quiet", false);
    await create("told", true);
    expect(app.mails.slice(before)).toMatchObject([
      { to: "told@x.de", subject: "Your account on croft" },
    ]);
    expect(app.mails.at(-1)?.text).toContain("User name: told");
    expect(app.mails.at(-1)?.text).not.toContain(valid.password);
  });

  test("two concurrent creations of one name create one account", async () => {
    const both = await Promise.all([
      post({ ...valid, username: "twin", email: "twin1@x.de" }),
      post({ ...valid, username: "Twin", email: "twin2@x.de" }),
    ]);
    expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201, 409,
    ]);
  });

  test("POST /admin/users answers 401 to anonymous callers and 403 without the right, before it validates the body", async () => {
    expect((await app.request(users, { json: [] })).status).toBe(401);
    expect((await app.request(users, { basic: "Taken:user-password", json: [] })).status).toBe(403);
  });
});

test("an unknown address is 404 in plain text, a wrong method 405 without a body", async () => {
  await using app = await startForgeApp();
  const unknown = await app.request("/api/v1/nothing", { token: "wrong-token" });
  expect(unknown).toMatchObject({ status: 404, text: "404 page not found\n" });
  expect(unknown.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(unknown.headers.get("x-content-type-options")).toBe("nosniff");
  const wrong = await app.request("/api/v1/user", { method: "DELETE" });
  expect(wrong).toMatchObject({ status: 405, text: "" });
  expect(wrong.headers.get("allow")).toContain("GET");
});
