import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { fakeJwt, signIn } from "../../../support/signed-in.ts";

test("the lines become options", async () => {
  expect(await optionsOf("vault password change", ["--password-stdin"])).toEqual({
    passwordStdin: true,
  });
  expect(await optionsOf("vault password confirm", [])).toEqual({});
  expect(await optionsOf("vault password reset", ["--email", "a@b"])).toEqual({
    email: "a@b",
  });
});

describe("changing the password", () => {
  const line = ["vault", "password", "change", "--password-stdin", "--json"];

  test("sends both passwords and the cookie that spares this session", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/change-password": {
        body: { message: "Password changed.", sessions_revoked: 2 },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(line, { home: home.path, stdin: "old one\nnew one\n" });
    expect(ran.json()).toEqual({ message: "Password changed.", sessions_revoked: 2 });
    expect(daemon.requests[0]?.json()).toEqual({
      current_password: "old one",
      new_password: "new one",
    });
    expect(daemon.requests[0]?.headers.cookie).toBe("refresh_token=refresh-1");
  });

  test("changing the password with a wrong present one is refused after one try", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/change-password": {
        status: 401,
        body: { detail: "Current password is incorrect" },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(line, { home: home.path, stdin: "wrong\nnew\n" });
    expect(ran.code).toBe(4);
    expect(ran.error()).toMatchObject({ message: "Current password is incorrect" });
    expect(daemon.requests).toHaveLength(1);
  });

  test.each(["", "one line", "a\nb\nc"])("needs two lines: %j", async (stdin) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(line, { home: home.path, stdin });
    expect(ran.error()).toMatchObject({ code: "missing_input" });
    expect(daemon.requests).toEqual([]);
  });

  test("changing the password without a terminal names the flag", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["vault", "password", "change", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "missing_input",
      hint: "give --password-stdin",
    });
  });
});

describe("resetting the password", () => {
  test("requests a reset link without a sign-in", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/password-reset": { status: 202, body: { message: "Sent, perhaps." } },
    });
    const env = { CROFT_URL: daemon.url };
    const line = ["vault", "password", "reset", "--email", "mira@example.org", "--json"];
    const ran = await runCli(line, { home: home.path, env });
    expect(ran.json()).toEqual({ message: "Sent, perhaps." });
    expect(daemon.requests[0]?.json()).toEqual({ email: "mira@example.org" });
    expect(daemon.requests[0]?.headers.authorization).toBeUndefined();
  });

  test.each([
    ["the.reset.token", "the.reset.token"],
    ["https://x.example/password-reset/confirm?token=a.b%2Bc", "a.b+c"],
  ])("sets another with %s", async (linkOrToken, token) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/password-reset/confirm": {
        body: { message: "Password updated. Please sign in." },
      },
    });
    const env = { CROFT_URL: daemon.url };
    const line = ["vault", "password", "confirm", "--password-stdin"];
    const ran = await runCli(line, { home: home.path, env, stdin: `${linkOrToken}\nnew one` });
    expect(ran).toMatchObject({ code: 0, out: "message\tPassword updated. Please sign in.\n" });
    expect(daemon.requests[0]?.json()).toEqual({ token, new_password: "new one" });
  });
});

test("an access token that has ended is renewed before the password is sent", async () => {
  await using home = await temporaryHome();
  const renewed = fakeJwt(Date.now() + 900_000);
  await using daemon = await fakeDaemon({
    "POST /api/auth/refresh": {
      body: { access_token: renewed, user: {} },
      headers: { "Set-Cookie": ["refresh_token=refresh-2; Max-Age=57600"] },
    },
    "POST /api/auth/change-password": { body: { message: "Done.", sessions_revoked: 0 } },
  });
  await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
  const line = ["vault", "password", "change", "--password-stdin"];
  expect((await runCli(line, { home: home.path, stdin: "a\nb" })).code).toBe(0);
  expect(daemon.requests[1]?.headers).toMatchObject({ authorization: `Bearer ${renewed}` });
});
