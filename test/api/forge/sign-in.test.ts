import { generateSync } from "otplib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import {
  findWebSession,
  insertWebSession,
  toPasswordMark,
} from "../../../storage/tables/forge/accounts/web-sessions.ts";
import type { TestRequest } from "../../support/daemon.ts";
import { START, startForgeApp, type ForgeApp } from "../../support/forge/forge-app.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

const me = "/api/v1/user";
const wrong = "invalid username, password or token";

describe("credentials", () => {
  let app: ForgeApp;
  let token: string;
  beforeAll(async () => {
    app = await startForgeApp();
    await app.addUser();
    token = await app.tokenOf("mira");
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const authorization = (value: string): TestRequest => ({ headers: { Authorization: value } });
  const basic = (text: string) => authorization(`Basic ${Buffer.from(text).toString("base64")}`);

  test.each<[string, () => TestRequest]>([
    ["token in the header", () => authorization(`token ${token}`)],
    ["bearer in any case", () => authorization(`BEARER  ${token}`)],
    ["Basic with the password", () => basic("mira:user-password")],
    ["Basic with another case of the name and blanks", () => basic(" MIRA :user-password")],
    ["Basic with the address", () => basic("Mira@croft.example:user-password")],
    ["Basic with the token as password, whatever the name", () => basic(`anybody:${token}`)],
    ["Basic with the token as name and no password", () => basic(`${token}:`)],
    ["Basic with the token as name and x-oauth-basic", () => basic(`${token}:x-oauth-basic`)],
  ])("authentication by %s is accepted", async (_name, init) => {
    expect(await app.request(me, init())).toMatchObject({ status: 200, json: { login: "mira" } });
  });

  test.each<[string, () => TestRequest]>([
    ["an unknown token", () => authorization("token 0123456789012345678901234567890123456789")],
    ["a short token", () => authorization("token abc")],
    ["a token of another case", () => authorization(`token ${token.toUpperCase()}`)],
    ["a wrong password", () => basic("mira:wrong")],
    ["an unknown name", () => basic("nobody:user-password")],
    ["an empty password", () => basic("mira:")],
  ])("%s is 401 even where no credentials are required", async (_name, init) => {
    for (const path of [me, "/api/v1/version"])
      expect(await app.request(path, init())).toMatchObject({
        status: 401,
        json: { message: wrong, url: "http://croft.example:7420/api/swagger" },
      });
  });

  test.each(["token", "token one two", "digest abc", "Basic !!!", ""])(
    "an invalid Authorization header (%j) counts as no credentials",
    async (header) => {
      expect((await app.request("/api/v1/version", authorization(header))).status).toBe(200);
      expect((await app.request(me, authorization(header))).status).toBe(401);
    },
  );

  test.each(["token", "access_token"])(
    "a %s in the query is accepted with a warning",
    async (name) => {
      const answer = await app.request(`${me}?${name}=${token}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-gitea-warning")).toMatch(/deprecated/);
      expect((await app.request(me, { token })).headers.has("x-gitea-warning")).toBe(false);
    },
  );

  test("a later method of authentication succeeds after an earlier one failed", async () => {
    expect((await app.request(`${me}?token=wrong-wrong`, { token })).status).toBe(200);
  });

  test("an unverified address does not sign in", async () => {
    const user = await app.addUser({ username: "uma" });
    await app.db.run("UPDATE forge_emails SET is_verified = 0 WHERE user_id = ?", user.id);
    expect((await app.request(me, basic("uma@croft.example:user-password"))).status).toBe(401);
    expect((await app.request(me, basic("uma:user-password"))).status).toBe(200);
  });
});

describe("account state", () => {
  test.each([
    ["active", false],
    ["prohibit_login", true],
  ])("an account with %s %s may not use its token", async (member, value) => {
    await using app = await startForgeApp();
    await app.addUser();
    const token = await app.tokenOf("mira");
    const edit = { login_name: "x", [member]: value };
    await app.request("/api/v1/admin/users/mira", {
      token: app.token,
      method: "PATCH",
      json: edit,
    });
    for (const path of [me, "/api/v1/version"]) {
      const answer = await app.request(path, { token });
      expect(answer).toMatchObject({
        status: 403,
        json: {
          message:
            "This account is prohibited from signing in, please contact your site administrator.",
        },
      });
      expect(Object.keys(answer.json)).toEqual(["message"]);
    }
    const byPassword = await app.request(me, { basic: "mira:user-password" });
    expect(byPassword.status).toBe(member === "active" ? 403 : 401);
  });
});

describe("sudo", () => {
  let app: ForgeApp;
  beforeAll(async () => {
    app = await startForgeApp();
    await app.addUser();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test("an administrator acts as another user, by header or query", async () => {
    const { token } = app;
    const byHeader = await app.request(me, { token, headers: { Sudo: "MIRA" } });
    expect(byHeader.json.login).toBe("mira");
    expect((await app.request(`${me}?sudo=mira`, { token })).json.login).toBe("mira");
  });

  test("sudo as an ordinary user gives the rights of that user", async () => {
    const answer = await app.request("/api/v1/admin/users?sudo=mira", { token: app.token });
    expect(answer).toMatchObject({
      status: 403,
      json: { message: "user should be the site admin" },
    });
  });

  test("users who are not administrators may not use sudo, not even for themselves", async () => {
    const token = await app.tokenOf("mira");
    for (const init of [{ token }, {}]) {
      const answer = await app.request(`/api/v1/version?sudo=mira`, init);
      expect(answer).toMatchObject({
        status: 403,
        json: { message: "Only administrators allowed to sudo." },
      });
      expect(answer.json).not.toHaveProperty("url");
    }
  });

  test("sudo as an unknown user is 404", async () => {
    const answer = await app.request(`${me}?sudo=nobody`, { token: app.token });
    expect(answer).toMatchObject({ status: 404, json: { message: "not found" } });
  });

  test("sudo is restricted by the scope of the administrator's token", async () => {
    const token = await app.tokenOf("admin", ["read:admin"]);
    expect((await app.request(`${me}?sudo=mira`, { token })).status).toBe(403);
  });
});

describe("rate limit of passwords", () => {
  /** An app that counts how many passwords are really checked. */
  async function startCountingApp() {
    const verified: string[] = [];
    const app = await startForgeApp({
      passwords: {
        hash: async (password) => `plain:${password}`,
        verify: async (stored, password) => {
          verified.push(password);
          await new Promise((resolve) => setImmediate(resolve));
          return { fits: stored === `plain:${password}`, outdated: false };
        },
      },
    });
    await app.addUser();
    const signIn = (password: string, { name = "mira", address = "192.0.2.1" } = {}) =>
      app.request(me, {
        basic: `${name}:${password}`,
        headers: { "X-Test-Address": address },
      });
    return { app, verified, signIn };
  }
  const times = <T>(count: number, make: (index: number) => T) =>
    Promise.all(Array.from({ length: count }, (_, index) => make(index)));
  const countOf = (answers: readonly { readonly status: number }[], status: number) =>
    answers.filter((answer) => answer.status === status).length;

  test("ten wrong passwords lock the account for the address for 15 minutes, but not its tokens", async () => {
    const { app, signIn } = await startCountingApp();
    await using _app = app;
    const token = await app.tokenOf("mira");
    for (let round = 0; round < 10; round += 1)
      expect((await signIn(`wrong-${round}`)).status).toBe(401);
    const locked = await signIn("user-password");
    expect(locked.status).toBe(429);
    expect(locked.headers.get("retry-after")).toBe("900");
    expect((await app.request(me, { token })).status).toBe(200);
    expect((await signIn("user-password", { address: "192.0.2.2" })).status).toBe(200);
    app.advance(15 * 60_000);
    expect((await signIn("user-password")).status).toBe(200);
  });

  test("exactly 10 of 60 parallel wrong passwords are checked", async () => {
    const { app, verified, signIn } = await startCountingApp();
    await using _app = app;
    const answers = await times(60, (index) => signIn(`wrong-${index}`));
    expect(countOf(answers, 401)).toBe(10);
    expect(countOf(answers, 429)).toBe(50);
    expect(verified).toHaveLength(10);
  });

  test("exactly 10 of 60 parallel requests with one wrong password are answered 401", async () => {
    const { app, signIn } = await startCountingApp();
    await using _app = app;
    const answers = await times(60, () => signIn("wrong-password"));
    expect(countOf(answers, 401)).toBe(10);
    expect(countOf(answers, 429)).toBe(50);
  });

  test("what a sign-in creates is bound to the hash that it has just renewed, also of concurrent sign-ins", async () => {
    let salt = 0;
    await using app = await startForgeApp({
      passwords: {
        hash: async (password) => `new:${(salt += 1)}:${password}`,
        verify: async (stored, password) => ({
          fits: stored.endsWith(`:${password}`),
          outdated: stored.startsWith("old:"),
        }),
      },
    });
    await app.addUser();
    const stored = async () =>
      (
        await app.db.get<{ hash: string }>(
          "SELECT password_hash AS hash FROM forge_users WHERE lower_name = 'mira'",
        )
      )?.hash;
    const age = () =>
      app.db.run(
        "UPDATE forge_users SET password_hash = 'old:0:user-password' WHERE lower_name = 'mira'",
      );
    const make = (name: string, login = "mira") =>
      app.request("/api/v1/users/mira/tokens", {
        basic: `${login}:user-password`,
        json: { name, scopes: ["read:user"] },
      });
    await age();
    expect((await make("one")).status).toBe(201);
    expect(await stored()).toMatch(/^new:/);
    await age();
    // Two checks of one account: by its name, and by its address.
    const made = await Promise.all([
      make("two"),
      make("three"),
      make("four", "mira@croft.example"),
    ]);
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);

    // Sessions of browsers go on; those of a former password do not.
    const addSession = (id: string, passwordHash: string) =>
      app.db.transaction(async (tx) => {
        const user = await findUserByName(tx, "mira");
        if (user === undefined) throw new Error("the user is missing");
        await insertWebSession(
          tx,
          {
            ...{ id, userId: user.id, passwordMark: toPasswordMark(passwordHash) },
            ...{ expiresAt: tx.now + 1_000, userAgent: "", address: "" },
          },
          10,
        );
      });
    await addSession("current", "old:0:user-password");
    await addSession("former", "old:0:former");
    await age();
    expect((await make("five")).status).toBe(201);
    const markOf = async (id: string) => (await findWebSession(app.db, id))?.passwordMark;
    expect(await markOf("current")).toBe(toPasswordMark((await stored()) ?? ""));
    expect(await markOf("former")).toBe(toPasswordMark("old:0:former"));
  });

  test("60 parallel requests with the right password all succeed", async () => {
    const { app, signIn } = await startCountingApp();
    await using _app = app;
    expect(countOf(await times(60, () => signIn("user-password")), 200)).toBe(60);
    const counted = () =>
      app.db.get<{ points: number }>(
        "SELECT CAST(COALESCE(SUM(points), 0) AS BIGINT) AS points FROM rate_limits",
      );
    // A sign-in does not wait for its refund for long.
    await expect.poll(counted).toEqual({ points: 0 });
  });

  test("exactly 50 of 200 parallel wrong passwords for one account from many addresses are checked", async () => {
    const { app, verified, signIn } = await startCountingApp();
    await using _app = app;
    const email = "mira@croft.example";
    const answers = await times(200, (index) =>
      signIn(`wrong-${index}`, {
        name: index % 2 === 0 ? "mira" : email,
        address: `192.0.2.${index}`,
      }),
    );
    expect(countOf(answers, 401)).toBe(50);
    expect(verified).toHaveLength(50);
  });

  test("exactly 100 of 200 parallel wrong passwords for many accounts from one address are checked", async () => {
    const { app, verified, signIn } = await startCountingApp();
    await using _app = app;
    const answers = await times(200, (index) => signIn("wrong", { name: `user-${index}` }));
    expect(countOf(answers, 401)).toBe(100);
    expect(verified).toHaveLength(100);
  });

  test("the right password resets the wrong attempts of the same address", async () => {
    const { app, signIn } = await startCountingApp();
    await using _app = app;
    for (let round = 0; round < 25; round += 1) {
      const { status } = await signIn(round % 5 === 4 ? "user-password" : "wrong-password");
      expect(status).toBe(round % 5 === 4 ? 200 : 401);
    }
  });

  test.each([
    ["a minute", 60_000],
    ["ten days", 10 * 86_400_000],
  ])("a lock ends after at most 15 minutes when the clock is set back by %s", async (_name, by) => {
    const { app, signIn } = await startCountingApp();
    await using _app = app;
    await times(10, (index) => signIn(`wrong-${index}`));
    app.advance(-by);
    expect((await signIn("user-password")).status).toBe(429);
    app.advance(15 * 60_000);
    expect((await signIn("user-password")).status).toBe(200);
  });
});

describe("second factor", () => {
  const codeAt = (secret: string, epochMs: number) =>
    generateSync({ secret, epoch: Math.floor(epochMs / 1000) });

  async function enrolled() {
    const app = await startForgeApp();
    await app.addUser();
    const basic = "mira:user-password";
    const { json } = await app.request(`${me}/2fa/setup`, { basic, method: "POST" });
    const secret: string = json.secret;
    const enable = { basic, json: { code: codeAt(secret, START) } };
    expect((await app.request(`${me}/2fa/enable`, enable)).status).toBe(204);
    const withCode = (code: string) => app.request(me, { basic, headers: { "X-Gitea-OTP": code } });
    return { app, basic, secret, withCode };
  }

  test("with a second factor a password needs a code, and each code works once", async () => {
    const { app, basic, secret, withCode } = await enrolled();
    await using _app = app;
    expect((await app.request(me, { basic })).status).toBe(401);
    expect((await withCode(codeAt(secret, START))).status).toBe(401);
    const next = codeAt(secret, START + 30_000);
    const attempts = await Promise.all(Array.from({ length: 8 }, () => withCode(next)));
    expect(attempts.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await withCode(next)).status).toBe(401);
  });

  test("a code of an earlier step than the last used one is refused", async () => {
    const { app, secret, withCode } = await enrolled();
    await using _app = app;
    app.advance(60_000);
    expect((await withCode(codeAt(secret, START + 90_000))).status).toBe(200);
    expect((await withCode(codeAt(secret, START + 60_000))).status).toBe(401);
  });

  test("exactly 10 of 60 parallel wrong codes of a second factor are checked", async () => {
    const { app, secret, withCode } = await enrolled();
    await using _app = app;
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => withCode(String(index).padStart(6, "0"))),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(50);
    expect((await withCode(codeAt(secret, START + 30_000))).status).toBe(429);
  });

  test.each([
    ["a minute", 60_000],
    ["an hour", 3_600_000],
    ["ten days", 10 * 86_400_000],
  ])(
    "a sign-in after the clock went back by %s is refused until the clock has caught up",
    async (_name, by) => {
      const { app, basic, secret, withCode } = await enrolled();
      await using _app = app;
      app.advance(by);
      expect((await withCode(codeAt(secret, START + by))).status).toBe(200);
      app.advance(-by);
      for (const ahead of [-30_000, 0, 30_000])
        expect((await withCode(codeAt(secret, START + ahead))).status).toBe(401);
      expect((await app.request(`${me}/2fa`, { basic, method: "DELETE" })).status).toBe(401);
      app.advance(by + 60_000);
      expect((await withCode(codeAt(secret, START + by + 60_000))).status).toBe(200);
    },
  );

  test("ten wrong codes lock the account's password sign-in", async () => {
    const { app, secret, withCode } = await enrolled();
    await using _app = app;
    for (let round = 0; round < 10; round += 1) expect((await withCode("000000")).status).toBe(401);
    expect((await withCode(codeAt(secret, START + 30_000))).status).toBe(429);
  });

  test("an account with a second factor is listed with it, and its tokens work without a code", async () => {
    const { app } = await enrolled();
    await using _app = app;
    const listed = await app.request("/api/v1/admin/users?is_2fa_enabled=true", {
      token: app.token,
    });
    expect(listed.json.map(({ login }: { login: string }) => login)).toEqual(["mira"]);
    const token = await app.tokenOf("mira");
    expect((await app.request(`${me}/2fa`, { token })).json).toEqual({ enabled: true });
  });

  test("a token cannot enrol or disable a second factor", async () => {
    const { app } = await enrolled();
    await using _app = app;
    const token = await app.tokenOf("mira");
    for (const [path, method] of [
      ["/2fa/setup", "POST"],
      ["/2fa", "DELETE"],
    ] as const)
      expect((await app.request(me + path, { token, method })).status).toBe(403);
  });

  test("a second factor is disabled with password and code, or by an administrator", async () => {
    const { app, basic, secret } = await enrolled();
    await using _app = app;
    const headers = { "X-Gitea-OTP": codeAt(secret, START + 30_000) };
    expect((await app.request(`${me}/2fa`, { basic, headers, method: "DELETE" })).status).toBe(204);
    expect((await app.request(me, { basic })).status).toBe(200);
    const reset = () =>
      app.request("/api/v1/admin/users/mira/2fa", { token: app.token, method: "DELETE" });
    expect((await reset()).status).toBe(404);
    const { json } = await app.request(`${me}/2fa/setup`, { basic, method: "POST" });
    const enable = { basic, json: { code: codeAt(json.secret, START) } };
    expect((await app.request(`${me}/2fa/enable`, enable)).status).toBe(204);
    expect((await reset()).status).toBe(204);
    expect((await app.request(me, { basic })).status).toBe(200);
  });

  test("a wrong code does not enable a second factor, and a second enrolment is a conflict", async () => {
    const { app, basic, secret } = await enrolled();
    await using _app = app;
    await app.addUser({ username: "nora" });
    const other = { basic: "nora:user-password" };
    const enable = (code: string) => app.request(`${me}/2fa/enable`, { ...other, json: { code } });
    expect((await enable("123456")).status).toBe(422);
    await app.request(`${me}/2fa/setup`, { ...other, method: "POST" });
    expect((await enable(codeAt(secret, START))).status).toBe(422);
    const headers = { "X-Gitea-OTP": codeAt(secret, START + 30_000) };
    const again = await app.request(`${me}/2fa/setup`, { basic, headers, method: "POST" });
    expect(again.status).toBe(409);
  });

  test("the secret of a second factor is encrypted in the database", async () => {
    const { app, secret } = await enrolled();
    await using _app = app;
    const rows = await app.db.all("SELECT * FROM forge_two_factors");
    expect(JSON.stringify(rows)).not.toContain(secret);
  });
});

describe("tokens", () => {
  let app: ForgeApp;
  beforeAll(async () => {
    app = await startForgeApp();
    await app.addUser();
    await app.addUser({ username: "nora" });
    await app.addUser({ username: "hermit", visibility: "private" });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const of = (name: string) => `/api/v1/users/${name}/tokens`;
  const basic = "mira:user-password";
  const create = (json: unknown, init: TestRequest = { basic }) =>
    app.request(of("mira"), { ...init, json });

  test("creating a token shows its secret once, with scopes in normal form", async () => {
    const scopes = ["read:user", "write:user", "public-only"];
    const made = await create({ name: "first", scopes });
    expect(made.status).toBe(201);
    expectWireShape("AccessToken", made.json);
    expect(made.json).toMatchObject({
      name: "first",
      sha1: expect.stringMatching(/^[0-9a-f]{40}$/),
      scopes: ["public-only", "write:user"],
      created_at: "0001-01-01T00:00:00Z",
    });
    expect(made.json.token_last_eight).toBe(made.json.sha1.slice(-8));
    const listed = await app.request(of("mira"), { basic });
    expectWireShape("AccessToken", listed.json);
    expect(listed.json[0]).toMatchObject({
      name: "first",
      sha1: "",
      created_at: "2026-03-01T12:00:00Z",
    });
    expect(listed.headers.get("x-total-count")).toBe("1");
    expect(listed.headers.has("link")).toBe(false);
    const rows = await app.db.all("SELECT * FROM forge_access_tokens");
    expect(JSON.stringify(rows)).not.toContain(made.json.sha1);
  });

  test("using a token records the time, at most once a minute", async () => {
    const made = await create({ name: "used", scopes: ["read:user"] });
    const lastUsed = async () =>
      (await app.request(of("mira"), { basic })).json.find(
        ({ name }: { name: string }) => name === "used",
      ).last_used_at;
    const use = () => app.request(me, { token: made.json.sha1 });
    app.advance(120_000);
    await use();
    const first = await lastUsed();
    expect(first).not.toBe("2026-03-01T12:00:00Z");
    app.advance(59_000);
    await use();
    expect(await lastUsed()).toBe(first);
    app.advance(2_000);
    await use();
    expect(await lastUsed()).not.toBe(first);
  });

  test.each([
    [{ scopes: ["all"] }, 422, "[Name]: Required"],
    [
      { name: "bad", scopes: ["read:nothing"] },
      400,
      "invalid access token scope provided: invalid access token scope: read:nothing",
    ],
    [
      { name: "bad", scopes: ["all", "ALL"] },
      400,
      "invalid access token scope provided: invalid access token scope: ALL",
    ],
    [{ name: "bad", scopes: [""] }, 400, "access token must have a scope"],
    [{ name: "bad" }, 400, "access token must have a scope"],
  ])("a token with %j is refused", async (json, status, message) =>
    expect(await create(json)).toMatchObject({ status, json: { message } }),
  );

  test("the name of a token can be used once", async () => {
    expect((await create({ name: "once", scopes: ["all"] })).status).toBe(201);
    expect(await create({ name: "once", scopes: ["oops"] })).toMatchObject({
      status: 400,
      json: { message: "access token name has been used already" },
    });
    const twins = await Promise.all([1, 2].map(() => create({ name: "twin", scopes: ["all"] })));
    expect(twins.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201, 400,
    ]);
  });

  test("a token cannot create a broader one, and passes on public-only", async () => {
    const narrow = await app.tokenOf("mira", ["public-only", "write:user"]);
    const by = (name: string, scopes: string[]) =>
      create({ name, scopes }, { basic: `mira:${narrow}` });
    expect(await by("broader", ["write:admin"])).toMatchObject({
      status: 403,
      json: {
        message: "cannot create an access token with a broader scope than the authenticating token",
      },
    });
    expect((await by("narrower", ["read:user"])).json.scopes).toEqual(["public-only", "read:user"]);
  });

  test("creating a token by a token is refused", async () => {
    const token = await app.tokenOf("mira");
    expect(await app.request(of("mira"), { token })).toMatchObject({
      status: 401,
      json: { message: "auth required" },
    });
  });

  test("tokens of others are 403, of hidden profiles 404, and open to administrators", async () => {
    const refused = {
      status: 403,
      json: { message: "doer should be the site admin or be same as the contextUser" },
    };
    expect(await app.request(of("mira"))).toMatchObject(refused);
    expect(await app.request(of("mira"), { basic: "nora:user-password" })).toMatchObject(refused);
    // As for a name that no account has.
    expect(await app.request(of("hermit"), { basic })).toMatchObject({
      status: 404,
      json: { message: "user redirect does not exist [name: hermit]" },
    });
    expect((await app.request(of("hermit"), { basic: "admin:admin-password" })).status).toBe(200);
    expect(await app.request(of("Nobody"), { basic })).toMatchObject({
      status: 404,
      json: { message: "user redirect does not exist [name: nobody]" },
    });
    const narrow = await app.tokenOf("hermit", ["public-only", "read:user"]);
    expect(await app.request(of("hermit"), { basic: `x:${narrow}` })).toMatchObject({
      status: 403,
      json: { message: "token scope is limited to public users" },
    });
  });

  test("a public-only token reads no profile and no organization that is not public", async () => {
    const admin = { token: app.token, method: "POST" };
    for (const [username, visibility] of [
      ["choir", "limited"],
      ["band", "public"],
    ])
      await app.request("/api/v1/admin/users/hermit/orgs", {
        ...admin,
        json: { username, visibility },
      });
    const narrow = await app.tokenOf("hermit", ["public-only", "read:user", "read:organization"]);
    const read = (path: string) => app.request(`/api/v1${path}`, { token: narrow });
    expect(await read("/users/hermit")).toMatchObject({
      status: 403,
      json: { message: "token scope is limited to public users" },
    });
    expect(await read("/orgs/choir")).toMatchObject({
      status: 403,
      json: { message: "token scope is limited to public orgs" },
    });
    expect([(await read("/users/mira")).status, (await read("/orgs/band")).status]).toEqual([
      200, 200,
    ]);
  });

  test("a scope of a new token may be a comma-separated list", async () => {
    const made = await create({ name: "list", scopes: ["read:issue,write:user", "read:user"] });
    expect(made.json.scopes).toEqual(["read:issue", "write:user"]);
    expect(await create({ name: "bad", scopes: ["read:issue,nothing"] })).toMatchObject({
      status: 400,
      json: {
        message: "invalid access token scope provided: invalid access token scope: nothing",
      },
    });
  });

  test("deletes a token by name or id, and only the caller's own", async () => {
    const remove = (idOrName: string | number) =>
      app.request(`${of("mira")}/${idOrName}`, { basic, method: "DELETE" });
    const { id, sha1 } = (await create({ name: "gone", scopes: ["all"] })).json;
    expect((await remove("gone")).status).toBe(204);
    expect((await app.request(me, { token: sha1 })).status).toBe(401);
    expect(await remove("gone")).toMatchObject({ status: 404, json: { message: "not found" } });
    expect(await remove(id)).toMatchObject({
      status: 404,
      json: { message: "access token not found" },
    });
    const foreign = await app.tokenOf("nora");
    const rows = await app.db.all<{ id: number }>(
      "SELECT id FROM forge_access_tokens WHERE last_eight = ?",
      foreign.slice(-8),
    );
    expect((await remove(rows[0]?.id ?? 0)).status).toBe(404);
    expect((await app.request(me, { token: foreign })).status).toBe(200);
    const numeric = (await create({ name: "12345678", scopes: ["all"] })).json;
    expect((await remove("12345678")).status).toBe(404);
    expect((await remove(numeric.id)).status).toBe(204);
  });

  test("lists of tokens are paged, newest first", async () => {
    const page = await app.request(`${of("mira")}?limit=1&page=2`, { basic });
    const all = await app.request(of("mira"), { basic });
    expect(page.json).toEqual([all.json[1]]);
    expect(page.headers.get("x-total-count")).toBe(String(all.json.length));
  });
});
