import { describe, expect, test } from "vitest";
import { fakeDaemon } from "./support/fake-daemon.ts";
import { runCli, temporaryHome } from "./support/run-cli.ts";
import { signIn } from "./support/signed-in.ts";

describe("a refusal of the daemon", () => {
  test.each([
    ["[Username]: invalid username", '--username: "a b" is not a user name'],
    ["[Email]: Email", '--email: "x" is not an e-mail address'],
    ["[FullName]: MaxSize", '--full-name: "F" is too long'],
    ["[SourceID]: Required", "source id: is missing"],
    ["user already exists [name: a b]", "user already exists"],
  ])("%j names the flag and the allowed values", async (message, text) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/v1/admin/users": () => ({ status: 422, body: { message } }),
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const line = ["admin", "user", "create", "--username", "a b", "--email", "x", "--full-name"];
    const ran = await runCli([...line, "F", "--random-password"], { home: home.path });
    expect(ran.code).toBe(12);
    expect(ran.err).toContain(text);
  });

  test("a refused forge account reports every wrong value, with its flag, for people and for scripts", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/v1/admin/users": () => ({
        status: 422,
        body: { message: "[Username]: invalid username" },
      }),
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const line = ["admin", "user", "create", "--username", "a b", "--email", "x"];
    const options = { home: home.path, stdin: "short" };
    const ran = await runCli([...line, "--password-stdin"], options);
    expect(ran.code).toBe(12);
    for (const text of [
      '--username: "a b" is not a user name',
      '--email: "x" is not an e-mail address',
      "--password-stdin: the password has fewer than 8 characters",
    ])
      expect(ran.err).toContain(text);
    const machine = await runCli([...line, "--password-stdin", "--json"], options);
    expect(machine.error()["message"]).toContain("--email: ");
    expect(machine.error()["message"]).toContain("--password-stdin: ");
    expect(machine.err).not.toContain("short");
  });

  test("a refused vault account reports a weak password beside the other values", async () => {
    await using home = await temporaryHome();
    const refusal = (msg: string, ...loc: string[]) => ({ loc, msg, type: "value_error" });
    await using daemon = await fakeDaemon({
      "POST /api/auth/register": () => ({
        status: 422,
        body: {
          detail: [refusal("A handle is …", "body", "handle"), refusal("No", "body", "email")],
        },
      }),
    });
    const line = ["vault", "register", "--handle", "1", "--email", "x", "--password-stdin"];
    const ran = await runCli(line, {
      home: home.path,
      env: { CROFT_URL: daemon.url },
      stdin: "weak",
    });
    expect(ran.code).toBe(12);
    expect(ran.err).toContain("--handle: A handle is …; --email: No; --password-stdin: ");
    expect(ran.err).toContain("must have at least 12 characters, an upper-case letter, a digit");
  });

  test("a refused password alone reports every rule that it breaks", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/register": () => ({
        status: 422,
        body: { detail: "Password must have at least 12 characters" },
      }),
    });
    const names = ["--handle", "mira", "--email", "mira@example.org"];
    const ran = await runCli(["vault", "register", ...names, "--password-stdin"], {
      home: home.path,
      env: { CROFT_URL: daemon.url },
      stdin: "weak",
    });
    expect(ran.err).toContain("at least 12 characters, an upper-case letter, a digit, a special");
  });

  test.each([
    ["PasswordIsRequired", "--password-stdin: the password is shorter"],
    ["PasswordComplexity", "--password-stdin: the password lacks a kind of characters"],
  ])("the forge's refusal %s is explained", async (message, text) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/v1/admin/users": () => ({ status: 400, body: { message } }),
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const names = ["--username", "mira", "--email", "mira@example.org"];
    const ran = await runCli(["admin", "user", "create", ...names, "--password-stdin"], {
      home: home.path,
      stdin: "Only-letters",
    });
    expect(ran.code).toBe(12);
    expect(ran.err).toContain(text);
  });

  test("a refused token of the environment is not helped by signing in alone", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/user/repos": () => ({ status: 401, body: { message: "invalid" } }),
    });
    const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: "a".repeat(40) };
    const ran = await runCli(["repo", "list"], { home: home.path, env });
    expect(ran).toMatchObject({ code: 4 });
    expect(ran.err).toContain("the token comes from CROFT_FORGE_TOKEN");
  });

  test("names the missing object", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/repos/a/b/actions/runs": () => ({ status: 404, body: { message: "not found" } }),
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const ran = await runCli(["run", "list", "a/b"], { home: home.path });
    expect(ran).toMatchObject({ code: 6 });
    expect(ran.err).toBe('croft: not found: a/b\n"croft repo list" shows your repositories\n');
  });
});
