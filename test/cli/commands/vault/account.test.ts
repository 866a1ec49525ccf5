import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const account = {
  id: "01a1fdff-ed3d-7ce1-8986-d032f4367fd1",
  handle: "mira",
  email: "mira@example.org",
  role: "user",
  totp_enabled: false,
  created_at: "2026-11-21T12:00:00.000Z",
};
const registerLine = [
  "vault",
  "register",
  "--handle",
  "mira",
  "--email",
  "mira@example.org",
  "--password-stdin",
];

describe("vault register", () => {
  test("the line becomes options", async () => {
    expect(await optionsOf("vault register", registerLine.slice(2))).toEqual({
      handle: "mira",
      email: "mira@example.org",
      passwordStdin: true,
    });
  });

  test("sends the password as it came and no credentials", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/register": { status: 201, body: account },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli([...registerLine, "--json"], {
      home: home.path,
      stdin: " Päss word 1! \n",
    });
    expect(ran.json()).toEqual(account);
    expect(daemon.requests[0]?.json()).toEqual({
      handle: "mira",
      email: "mira@example.org",
      password: " Päss word 1! ",
    });
    expect(daemon.requests[0]?.headers.authorization).toBeUndefined();
  });

  test.each([
    [409, "Email or handle already in use", "conflict", 7, "Email or handle already in use"],
    [
      422,
      "Password must have at least 12 characters",
      "invalid",
      12,
      // All rules that the password breaks, with the flag that takes it.
      "--password-stdin: the password must have at least 12 characters, an upper-case letter, a digit, a special character",
    ],
  ])("answered %i with %s is %s", async (status, detail, code, exit, message) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/register": { status, body: { detail } },
    });
    const options = { home: home.path, stdin: "x", env: { CROFT_URL: daemon.url } };
    const ran = await runCli([...registerLine, "--json"], options);
    expect(ran.code).toBe(exit);
    expect(ran.error()).toMatchObject({ code, message, http_status: status });
  });

  test("vault register with empty input names the missing value", async () => {
    const ran = await runCli([...registerLine, "--json"], { home: "/nowhere", stdin: "" });
    expect(ran.error()).toMatchObject({
      code: "missing_input",
      message: "--password-stdin: standard input is empty",
    });
  });
});

test("me and quota print the API's own objects", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/auth/me": { body: account },
    "GET /api/auth/me/quota": { body: { used_bytes: 1024, limit_bytes: 104_857_600 } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  expect((await runCli(["vault", "me", "--json"], { home: home.path })).json()).toEqual(account);
  const quota = await runCli(["vault", "quota"], {
    home: home.path,
    terminal: true,
    env: { NO_COLOR: "1" },
  });
  expect(quota.out).toBe("used:  1.0 KiB\nlimit: 100.0 MiB\nfree:  100.0 MiB\n");
});
