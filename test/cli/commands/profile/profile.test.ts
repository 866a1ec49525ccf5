import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { readEntry, signIn } from "../../support/signed-in.ts";

test("the lines become options", async () => {
  expect(await optionsOf("profile add", ["work", "--use"])).toEqual({
    name: "work",
    use: true,
  });
  expect(await optionsOf("profile use", ["work"])).toEqual({ name: "work" });
});

describe("profiles", () => {
  test("--if-absent prints an existing profile unchanged, and says what differs", async () => {
    await using home = await temporaryHome();
    const add = (...words: string[]) =>
      runCli(["profile", "add", "work", "--if-absent", "--json", ...words], { home: home.path });
    const first = await add("--url", "https://croft.example/");
    expect(first.code).toBe(0);
    const again = await add("--url", "https://other.example/");
    expect(again.code).toBe(0);
    expect(again.json()).toEqual(first.json());
    expect(again.err).toContain('--url is "https://croft.example", not "https://other.example"');
    expect((await add("--use")).json()).toMatchObject({ in_use: true });
    const strict = await runCli(["profile", "add", "work", "--json"], { home: home.path });
    expect(strict.error()).toMatchObject({ code: "conflict" });
  });

  test("profiles are added, listed, used and removed", async () => {
    await using home = await temporaryHome();
    const go = (...words: string[]) => runCli(["profile", ...words], { home: home.path });
    expect((await go("list")).out).toBe("default\ttrue\t\t\t\t\n");
    expect(
      (await go("add", "work", "--url", "https://croft.example/", "--json")).json(),
    ).toMatchObject({
      name: "work",
      in_use: false,
      url: "https://croft.example",
    });
    await go("use", "work");
    expect((await go("list", "--json=name,in_use")).json()).toEqual([
      { name: "default", in_use: false },
      { name: "work", in_use: true },
    ]);
    expect((await go("remove", "work", "--yes", "--json")).json()).toEqual({
      removed: true,
      name: "work",
    });
    expect((await go("list", "--json=name,in_use")).json()).toEqual([
      { name: "default", in_use: true },
    ]);
  });

  test("each have their own daemon and credentials", async () => {
    await using home = await temporaryHome();
    await using one = await fakeDaemon({
      "GET /api/v1/user": { body: { username: "a" } },
      "GET /api/v1/admin/users": { body: [] },
    });
    await using two = await fakeDaemon({
      "GET /api/v1/user": { body: { username: "b" } },
      "GET /api/v1/admin/users": { body: [] },
    });
    for (const [name, daemon] of [
      ["one", one],
      ["two", two],
    ] as const) {
      await runCli(["profile", "add", name, "--url", daemon.url], { home: home.path });
      const login = ["login", "forge", "--token-stdin", "--profile", name];
      await runCli(login, { home: home.path, stdin: `token-${name}` });
    }
    for (const [name, daemon] of [
      ["one", one],
      ["two", two],
    ] as const) {
      const ran = await runCli(["admin", "user", "list"], {
        home: home.path,
        env: { CROFT_PROFILE: name },
      });
      expect(ran.code).toBe(0);
      expect(daemon.requests.at(-1)?.headers.authorization).toBe(`token token-${name}`);
    }
    expect(await readdir(join(home.path, "credentials"))).toHaveLength(2);
  });

  test("take their credentials with them when they go", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "http://127.0.0.1:9", forgeToken: "t", vault: {} });
    await runCli(["profile", "remove", "default", "--yes"], { home: home.path });
    expect([await readEntry(home.path, "forge"), await readEntry(home.path, "vault")]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test.each([
    [["add", "../x"], "usage", '"../x" cannot be the name of a profile'],
    [["add", "x", "--url", "https://user:pass@h"], "invalid_config", "--url takes an address"],
    [["use", "nobody"], "not_found", 'there is no profile "nobody"'],
    [["remove", "nobody", "--yes"], "not_found", 'there is no profile "nobody"'],
    [
      ["remove", "default"],
      "missing_input",
      '"Remove the profile default and its credentials?" must be confirmed',
    ],
  ])("refuse %j", async (words, code, message) => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "http://127.0.0.1:9", forgeToken: "t" });
    const ran = await runCli(["profile", ...words, "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code });
    expect(ran.error()["message"]).toContain(message);
  });

  test("profiles that are named and missing stop every command", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["vault", "me", "--profile", "nobody", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "invalid_config",
      hint: '"croft profile add nobody" makes it',
    });
  });
});
