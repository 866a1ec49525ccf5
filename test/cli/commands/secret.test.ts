import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
  await people.api("POST", "/admin/users/mira/repos", { name: "box" });
  await people.api("POST", "/admin/users/mira/orgs", { username: "guild" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("the lines of secret and variable commands become options", async () => {
  expect(await optionsOf("secret list", ["--org", "guild"])).toEqual({ org: "guild" });
  expect(await optionsOf("secret set", ["KEY", "--repo", "mira/box", "--value-stdin"])).toEqual({
    name: "KEY",
    repo: "mira/box",
    valueStdin: true,
  });
  expect(await optionsOf("variable set", ["AREA", "--user", "--value", "x"])).toMatchObject({
    name: "AREA",
    user: true,
    value: "x",
  });
});

test.each([[["--repo", "mira/box"]], [["--org", "guild"]], [["--user"]], [["--instance"]]])(
  "secrets and variables of %j are set, shown and deleted by commands",
  async (level) => {
    await using home = await temporaryHome();
    const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.admin };
    const croft = (line: readonly string[], stdin = "") =>
      runCli([...line, ...level, "--json"], { home: home.path, env, stdin });
    const secret = await croft(["secret", "set", "KEY", "--value-stdin"], "canary\n");
    expect([secret.code, secret.json()]).toEqual([0, { name: "KEY" }]);
    expect((await croft(["secret", "list"])).json()).toMatchObject([{ name: "KEY" }]);
    expect((await croft(["secret", "delete", "KEY", "--yes"])).code).toBe(0);
    for (const value of ["north", "south"]) {
      expect((await croft(["variable", "set", "AREA", "--value", value])).code).toBe(0);
      expect((await croft(["variable", "get", "AREA"])).json()).toMatchObject({ data: value });
    }
    await croft(["variable", "set", "AREA", "--value-stdin"], "east\n");
    expect((await croft(["variable", "list"])).json()).toMatchObject([{ data: "east" }]);
    expect((await croft(["variable", "delete", "AREA", "--yes"])).code).toBe(0);
  },
);

test("a command without a level, and one with two, is a usage error", async () => {
  await using home = await temporaryHome();
  for (const level of [[], ["--user", "--instance"]])
    expect(await runCli(["secret", "list", ...level], { home: home.path })).toMatchObject({
      code: 2,
    });
});
