import { expect, test } from "vitest";
import { run } from "../../../../cli/main.ts";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { fakeSystem, openInput, runCli, temporaryHome } from "../../support/run-cli.ts";
import { readEntryOfAnyProfile } from "../../support/signed-in.ts";

test("the line becomes options, and one secret is enough", async () => {
  expect(
    await optionsOf("login forge", ["--username", "boss", "--password-stdin", "--totp", "123456"]),
  ).toEqual({ username: "boss", passwordStdin: true, totp: "123456" });
  expect(await optionsOf("login forge", ["--token-stdin"])).toEqual({ tokenStdin: true });
  expect(await refusalOf("login forge", ["--token-stdin", "--password-stdin"])).toMatch(/^croft: /);
});

test("a password is exchanged for a token, which is kept in its place", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/users/boss/tokens": { status: 201, body: { id: 9, sha1: "made-token" } },
  });
  const ran = await runCli(
    ["login", "forge", "--username", "boss", "--password-stdin", "--json", "--totp", "123456"],
    {
      home: home.path,
      env: { CROFT_URL: daemon.url },
      stdin: "s3cret",
    },
  );
  expect(ran.json()).toEqual({
    service: "forge",
    username: "boss",
    profile: "default",
    url: daemon.url,
  });
  const [request] = daemon.requests;
  expect(request?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from("boss:s3cret").toString("base64")}`,
    "x-gitea-otp": "123456",
  });
  expect(request?.json()).toMatchObject({
    scopes: ["all"],
    name: expect.stringMatching(/^croft-cli-[0-9a-f]{8}$/),
  });
  expect(await readEntryOfAnyProfile(home.path, "forge")).toEqual({
    token: "made-token",
    token_id: 9,
    url: daemon.url,
  });
});

test("a given token is tried and kept", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ "GET /api/v1/user": { body: { username: "boss" } } });
  const ran = await runCli(["login", "forge", "--token-stdin"], {
    home: home.path,
    env: { CROFT_URL: daemon.url },
    stdin: "t0ken\n",
  });
  expect(ran).toMatchObject({
    code: 0,
    out: `service\tforge\nusername\tboss\nprofile\tdefault\nurl\t${daemon.url}\n`,
  });
  expect(daemon.requests[0]?.headers.authorization).toBe("token t0ken");
  expect(await readEntryOfAnyProfile(home.path, "forge")).toMatchObject({
    token: "t0ken",
    token_id: null,
  });
});

test.each([
  ["is waited out with a countdown at a terminal", { in: true, err: true }, 0, 2],
  ["ends a script with its time", false, 9, 1],
])("a rate limit %s", async (_case, terminal, code, requests) => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/user": [
      { status: 429, headers: { "Retry-After": "61" }, body: { message: "too many requests" } },
      { body: { username: "boss" } },
    ],
  });
  const ran = await runCli(["login", "forge", "--token-stdin"], {
    home: home.path,
    env: { CROFT_URL: daemon.url },
    stdin: "t0ken\n",
    terminal,
    hurried: true,
  });
  expect(ran.code).toBe(code);
  expect(daemon.requests).toHaveLength(requests);
  expect(ran.err).toContain("too many requests");
  expect(ran.err).toContain(code === 0 ? "Trying again in 1 min 1 s" : "try again in 61 s");
});

test("a wrong password keeps nothing", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/users/boss/tokens": {
      status: 401,
      body: { message: "invalid username, password or token" },
    },
  });
  const ran = await runCli(["login", "forge", "--username", "boss", "--password-stdin", "--json"], {
    home: home.path,
    env: { CROFT_URL: daemon.url },
    stdin: "wrong",
  });
  expect(ran.error()).toMatchObject({ code: "invalid_credentials", exit_code: 4 });
  expect(await readEntryOfAnyProfile(home.path, "forge")).toBeUndefined();
});

const refused = { status: 401, body: { message: "invalid username, password or token" } };

/** Signs in at a terminal, typing each answer when its prompt is shown. */
async function signInWith(typed: readonly (readonly [question: string, keys: string])[]) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/users/boss/tokens": ({ headers }) =>
      headers["x-gitea-otp"] === "123456"
        ? { status: 201, body: { id: 9, sha1: "made-token" } }
        : refused,
  });
  const stdin = openInput();
  const env = { CROFT_URL: daemon.url };
  const system = fakeSystem({ home: home.path, env, stdin, terminal: true });
  let hasEnded = false;
  const running = run(["login", "forge", "--username", "boss"], system).finally(
    () => (hasEnded = true),
  );
  for (const [question, keys] of typed) {
    while (!system.written.err().includes(question)) {
      if (hasEnded) throw new Error(`ended before ${question}: ${system.written.err()}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    stdin.write(keys);
  }
  return { code: await running, err: system.written.err(), requests: daemon.requests.length };
}

test("a terminal is asked for a code of the second factor after a refusal", async () => {
  const ran = await signInWith([
    ["Password:", "s3cret\r"],
    ["Code of your authenticator app", "123 456\r"],
  ]);
  expect(ran).toMatchObject({ code: 0, requests: 2 });
});

test("an account without a second factor is refused as before after an empty code", async () => {
  const ran = await signInWith([
    ["Password:", "wrong\r"],
    ["Code of your authenticator app", "\r"],
  ]);
  expect(ran).toMatchObject({ code: 4, requests: 1 });
});

test.each([
  [[], "if the account has a second factor, give --totp CODE"],
  [["--totp", "000000"], "check the name, the password and the code"],
])("a refused password in a script with %j names the second factor", async (words, hint) => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/users/boss/tokens": refused,
    "POST /api/v1/user/password": refused,
  });
  const lines = [
    ["login", "forge"],
    ["account", "password"],
  ];
  for (const line of lines) {
    const ran = await runCli(
      [...line, "--username", "boss", "--password-stdin", "--json", ...words],
      { home: home.path, env: { CROFT_URL: daemon.url }, stdin: "wrong\nAnother-1-password\n" },
    );
    expect(ran.error()).toMatchObject({ code: "invalid_credentials", exit_code: 4 });
    expect(ran.error()["hint"]).toContain(hint);
  }
});

test("a blocked sign-in names what still works", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/users/boss/tokens": {
      status: 429,
      headers: { "Retry-After": "859" },
      body: { message: "too many failed sign-ins, try again in 859 seconds" },
    },
  });
  const words = ["login", "forge", "--username", "boss", "--password-stdin", "--json"];
  const ran = await runCli(words, {
    home: home.path,
    env: { CROFT_URL: daemon.url },
    stdin: "right",
  });
  expect(ran.error()).toMatchObject({ exit_code: 9, retry_after_s: 859 });
  expect(ran.error()["hint"]).toContain('"croft login forge --token-stdin"');
});

test("a prohibited account is told how an administrator helps, also where none can sign in", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/user": {
      status: 403,
      body: {
        message:
          "This account is prohibited from signing in, please contact your site administrator.",
      },
    },
  });
  const ran = await runCli(["login", "forge", "--token-stdin", "--json"], {
    home: home.path,
    env: { CROFT_URL: daemon.url },
    stdin: "t0ken",
  });
  expect(ran.error()).toMatchObject({ exit_code: 5 });
  expect(ran.error()["hint"]).toMatch(/croft admin user edit .*croft daemon recover-admin NAME/);
});
