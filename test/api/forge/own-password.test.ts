import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startForgeApp, type ForgeApp } from "../../support/forge/forge-app.ts";

const path = "/api/v1/user/password";
const me = "/api/v1/user";

describe("one's own password", () => {
  let app: ForgeApp;
  beforeAll(async () => {
    app = await startForgeApp();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const change = (
    username: string,
    [current, next, signIn = current]: readonly [string, string, string?],
    headers: Readonly<Record<string, string>> = {},
  ) =>
    app.request(path, {
      basic: `${username}:${signIn}`,
      headers,
      json: { current_password: current, new_password: next },
    });

  test("an account that must change its password can do so, and works afterwards", async () => {
    await app.addUser({ username: "new", must_change_password: true });
    const basic = "new:user-password";
    const refused = await app.request(me, { basic });
    expect(refused.status).toBe(403);
    expect(refused.json.message).toContain(path);
    expect((await change("new", ["user-password", "another-password"])).status).toBe(204);
    expect((await app.request(me, { basic })).status).toBe(401);
    expect((await app.request(me, { basic: "new:another-password" })).status).toBe(200);
  });

  test("a token stays valid, and is usable again after the required password change", async () => {
    await app.addUser({ username: "teller" });
    const token = await app.tokenOf("teller");
    await app.request("/api/v1/admin/users/teller", {
      token: app.token,
      method: "PATCH",
      json: { login_name: "teller", must_change_password: true },
    });
    expect((await app.request(me, { token })).status).toBe(403);
    expect((await change("teller", ["user-password", "another-password"])).status).toBe(204);
    expect((await app.request(me, { token })).status).toBe(200);
  });

  test("a wrong current password is 403", async () => {
    await app.addUser({ username: "wrong" });
    const answer = await change("wrong", ["not-it-at-all", "another-password", "user-password"]);
    expect(answer).toMatchObject({
      status: 403,
      json: { message: "the current password is wrong" },
    });
  });

  test.each([
    ["short", "1234567"],
    ["long", "x".repeat(4097)],
    ["nul", "with-a-\0-nul"],
    ["same", "user-password"],
    ["empty", ""],
  ])("a new password that is %s is 422, and the old one stays", async (name, next) => {
    await app.addUser({ username: name });
    expect((await change(name, ["user-password", next])).status).toBe(422);
    expect((await app.request(me, { basic: `${name}:user-password` })).status).toBe(200);
  });

  test("changing a password by a token or while impersonating is 403", async () => {
    await app.addUser({ username: "owned" });
    const token = await app.tokenOf("owned");
    const json = { current_password: "user-password", new_password: "another-password" };
    expect((await app.request(path, { token, json })).status).toBe(403);
    expect((await app.request(path, { basic: `owned:${token}`, json })).status).toBe(403);
    const asAdmin = { basic: "admin:admin-password", headers: { Sudo: "owned" }, json };
    expect((await app.request(path, asAdmin)).status).toBe(403);
    expect((await app.request(path, { json })).status).toBe(401);
    expect((await app.request(me, { basic: "owned:user-password" })).status).toBe(200);
  });

  test("accounts that may not sign in cannot change their password", async () => {
    await app.addUser({ username: "shut", must_change_password: true });
    await app.request("/api/v1/admin/users/shut", {
      token: app.token,
      method: "PATCH",
      json: { login_name: "shut", active: false },
    });
    expect((await change("shut", ["user-password", "another-password"])).status).toBe(403);
  });

  test("of concurrent password changes exactly one succeeds", async () => {
    await app.addUser({ username: "twice" });
    const answers = await Promise.all(
      ["first-password", "second-password"].map((next) => change("twice", ["user-password", next])),
    );
    expect(answers.map(({ status }) => status).toSorted()).not.toEqual([204, 204]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
  });

  test("wrong current passwords are limited, also in parallel, without locking the sign-in", async () => {
    await app.addUser({ username: "guessed" });
    const answers = await Promise.all(
      Array.from({ length: 14 }, (_, at) =>
        change("guessed", [`guess-${at}-guess`, "another-password", "user-password"]),
      ),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(403), count(429)]).toEqual([10, 4]);
    expect((await change("guessed", ["user-password", "another-password"])).status).toBe(429);
    expect((await app.request(me, { basic: "guessed:user-password" })).status).toBe(200);
    app.advance(15 * 60_000);
    expect((await change("guessed", ["user-password", "another-password"])).status).toBe(204);
  });
});
