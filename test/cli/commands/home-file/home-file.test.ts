import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const slackUrl = "https://hooks.slack.example/services/T0/B0/secret-of-slack";
const secrets = ["secret-of-slack", "secret-of-hook", "user:password", "token-in-query"];

let old: TestDaemon;
let fresh: TestDaemon;
let home: Awaited<ReturnType<typeof temporaryHome>>;

beforeAll(async () => {
  [old, fresh] = await Promise.all([startTestDaemon(), startTestDaemon()]);
  home = await temporaryHome();
});
afterAll(async () => {
  await Promise.all([old, fresh, home].map((one) => one[Symbol.asyncDispose]()));
});

/** Runs a line against a daemon as its first administrator. */
function on(daemon: TestDaemon, words: readonly string[], stdin?: string) {
  return runCli(words, {
    home: home.path,
    env: { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: daemon.first?.forge.token },
    ...(stdin === undefined ? {} : { stdin }),
  });
}

async function done(daemon: TestDaemon, line: string, stdin?: string): Promise<void> {
  const ran = await on(daemon, [...line.split(" "), "--json"], stdin);
  expect({ line, code: ran.code, err: ran.err }).toEqual({ line, code: 0, err: "" });
}

test("the line becomes options", async () => {
  expect(await optionsOf("apply", ["-f", "home.yaml"])).toEqual({
    file: "home.yaml",
  });
});

