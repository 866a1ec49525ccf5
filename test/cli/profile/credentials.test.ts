import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../../cli/main.ts";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { fakeKeyring, fakeSystem, runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

const login = ["login", "forge", "--token-stdin"];
const user = { "GET /api/v1/user": { body: { username: "boss" } } };

const auto = (url: string) => ({ CROFT_URL: url, CROFT_CREDENTIAL_STORE: "auto" });

describe("a login", () => {
  test("a login without a keyring stores credentials in a file of mode 0600 and notes it once", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon(user);
    const options = { home: home.path, stdin: "t0ken", env: auto(daemon.url) };
    const first = await runCli(login, options);
    expect(first.err).toBe(
      `Credentials are kept in files of mode 0600 in ${home.path}/credentials: the keyring cannot be used: there is no keyring.\n`,
    );
    const second = await runCli(login, options);
    expect(second).toMatchObject({ code: 0, err: "" });
    const [file = ""] = await readdir(join(home.path, "credentials"));
    expect((await stat(join(home.path, "credentials", file))).mode & 0o777).toBe(0o600);
  });

  test("a refused login prints no note about the credential file; the next one does", async () => {
    await using home = await temporaryHome();
    await using refusing = await fakeDaemon({ "GET /api/v1/user": { status: 401, body: {} } });
    const refused = await runCli([...login, "--json"], {
      home: home.path,
      stdin: "t0ken",
      env: auto(refusing.url),
    });
    expect(refused.error()).toMatchObject({ code: "invalid_credentials" });
    expect(refused.err.trimEnd()).not.toContain("\n");
    await using daemon = await fakeDaemon(user);
    const taken = await runCli([...login, "--json"], {
      home: home.path,
      stdin: "t0ken",
      env: auto(daemon.url),
    });
    expect(taken.err).toContain("Credentials are kept in files of mode 0600");
  });

  test("a login with a keyring writes no secret to a file, and later commands read it there", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ ...user, "GET /api/v1/admin/users": { body: [] } });
    const keyring = fakeKeyring();
    const options = { home: home.path, stdin: "t0ken", env: auto(daemon.url), keyring };
    expect(await runCli(login, options)).toMatchObject({ code: 0, err: "" });
    expect([...keyring.entries.values()].join()).toContain("t0ken");
    expect(await readdir(home.path)).toEqual(["profiles.json"]);
    expect(await readFile(join(home.path, "profiles.json"), "utf8")).not.toContain("t0ken");
    expect((await runCli(["admin", "user", "list"], options)).code).toBe(0);
    expect(daemon.requests.at(-1)?.headers.authorization).toBe("token t0ken");
    await runCli(["logout", "forge"], options);
    expect(keyring.entries.size).toBe(0);
  });

  test("a login that demands a keyring exits 4 before it reads the secret", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    const env = { CROFT_URL: daemon.url, CROFT_CREDENTIAL_STORE: "keyring" };
    const ran = await runCli([...login, "--json"], { home: home.path, stdin: "t0ken", env });
    expect(ran.error()).toMatchObject({
      code: "credential_store_unavailable",
      exit_code: 4,
      hint: "--credential-store file keeps credentials in a file of mode 0600",
    });
    expect(daemon.requests).toEqual([]);
  });

  test("a login with a hanging keyring uses a file, and the process does not wait for it", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon(user);
    const keyring = { ...fakeKeyring(), setPassword: () => new Promise<never>(() => undefined) };
    const system = fakeSystem({
      hurried: true,
      home: home.path,
      stdin: "t0ken",
      env: auto(daemon.url),
      keyring,
    });
    expect(await run(login, system)).toBe(0);
    expect(system.written.err()).toContain("it did not answer within 3 seconds");
    expect(system.exits).toEqual([0]);
  });
});

describe("files", () => {
  test("files with profiles and credentials are for their owner only, also when they were not", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ ...user, "GET /api/v1/admin/users": { body: [] } });
    await runCli(login, { home: home.path, stdin: "t0ken", env: { CROFT_URL: daemon.url } });
    const profiles = join(home.path, "profiles.json");
    expect((await stat(profiles)).mode & 0o777).toBe(0o600);
    await chmod(profiles, 0o644);
    await runCli(["admin", "user", "list"], { home: home.path, env: { CROFT_URL: daemon.url } });
    expect((await stat(profiles)).mode & 0o777).toBe(0o600);
  });

  test.each([
    "{",
    "[]",
    '{"current":1,"profiles":{}}',
    '{"current":"default","profiles":{"default":7}}',
    '{"current":"default","profiles":{"default":{"id":"a","url":7}}}',
    '{"current":"default","profiles":{"default":{"id":"a","forge":{}}}}',
    '{"current":"default","profiles":{"default":{"id":"a","store":"cloud"}}}',
  ])("a damaged file of profiles is named, and not overwritten: %s", async (text) => {
    await using home = await temporaryHome();
    await writeFile(join(home.path, "profiles.json"), text);
    const ran = await runCli(["profile", "list", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "invalid_config",
      message: `${home.path}/profiles.json is damaged`,
    });
    expect(await readFile(join(home.path, "profiles.json"), "utf8")).toBe(text);
  });

  test("files with a damaged entry ask for a new login", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    await writeFile(join(home.path, "credentials", "0123456789ab.forge.json"), "{");
    const ran = await runCli(["admin", "user", "list", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "not_signed_in",
      message: "the stored forge credentials are damaged",
    });
  });
});
