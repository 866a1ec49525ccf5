import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startTestDaemon } from "../../support/daemon.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

test("the line of a password change becomes options", async () => {
  expect(
    await optionsOf("account password", [
      "--username",
      "mira",
      "--password-stdin",
      "--totp",
      "123456",
    ]),
  ).toEqual({ username: "mira", passwordStdin: true, totp: "123456" });
});

test("a new user changes the first password, signs in, and makes a token", async () => {
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const env = { CROFT_URL: daemon.url };
  const croft = (line: readonly string[], stdin?: string, more: Record<string, string> = {}) =>
    runCli([...line, "--json"], {
      home: home.path,
      env: { ...env, ...more },
      ...(stdin === undefined ? {} : { stdin }),
    });
  const made = await croft(
    [
      "admin",
      "user",
      "create",
      "--username",
      "mira",
      "--email",
      "m@croft.org",
      "--random-password",
    ],
    undefined,
    { CROFT_FORGE_TOKEN: daemon.first?.forge.token ?? "" },
  );
  const { password } = made.json() as { password: string };
  const login = ["login", "forge", "--username", "mira", "--password-stdin"];
  const refused = await croft(login, password);
  expect(refused.code).toBe(5);
  expect(refused.err).toContain("croft account password --username mira");

  const change = ["account", "password", "--username", "mira", "--password-stdin"];
  expect((await croft(change, `${password}\n`)).code).toBe(2);
  expect((await croft(change, "wrong-wrong\nmy own password\n")).code).toBe(4);
  expect((await croft(change, `${password}\nshort\n`)).code).toBe(12);
  expect((await croft(change, `${password}\nmy own password\n`)).json()).toEqual({
    changed: true,
    username: "mira",
  });
  expect((await croft(login, "my own password")).code).toBe(0);
  const token = await croft(["token", "create", "laptop", "--scope", "write:repository"]);
  expect(token.code).toBe(0);
  const repo = (...line: string[]) => croft(["repo", ...line]);
  expect((await repo("create", "notes", "--private", "--init")).json()).toMatchObject({
    full_name: "mira/notes",
    private: true,
    empty: false,
  });
  expect((await repo("create", "mira/other")).json()).toMatchObject({ full_name: "mira/other" });
  for (const line of [["nobody/more"], ["more", "--org", "nobody"]])
    expect((await repo("create", ...line)).code).toBe(6);
  expect((await repo("list", "mira")).json()).toHaveLength(2);
  expect((await repo("search", "note", "--all")).json()).toMatchObject([{ name: "notes" }]);
  // Signed in, the name need not be given.
  const again = ["account", "password", "--password-stdin"];
  expect((await croft(again, "my own password\nmy next password\n")).code).toBe(0);
});

test("a forgotten password is chosen again with the link of a mail", async () => {
  const line = ["--email", "mira@croft.example"];
  expect(await optionsOf("account reset-password", line)).toEqual({
    email: "mira@croft.example",
  });
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const croft = (words: readonly string[], stdin?: string) =>
    runCli([...words, "--json"], {
      home: home.path,
      env: { CROFT_URL: daemon.url },
      ...(stdin === undefined ? {} : { stdin }),
    });
  const email = "keeper@croft.localhost";
  expect((await croft(["account", "reset-password", "--email", email])).json()).toEqual({
    requested: true,
    email,
  });
  const link = await vi.waitFor(
    async () => {
      const [name = ""] = await readdir(join(daemon.home, "outbox"));
      const mail = await readFile(join(daemon.home, "outbox", name), "utf8");
      const found = /https?:\/\/\S+\/user\/recover_account\?code=[\w-]+/.exec(
        mail.replaceAll("=\r\n", "").replaceAll("=3D", "="),
      );
      expect(found).not.toBeNull();
      return found?.[0] ?? "";
    },
    { timeout: 60_000, interval: 20 },
  );
  const confirm = ["account", "confirm-reset", "--password-stdin"];
  expect((await croft(confirm, `${link}\nshort\n`)).code).toBe(12);
  expect((await croft(confirm, `${link}\nanother-password\n`)).json()).toEqual({ changed: true });
  expect((await croft(confirm, `${link}\nanother-password\n`)).code).not.toBe(0);
  const me = await daemon.request("/api/v1/user", { basic: "keeper:another-password" });
  expect(me.status).toBe(200);
});
