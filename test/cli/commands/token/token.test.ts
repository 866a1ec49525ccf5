import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const token = {
  id: 7,
  name: "ci",
  sha1: "",
  token_last_eight: "12345678",
  scopes: ["read:user"],
  created_at: "2026-11-20T12:00:00Z",
  last_used_at: "2026-11-20T12:00:00Z",
};

/** The token routes take Basic only: name and token of the caller. */
const basic = (name: string, secret: string) =>
  `Basic ${Buffer.from(`${name}:${secret}`).toString("base64")}`;

test("the lines become options", async () => {
  expect(await optionsOf("token list", ["--username", "bob"])).toEqual({
    username: "bob",
  });
  expect(
    await optionsOf("token create", ["ci", "--scope", "read:user", "--scope", "write:issue"]),
  ).toEqual({
    name: "ci",
    scope: ["read:user", "write:issue"],
  });
  expect(await optionsOf("token delete", ["7"])).toEqual({ token: "7" });
});

describe("the caller's own tokens", () => {
  test("the caller's own tokens are listed with Basic authentication", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/users/boss/tokens": { body: [token], headers: { "X-Total-Count": "1" } },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t0ken" });
    const ran = await runCli(["token", "list"], { home: home.path });
    expect(ran.out).toBe(
      "7\tci\t12345678\tread:user\t2026-11-20T12:00:00Z\t2026-11-20T12:00:00Z\n",
    );
    expect(daemon.requests[0]?.headers.authorization).toBe(basic("boss", "t0ken"));
  });

  test("looks up the token owner at the forge when the token comes from the environment", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/user": { body: { username: "ci-bot" } },
      "GET /api/v1/users/ci-bot/tokens": { body: [] },
    });
    const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: "envtoken" };
    expect((await runCli(["token", "list"], { home: home.path, env })).code).toBe(0);
    expect(daemon.requests[1]?.headers.authorization).toBe(basic("ci-bot", "envtoken"));
  });

  test("the caller's own tokens are made with scopes, and the secret is printed", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/v1/users/boss/tokens": { status: 201, body: { ...token, sha1: "5ecre7" } },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const line = ["token", "create", "ci", "--scope", "read:user,write:issue"];
    const ran = await runCli([...line, "--jq", ".sha1"], { home: home.path });
    expect(ran).toMatchObject({ code: 0, out: "5ecre7\n" });
    expect(daemon.requests[0]?.json()).toEqual({
      name: "ci",
      scopes: ["read:user", "write:issue"],
    });
  });

  test("the caller's own tokens are deleted only after a confirmation", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "DELETE /api/v1/users/boss/tokens/ci": { status: 204 },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const refused = await runCli(["token", "delete", "ci", "--json"], { home: home.path });
    expect(refused.error()).toMatchObject({ code: "missing_input", hint: "give --yes" });
    expect(daemon.requests).toEqual([]);
    const ran = await runCli(["token", "delete", "ci", "--yes", "--json"], { home: home.path });
    expect(ran.json()).toEqual({ deleted: true, username: "boss", token: "ci" });
  });
});
