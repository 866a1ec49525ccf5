import { expect, test } from "vitest";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

test("the command takes no arguments", async () => {
  expect(await optionsOf("whoami", [])).toEqual({});
  expect(await refusalOf("whoami", ["x"])).toContain("takes no arguments");
});

test("prints the accounts of both services", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/user": {
      body: { username: "boss", email: "boss@example.org", is_admin: true, id: 1 },
    },
    "GET /api/auth/me": {
      body: { handle: "mira", email: "mira@example.org", role: "user", id: "x" },
    },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  const ran = await runCli(["whoami", "--json"], { home: home.path });
  expect(ran.json()).toEqual({
    profile: "default",
    url: daemon.url,
    forge: { username: "boss", email: "boss@example.org", is_admin: true },
    vault: { handle: "mira", email: "mira@example.org", role: "user" },
  });
});

test("a service without credentials, or with refused ones, is null; both are exit code 4", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/user": { status: 401, body: { message: "no" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(["whoami", "--json"], { home: home.path });
  expect(ran.error()).toMatchObject({ code: "not_signed_in", exit_code: 4 });
});
