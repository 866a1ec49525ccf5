import { describe, expect, test } from "vitest";
import { toSecondFactor } from "../../../../cli/support/sign-in-attempt.ts";
import { type FakeAnswer, fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { fakeJwt, readEntryOfAnyProfile } from "../../support/signed-in.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const signedIn: FakeAnswer = {
  body: {
    access_token: fakeJwt(now + 900_000),
    user: { id: "1", handle: "mira", email: "mira@example.org", role: "user", totp_enabled: false },
  },
  headers: {
    "Set-Cookie": [
      "other=1",
      "refresh_token=r3fresh; Max-Age=57600; Path=/api/auth/refresh; HttpOnly",
    ],
  },
};
const line = ["login", "vault", "--email", "mira@example.org", "--password-stdin", "--json"];

test("the line becomes options", async () => {
  const words = ["--email", "a@b", "--password-stdin", "--totp", "123456", "--remember"];
  expect(await optionsOf("login vault", words)).toEqual({
    email: "a@b",
    passwordStdin: true,
    totp: "123456",
    remember: true,
  });
  expect(await optionsOf("login vault", ["--backup-code", "abcde-fghij"])).toMatchObject({
    backupCode: "abcde-fghij",
  });
});

async function login(answer: FakeAnswer, more: readonly string[] = []) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ "POST /api/auth/login": answer });
  const options = {
    home: home.path,
    env: { CROFT_URL: daemon.url },
    stdin: "s3cret",
    now: () => now,
  };
  const ran = await runCli([...line, ...more], options);
  return {
    ran,
    url: daemon.url,
    sent: daemon.requests[0],
    kept: await readEntryOfAnyProfile(home.path, "vault"),
  };
}

describe("a sign-in", () => {
  test("keeps access token, its end and the refresh cookie", async () => {
    const { ran, url, sent, kept: stored } = await login(signedIn, ["--remember"]);
    expect(ran.json()).toEqual({
      service: "vault",
      handle: "mira",
      email: "mira@example.org",
      role: "user",
      profile: "default",
      url,
    });
    expect(sent?.json()).toEqual({
      email: "mira@example.org",
      password: "s3cret",
      remember_me: true,
    });
    expect(sent?.headers.authorization).toBeUndefined();
    expect(stored).toEqual({
      access_token: fakeJwt(now + 900_000),
      access_expires_at: now + 900_000,
      refresh_token: "r3fresh",
      refresh_expires_at: now + 57_600_000,
      url,
    });
  });

  test("sends the code that was given", async () => {
    expect((await login(signedIn, ["--totp", "123456"])).sent?.json()).toMatchObject({
      totp_code: "123456",
    });
    expect((await login(signedIn, ["--backup-code", "x-y"])).sent?.json()).toMatchObject({
      backup_code: "x-y",
    });
  });

  test("a sign-in with two second factors is refused before anything is sent", async () => {
    const { ran, sent } = await login(signedIn, ["--totp", "123456", "--backup-code", "x-y"]);
    expect(ran.code).toBe(2);
    expect(sent).toBeUndefined();
  });

  test("a login that needs a code exits 16 without a terminal", async () => {
    const { ran, kept: stored } = await login({ body: { requires_totp: true } });
    expect(ran.code).toBe(16);
    expect(ran.error()).toMatchObject({
      code: "challenge_required",
      hint: "give --totp CODE or --backup-code CODE",
    });
    expect(stored).toBeUndefined();
  });

  test("a sign-in that requires a new password exits 16 and prints the command for it", async () => {
    const { ran } = await login({ body: { requires_password_change: true, user_id: "u" } });
    expect(ran.error()).toMatchObject({
      code: "challenge_required",
      message: "the password must be changed first",
      hint: expect.stringContaining("croft vault password reset --email mira@example.org"),
    });
  });

  test("a sign-in that is refused exits 4", async () => {
    const { ran, kept: stored } = await login({
      status: 401,
      body: { detail: "Incorrect email or password" },
    });
    expect(ran.error()).toMatchObject({
      code: "invalid_credentials",
      message: "Incorrect email or password",
      hint: expect.stringContaining("croft vault password reset --email"),
    });
    expect(stored).toBeUndefined();
  });

  test("answered without a session is an unexpected answer", async () => {
    const { ran, kept: stored } = await login({ ...signedIn, headers: {} });
    expect(ran.error()).toMatchObject({ code: "unexpected_answer" });
    expect(stored).toBeUndefined();
  });
});

test("six digits are a code of the app, anything else a backup code", () => {
  expect(toSecondFactor(" 123 456 ")).toEqual({ totp: "123456" });
  expect(toSecondFactor("abcde-fghij")).toEqual({ backupCode: "abcde-fghij" });
});