describe("a home is exported from one daemon and applied to another", () => {
  test("export holds accounts, organizations, names of tokens, hooks and settings, and no secret", async () => {
    await done(old, "admin user create --username mira --email mira@example.org --random-password");
    await done(old, "admin user edit mira --location Bergen --admin true --visibility limited");
    await done(old, "token create backup --scope read:repository");
    await done(old, "admin org create acme --owner mira --description Tools");
    const hook = "admin hook create https://ci.example.org/hook --event push --event release";
    await done(old, `${hook} --secret-stdin`, "secret-of-hook");
    await done(old, `admin hook create ${slackUrl} --type slack --channel #builds`);
    await done(old, "admin hook create https://user:password@ci.example.org/a --default");
    await done(old, "admin hook create https://ci.example.org/?t=token-in-query --inactive");
    await done(old, "config set log_level warn");

    const ran = await on(old, ["export"]);
    expect(ran.code).toBe(0);
    for (const secret of [...secrets, old.first?.forge.token ?? ""])
      expect(ran.out).not.toContain(secret);
    expect(parse(ran.out)).toMatchObject({
      version: 1,
      users: [
        { username: old.first?.forge.username, admin: true },
        { username: "mira", location: "Bergen", admin: true, visibility: "limited" },
      ],
      organizations: [{ name: "acme", description: "Tools" }],
      settings: { log_level: "warn" },
    });
    const { users, hooks } = parse(ran.out) as {
      users: { tokens?: { name: string }[] }[];
      hooks: { url?: string; events: string[] }[];
    };
    expect(users[0]?.tokens?.map(({ name }) => name)).toContain("backup");
    expect(hooks).toContainEqual(
      expect.objectContaining({
        url: "https://ci.example.org/hook",
        events: ["push", "release"],
      }),
    );
    expect(hooks.filter(({ url }) => url === undefined)).toHaveLength(3);
    expect(ran.err).toContain("users of the vault are left out");
    await writeFile(join(home.path, "home.yaml"), ran.out);
    await done(old, "config unset log_level");
  });

  const apply = ["apply", "-f", "home.yaml"];

  test("apply --dry-run shows the difference and changes nothing", async () => {
    const ran = await on(fresh, [...apply, "--dry-run", "--json"]);
    expect(ran.code).toBe(0);
    const plan = ran.json() as { action: string; kind: string; name: string }[];
    const short = plan.map(({ action, kind, name }) => `${action} ${kind} ${name}`);
    expect(short).toContain("create user mira");
    expect(short).toContain("create organization acme");
    expect(short).toContain("create hook system gitea https://ci.example.org/hook");
    expect(short).toContain("create setting log_level");
    expect(short).toContain(`skip token ${old.first?.forge.username}/backup`);
    const users = await on(fresh, ["admin", "user", "list", "--json"]);
    expect(users.json()).toHaveLength(1);
  });

  test("apply makes the home match the file, and a second run changes nothing", async () => {
    const ran = await on(fresh, [...apply, "--json"]);
    expect(ran.code).toBe(0);
    expect(ran.err).toContain("croft daemon restart");
    const made = ran.json() as { name: string; kind: string; password: string | null }[];
    expect(made.find(({ kind, name }) => kind === "user" && name === "mira")?.password).toMatch(
      /^\S{16,}$/,
    );
    const again = await on(fresh, [...apply, "--json"]);
    const left = again.json() as { action: string }[];
    expect(left.filter(({ action }) => action !== "skip")).toEqual([]);

    const exported = parse((await on(fresh, ["export"])).out) as Record<string, unknown>;
    const applied = parse(await readFile(join(home.path, "home.yaml"), "utf8")) as typeof exported;
    expect(exported["organizations"]).toEqual(applied["organizations"]);
    expect(exported["settings"]).toEqual(applied["settings"]);
    expect((exported["users"] as object[])[1]).toEqual((applied["users"] as object[])[1]);
  });

  test("an export that is applied to a new home is exported from it unchanged", async () => {
    await using source = await startTestDaemon();
    await using target = await startTestDaemon();
    const twin = "admin hook create https://twin.example.org/hook";
    await done(source, `${twin} --event push`);
    await done(source, `${twin} --event issues --inactive`);
    for (let hook = 0; hook < 51; hook += 1)
      await done(source, `admin hook create https://many.example.org/${hook}`);
    await done(
      source,
      "admin user create --username mira --email mira@example.org --random-password",
    );
    await done(source, "admin org create acme --owner mira");
    const email = JSON.stringify({
      version: 1,
      organizations: [{ name: "acme", email: "acme@example.org" }],
    });
    expect((await on(source, ["apply", "-f", "-"], email)).code).toBe(0);
    const file = join(home.path, "config.yaml");
    const settings =
      "local_roots:\n  - files\n  - /srv/a:b\nallowed_hosts: none\nlog_level: warn\n";
    await writeFile(file, settings);
    const yaml = (await on(source, ["export"])).out;
    const first = parse(yaml) as { users: object[]; hooks: object[]; organizations: object[] };
    expect(first.organizations).toMatchObject([{ owner: "mira", email: "acme@example.org" }]);
    expect(first.hooks).toHaveLength(53);
    expect(first).toMatchObject({
      settings: { local_roots: ["files", "/srv/a:b"], allowed_hosts: "none", log_level: "warn" },
    });
    const path = join(home.path, "equal.yaml");
    await writeFile(path, yaml);
    // Applied where it comes from, it changes nothing.
    const unchanged = (await on(source, ["apply", "-f", path, "--json"])).json();
    expect((unchanged as { action: string }[]).filter(({ action }) => action !== "skip")).toEqual(
      [],
    );
    await writeFile(file, "");
    expect((await on(target, ["apply", "-f", path, "--json"])).code).toBe(0);
    const second = parse((await on(target, ["export"])).out) as typeof first;
    const withoutFirst = (one: typeof first) => ({ ...one, users: one.users.slice(1) });
    expect(withoutFirst(second)).toEqual(withoutFirst(first));
    // The second of two hooks with one address is the one that changes.
    const edited = {
      ...first,
      hooks: first.hooks.map((one, index) => (index === 1 ? { ...one, active: true } : one)),
    };
    const ran = await on(target, ["apply", "-f", "-", "--json"], JSON.stringify(edited));
    const changes = (ran.json() as { action: string; name: string }[]).filter(
      ({ action }) => action === "edit",
    );
    expect(changes).toMatchObject([
      { name: "system gitea https://twin.example.org/hook #2", error: null },
    ]);
    await writeFile(file, "");
  });

  test("apply edits differing objects and ignores those that the file does not name", async () => {
    const text = JSON.stringify({
      version: 1,
      users: [{ username: "MIRA", email: "mira@example.org", location: "Oslo" }],
      hooks: [
        { scope: "system", type: "gitea", url: "https://ci.example.org/hook", events: ["issues"] },
      ],
    });
    await on(fresh, ["admin", "user", "edit", "mira", "--login-name", "mira-ldap"]);
    const ran = await on(fresh, ["apply", "-f", "-", "--json"], text);
    expect(ran.json()).toMatchObject([
      {
        action: "edit",
        kind: "user",
        changes: [{ field: "location", from: "Bergen", to: "Oslo" }],
      },
      {
        action: "edit",
        kind: "hook",
        changes: [{ field: "events", from: ["push", "release"], to: ["issues"] }],
      },
    ]);
    const mira = await on(fresh, ["admin", "user", "view", "mira", "--json"]);
    const kept = { visibility: "limited", is_admin: true, login_name: "mira-ldap" };
    expect(mira.json()).toMatchObject({ location: "Oslo", ...kept });
    expect((await on(fresh, ["apply", "-f", "-", "--json"], text)).json()).toEqual([]);
  });

  test("apply labels new passwords, and warns before it enables a disabled account", async () => {
    const entry = (name: string) => `  - username: ${name}\n    email: ${name}@example.org\n`;
    const file = (active: boolean, prohibited: boolean) =>
      `version: 1\nusers:\n${entry("renate")}    active: ${active}\n    prohibit_login: ${prohibited}\n`;
    const made = await on(fresh, ["apply", "-f", "-"], file(false, true));
    expect(made.out).toMatch(/\tpassword: \S{16,}\t/);
    expect(made.err).toContain("passwords of new accounts are shown only now");
    expect(made.err).not.toContain("enables");
    const warning = "The file enables the disabled account renate of the forge again.";
    for (const [flags, text] of [
      [["--dry-run"], file(true, true)],
      [[], file(true, true)],
      [[], file(true, false)],
    ] as const) {
      const ran = await on(fresh, ["apply", "-f", "-", ...flags], text);
      expect(ran.err).toContain(warning);
    }
    expect((await on(fresh, ["apply", "-f", "-"], file(true, false))).err).not.toContain(warning);
  });

  test("a change that fails leaves the others, and the exit code is 14", async () => {
    const text = JSON.stringify({
      version: 1,
      users: [
        { username: "no spaces", email: "x@example.org" },
        { username: "otto", email: "otto@example.org" },
      ],
    });
    const ran = await on(fresh, ["apply", "-f", "-", "--json"], text);
    expect(ran.code).toBe(14);
    expect(ran.json()).toMatchObject([
      { name: "no spaces", error: expect.stringContaining("invalid") as string },
      { name: "otto", error: null },
    ]);
  });
});

