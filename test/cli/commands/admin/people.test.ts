import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateSync } from "otplib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { START, startForgeApp, type ForgeApp } from "../../../support/forge/forge-app.ts";
import { runCli, temporaryHome, type FakeSystemOptions, type Ran } from "../../support/run-cli.ts";

// The commands against the forge itself: the API must accept their requests.

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g";

let app: ForgeApp;
let home: Awaited<ReturnType<typeof temporaryHome>>;
beforeAll(async () => {
  app = await startForgeApp();
  home = await temporaryHome();
  await app.addUser();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

function croft(line: string, options: Partial<FakeSystemOptions> = {}): Promise<Ran> {
  const env = { CROFT_URL: app.url, CROFT_FORGE_TOKEN: app.token, ...options.env };
  return runCli(line.split(" "), { home: home.path, ...options, env });
}

async function done(line: string, options: Partial<FakeSystemOptions> = {}): Promise<Ran> {
  const ran = await croft(line, options);
  expect({ line, code: ran.code, err: ran.err }).toEqual({ line, code: 0, err: "" });
  return ran;
}

describe("users", () => {
  test("view, edit and view again", async () => {
    expect((await done("admin user view mira --json")).json()).toMatchObject({ login: "mira" });
    const edited = await done("admin user edit mira --location Here --restricted true --json");
    expect(edited.json()).toMatchObject({ location: "Here", restricted: true, login_name: "mira" });
    const again = await done("admin user edit mira --restricted false --login-name other --json");
    expect(again.json()).toMatchObject({
      location: "Here",
      restricted: false,
      login_name: "other",
    });
    expect((await done("admin user edit mira --location There --json")).json()).toMatchObject({
      login_name: "other",
    });
    expect((await done("admin user view mira")).out).toContain("location\tThere\n");
  });

  test("a new password is read from standard input, or made and shown once", async () => {
    await done("admin user edit mira --password-stdin", { stdin: "chosen-password\n" });
    const signIn = (password: string) => app.request("/api/v1/user", { basic: `mira:${password}` });
    expect((await signIn("chosen-password")).status).toBe(200);
    const { password } = (await done("admin user edit mira --random-password --json")).json() as {
      password: string;
    };
    expect((await signIn(password)).status).toBe(200);
    expect((await done("admin user view mira --json")).out).not.toContain(password);
  });

  test("the state of a user who may not sign in is visible in list, view and edit", async () => {
    await app.addUser({ username: "otto" });
    const state = async (line: string) => /\bstate\t(\w+)/.exec((await done(line)).out)?.[1];
    const edit = "admin user edit otto --prohibit-login";
    expect(await state("admin user view otto")).toBe("active");
    expect(await state(`${edit} true`)).toBe("prohibited");
    expect(await state("admin user view otto")).toBe("prohibited");
    expect((await done("admin user list --search otto")).out).toContain("\tprohibited\t");
    const listed = await done("admin user list --search otto --json=prohibit_login,active");
    expect(listed.json()).toEqual([{ prohibit_login: true, active: true }]);
    await done(`${edit} false`);
    expect(await state("admin user edit otto --active false")).toBe("inactive");
  });

  test("asks before callers lock themselves out, and never for others", async () => {
    for (const flag of ["--active=false", "--prohibit-login=true", "--admin=false"]) {
      const ran = await croft(`admin user edit Admin ${flag} --json`);
      expect(ran.error()).toMatchObject({ code: "missing_input", exit_code: 2 });
      expect(ran.error()["message"]).toContain("your own account");
      const forced = await croft(`admin user edit Admin ${flag} --yes --json`);
      expect(forced.error()["message"]).toMatch(/can not (?:deactivate|delete) the last admin/);
      expect(forced.error()["hint"]).toContain('"croft admin user edit NAME --admin true"');
      await done(`admin user edit mira ${flag}`);
    }
    await done("admin user edit mira --active true --prohibit-login false");
  });

  test("rename, and --dry-run sends nothing", async () => {
    await app.addUser({ username: "before" });
    const dry = await done("admin user rename before after --dry-run --json");
    expect(dry.json()).toMatchObject({
      dry_run: true,
      request: { method: "POST", body: { new_username: "after" } },
    });
    expect((await done("admin user rename before after --json")).json()).toEqual({
      renamed: true,
      from: "before",
      username: "after",
    });
    for (const name of ["after", "before"])
      expect((await done(`admin user view ${name} --json=login`)).json()).toEqual({
        login: "after",
      });
    const edited = await done("admin user edit before --location Moved --json=location");
    expect(edited.json()).toEqual({ location: "Moved" });
  });

  test("a deletion asks for confirmation, and a purge for the name", async () => {
    await app.addUser({ username: "gone" });
    await app.addUser({ username: "purged" });
    await done("admin org create purgeds --owner purged");
    const refused = await croft("admin user delete gone --json");
    expect(refused.error()).toMatchObject({ code: "missing_input", hint: "give --yes" });
    expect((await done("admin user delete gone --yes --json")).json()).toEqual({
      deleted: true,
      username: "gone",
      purged: false,
    });
    const member = await croft("admin user delete purged --yes --json");
    expect(member.code).toBe(12);
    const unnamed = await croft("admin user delete purged --purge --yes --json");
    expect(unnamed.error()).toMatchObject({ code: "missing_input" });
    const wrong = await croft("admin user delete purged --purge --confirm other --json");
    expect(wrong.code).toBe(2);
    await done("admin user delete purged --purge --confirm purged");
    expect((await croft("admin user view purged --json")).code).toBe(6);
    expect((await croft("admin org view purgeds --json")).code).toBe(6);
  });

  test("public keys come from a file or standard input", async () => {
    await writeFile(join(home.path, "laptop.pub"), `${key} mira@laptop\n`);
    const added = (await done("admin user key add mira laptop.pub --json")).json() as {
      id: number;
    };
    expect(added).toMatchObject({ title: "laptop.pub", user: { login: "mira" } });
    const again = await croft("admin user key add mira - --title other --json", { stdin: key });
    expect(again.error()).toMatchObject({
      exit_code: 12,
      message: "Key content has been used as non-deploy key",
    });
    await done(`admin user key delete mira ${added.id} --yes`);
    await done("admin user key add mira - --title other", { stdin: key });
    expect((await croft("admin user key add mira missing.pub --json")).code).toBe(17);
  });
});

describe("badges", () => {
  test("define, give, list, take and delete", async () => {
    expect((await done("admin badge create gold --description First --json")).json()).toMatchObject(
      {
        slug: "gold",
        description: "First",
      },
    );
    await done("admin badge create silver");
    await done("admin user badge add mira gold silver");
    expect((await done("admin user badge list mira --json=slug")).json()).toEqual([
      { slug: "gold" },
      { slug: "silver" },
    ]);
    await done("admin user badge remove mira gold");
    expect((await done("admin user badge list mira")).out).toMatch(/^\d+\tsilver\t\t\n$/);
    expect((await croft("admin user badge add mira unknown --json")).code).toBe(6);
    await done("admin badge delete silver --yes");
    expect((await done("admin badge list --json=slug")).json()).toEqual([{ slug: "gold" }]);
    expect((await done("admin user badge list mira --json")).json()).toEqual([]);
  });
});

describe("organizations and e-mails", () => {
  test("create, list and view", async () => {
    const made = await done("admin org create team --owner mira --visibility limited --json");
    expect(made.json()).toMatchObject({ name: "team", visibility: "limited" });
    expect((await done("admin org view TEAM --json=id,name")).json()).toMatchObject({
      name: "team",
    });
    expect((await done("admin org list --json=name")).json()).toContainEqual({ name: "team" });
    expect((await croft("admin org create team --owner mira --json")).code).toBe(12);
  });

  test("every page is followed with --all", async () => {
    for (let index = 0; index < 4; index += 1) await app.addUser({ username: `page${index}` });
    const all = (await done("admin email list --limit 3 --all --json=email")).json() as unknown[];
    const found = await done("admin email list --search PAGE --json=username");
    expect(found.json()).toHaveLength(4);
    expect(all.length).toBeGreaterThanOrEqual(6);
    expect((await done("admin email list --limit 3 --json")).json()).toHaveLength(3);
  });
});

describe("the second factor", () => {
  test("setup, enable, disable, and reset by an administrator", async () => {
    await app.addUser({ username: "uma" });
    const env = { CROFT_FORGE_TOKEN: await app.tokenOf("uma") };
    const stdin = "user-password";
    const status = async () => (await done("totp status --json", { env })).json();
    const setUp = (await done("totp setup --password-stdin --json", { env, stdin })).json() as {
      secret: string;
    };
    expect(await status()).toEqual({ enabled: false });
    const codeAt = (seconds: number) =>
      generateSync({ secret: setUp.secret, epoch: START / 1000 + seconds });
    expect((await croft("totp enable 000000 --password-stdin --json", { env, stdin })).code).toBe(
      12,
    );
    await done(`totp enable ${codeAt(0)} --password-stdin`, { env, stdin });
    expect(await status()).toEqual({ enabled: true });
    const disable = `totp disable ${codeAt(30)} --password-stdin --yes --json`;
    expect((await croft(disable, { env, stdin: "wrong-password" })).code).toBe(4);
    expect((await done(disable, { env, stdin })).json()).toEqual({ enabled: false });
    expect((await croft("admin user reset-2fa uma --yes --json")).code).toBe(6);
    await app.db.run("UPDATE forge_users SET two_factor_enabled = 1 WHERE name = 'uma'");
    await done("admin user reset-2fa uma --yes");
    expect(await status()).toEqual({ enabled: false });
  });
});