describe("users of the vault", () => {
  /** A folder for each daemon, in which its administrator is signed in to the vault. */
  const signedIn = new Map<TestDaemon, Awaited<ReturnType<typeof temporaryHome>>>();

  beforeAll(async () => {
    for (const daemon of [old, fresh]) {
      const folder = await temporaryHome();
      signedIn.set(daemon, folder);
      const { email } = daemon.first?.vault ?? { email: "" };
      const ran = await runCli(["login", "vault", "--email", email, "--password-stdin"], {
        home: folder.path,
        env: { CROFT_URL: daemon.url },
        stdin: daemon.first?.password ?? "",
      });
      expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    }
  });
  afterAll(async () => {
    for (const folder of signedIn.values()) await folder[Symbol.asyncDispose]();
  });

  /** Runs a line as the administrator of both services. */
  const asVault = (daemon: TestDaemon, words: readonly string[], stdin?: string) =>
    runCli([...words, "--json"], {
      home: signedIn.get(daemon)?.path ?? "",
      env: { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: daemon.first?.forge.token },
      ...(stdin === undefined ? {} : { stdin }),
    });
  const users = (entries: readonly object[]) =>
    JSON.stringify({ version: 1, vault_users: entries });
  const vaultUsersOf = async (daemon: TestDaemon) => {
    const { vault_users: found } = (await asVault(daemon, ["export"])).json() as {
      vault_users: readonly { readonly handle: string }[];
    };
    return found;
  };
  const nora = { handle: "nora", email: "nora@example.org", role: "admin", active: true };
  const otto = { handle: "otto", email: "otto@example.org", role: "user", active: false };

  test("are shown by a dry run and not made", async () => {
    const before = await vaultUsersOf(old);
    const words = ["apply", "-f", "-", "--dry-run"];
    const ran = await asVault(old, words, users([nora]));
    expect(ran.json()).toMatchObject([{ action: "create", kind: "vault_user", name: "nora" }]);
    expect(await vaultUsersOf(old)).toEqual(before);
  });

  test("are created with role and status, and go to another daemon as text", async () => {
    const apply = ["apply", "-f", "-"];
    expect(await asVault(old, apply, users([nora, otto]))).toMatchObject({ code: 0 });
    expect(await vaultUsersOf(old)).toEqual(expect.arrayContaining([nora, otto]));
    expect((await asVault(old, apply, users([nora, otto]))).json()).toEqual([]);

    const text = (await asVault(old, ["export"])).out;
    const moved = await asVault(fresh, apply, text);
    expect(moved.code).toBe(0);
    expect(await vaultUsersOf(fresh)).toEqual(expect.arrayContaining([nora, otto]));
    const again = (await asVault(fresh, apply, text)).json() as { action: string }[];
    expect(again.filter(({ action }) => action !== "skip")).toEqual([]);
  });

  test("are activated and deactivated; address and role stay unchanged, with the reason", async () => {
    const changed = [
      { ...nora, active: false },
      { ...otto, email: "other@example.org", active: true },
    ];
    const ran = await asVault(fresh, ["apply", "-f", "-"], users(changed));
    expect(ran.json()).toMatchObject([
      { action: "edit", name: "nora", error: null },
      {
        action: "skip",
        name: "otto",
        reason: expect.stringContaining("does not let administrators change") as string,
      },
    ]);
    expect(await vaultUsersOf(fresh)).toEqual(
      expect.arrayContaining([{ ...nora, active: false }, otto]),
    );
  });

  test("that cannot be made leave the others, and the exit code is 14", async () => {
    const taken = { ...nora, handle: "nora2" };
    const lena = { handle: "lena", email: "lena@example.org", role: "user", active: true };
    const ran = await asVault(fresh, ["apply", "-f", "-"], users([taken, lena]));
    expect(ran.code).toBe(14);
    expect(ran.json()).toMatchObject([
      { name: "nora2", error: expect.any(String) as string },
      { name: "lena", error: null },
    ]);
  });

  test("need a signed-in administrator of the vault", async () => {
    const ran = await on(fresh, ["apply", "-f", "-", "--json"], users([nora]));
    expect(ran).toMatchObject({ code: 4, out: "" });
  });
});

describe("a text that does not describe a home", () => {
  test.each([
    ["not YAML", "a: [", "is not valid YAML"],
    ["another version", "version: 2", "version:"],
    ["an unknown field", "version: 1\nusers: [{username: a, email: b, pasword: c}]", "users.0"],
    ["aliases without end", "a: &a [x]\nversion: *a", "not"],
  ])("is refused: %s", async (_, text, words) => {
    const ran = await on(fresh, ["apply", "-f", "-", "--json"], text);
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.error()["message"]).toContain(words);
  });
});
