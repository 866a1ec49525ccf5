import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { startSmtpServer } from "../../support/smtp-server.ts";
import { optionsOf, refusalOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

const PASSWORD = "Correct-Horse-7-Battery";

let daemon: TestDaemon;
let mailing: TestDaemon;
let mails: Awaited<ReturnType<typeof startSmtpServer>>;
const homes: (AsyncDisposable & { readonly path: string })[] = [];
const homeOf = new Map<TestDaemon, string>();

beforeAll(async () => {
  mails = await startSmtpServer();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  mailing = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_SMTP_URL: mails.url },
  });
  for (const each of [daemon, mailing]) {
    const home = await temporaryHome();
    homes.push(home);
    homeOf.set(each, home.path);
    const { url, first } = each;
    await signIn(home.path, { url, forgeToken: first?.forge.token ?? "" });
    const email = first?.vault.email ?? "";
    const line = ["login", "vault", "--email", email, "--password-stdin"];
    const ran = await runCli(line, { home: home.path, stdin: first?.password ?? "" });
    expect(ran.code, ran.err).toBe(0);
  }
}, 120_000);
afterAll(async () => {
  for (const home of homes) await home[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await mailing[Symbol.asyncDispose]();
  await mails.close();
});

const croft = (line: readonly string[], on = daemon) =>
  runCli([...line, "--json"], { home: homeOf.get(on) ?? "" });

async function people(on = daemon) {
  const ran = await croft(["people", "list"], on);
  expect(ran.code, ran.err).toBe(0);
  return JSON.parse(ran.out) as Record<string, unknown>[];
}
const named = async (name: string) => (await people()).filter((one) => one["name"] === name);

/** Chooses a password on the page of an invitation. */
function choose(link: string, password: string, on = daemon) {
  const query = new URL(link).searchParams;
  return on.request("/-/invitation", {
    method: "POST",
    headers: {
      "Content-Type": "application/x-www-form-urlencoded",
      "Sec-Fetch-Site": "same-origin",
    },
    body: new URLSearchParams({
      forge: query.get("forge") ?? "",
      vault: query.get("vault") ?? "",
      password,
      again: password,
    }).toString(),
  });
}
const open = (link: string, on = daemon) => {
  const { pathname, search } = new URL(link);
  return on.request(pathname + search, { headers: { Accept: "text/html" } });
};
const signsIn = async (name: string, password: string, on = daemon) => ({
  forge: (await on.request("/api/v1/user", { basic: `${name}:${password}` })).status,
  vault: (await on.request("/api/auth/login", { json: { email: `${name}@example.org`, password } }))
    .status,
});

async function add(name: string, ...flags: string[]) {
  const ran = await croft(["people", "add", name, "--email", `${name}@example.org`, ...flags]);
  return { ...ran, added: ran.code === 0 ? JSON.parse(ran.out) : undefined };
}

test("the lines become options", async () => {
  expect(
    await optionsOf("people add", ["mira", "--email", "m@x.org", "--link", "--only", "vault"]),
  ).toEqual({ name: "mira", email: "m@x.org", link: true, only: "vault" });
  expect(await optionsOf("people edit", ["mira", "--rename", "mia", "--active", "false"])).toEqual({
    name: "mira",
    rename: "mia",
    active: "false",
  });
  expect(await refusalOf("people add", ["mira"])).toContain("--email");
  expect(await refusalOf("people remove", ["mira", "--only", "mail"])).toContain(
    "takes forge or vault",
  );
});

test("an invited person chooses one password once, for both accounts", async () => {
  const { added } = await add("mira", "--full-name", "Mira L");
  expect(added).toMatchObject({ forge: "created", vault: "created", mailed: false });
  expect(await signsIn("mira", "")).toEqual({ forge: 401, vault: 401 });
  const page = await open(added.link);
  expect(page.status).toBe(200);
  expect(page.text).toContain("for your repositories and for your documents");
  expect(page.text).toContain("at least 12 characters");
  expect(page.headers.get("cache-control")).toBe("no-store");

  // A weak password is set on neither side.
  expect((await choose(added.link, "short")).status).toBe(422);
  expect(await signsIn("mira", "short")).toEqual({ forge: 401, vault: 401 });
  expect((await choose(added.link, PASSWORD)).status).toBe(200);
  expect(await signsIn("mira", PASSWORD)).toEqual({ forge: 200, vault: 200 });

  expect((await open(added.link)).status).toBe(410);
  expect((await choose(added.link, "Other-Horse-7-Battery")).status).toBe(410);
  expect(await signsIn("mira", PASSWORD)).toEqual({ forge: 200, vault: 200 });
  expect(await named("mira")).toEqual([
    {
      name: "mira",
      matched_by: "name and e-mail",
      forge_username: "mira",
      forge_email: "mira@example.org",
      forge_admin: false,
      forge_active: true,
      vault_handle: "mira",
      vault_email: "mira@example.org",
      vault_admin: false,
      vault_active: true,
      vault_must_choose: false,
    },
  ]);
  const again = await add("mira");
  expect(again.code).not.toBe(0);
  expect(again.err).toContain("has a password already");
});

test("an invitation can be repeated until a password is chosen, also for the side that is missing", async () => {
  const first = (await add("otto", "--only", "forge")).added;
  expect(first).toMatchObject({ forge: "created", vault: null });
  const both = (await add("otto")).added;
  expect(both).toMatchObject({ forge: "invited again", vault: "created" });
  // The forge's earlier link was replaced.
  expect((await open(first.link)).status).toBe(410);

  // The half of the forge is used elsewhere: the link still works for the other one.
  const token = new URL(both.link).searchParams.get("forge");
  const used = await daemon.request("/api/v1/user/password/reset/confirm", {
    json: { token, new_password: PASSWORD },
  });
  expect(used.status).toBe(204);
  expect((await open(both.link)).text).toContain("It is for your documents.");
  const more = (await add("otto")).added;
  expect(more).toMatchObject({ forge: "kept", vault: "invited again" });
  expect((await choose(both.link, PASSWORD)).status).toBe(200);
  expect(await signsIn("otto", PASSWORD)).toEqual({ forge: 200, vault: 200 });
});

test("nothing is made when the name or the address belongs to another account on one side", async () => {
  await daemon.request("/api/auth/register", {
    json: { handle: "stranger", email: "tess@example.org", password: PASSWORD },
  });
  const refused = await add("tess");
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain("nothing was changed");
  expect(await named("tess")).toEqual([]);
});

test("what the vault refuses after the forge is said, and the command can be repeated", async () => {
  // A handle of the vault has at least three characters; a name of the forge may be shorter.
  const refused = await add("ab");
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain("the forge account was made, that of the vault was not");
  const removed = await croft(["people", "remove", "ab", "--confirm", "ab"]);
  expect(removed.code, removed.err).toBe(0);
  expect(await named("ab")).toEqual([]);
});

test("an edit changes both accounts, and a link to a former address dies", async () => {
  const { added } = await add("nora");
  const edit = (...flags: string[]) => croft(["people", "edit", "nora", ...flags, "--yes"]);
  const moved = await edit("--email", "nora@example.net", "--full-name", "Nora N");
  expect(JSON.parse(moved.out)).toMatchObject({
    forge_email: "nora@example.net",
    vault_email: "nora@example.net",
  });
  expect((await open(added.link)).status).toBe(410);
  expect(JSON.parse((await edit("--active", "false")).out)).toMatchObject({
    forge_active: false,
    vault_active: false,
  });
  expect(JSON.parse((await edit("--active", "true", "--admin", "true")).out)).toMatchObject({
    forge_admin: true,
    vault_admin: true,
    forge_active: true,
  });
  expect(JSON.parse((await edit("--admin", "false", "--rename", "nora2")).out)).toMatchObject({
    name: "nora2",
    forge_username: "nora2",
    vault_handle: "nora2",
    vault_admin: false,
  });
  // The administrator cannot lock out the own accounts.
  const own = await croft(["people", "edit", "keeper", "--active", "false", "--yes"]);
  expect(own.code).not.toBe(0);
  expect(await named("keeper")).toMatchObject([{ forge_active: true, vault_active: true }]);
});

test("accounts of one name with different addresses are never changed together", async () => {
  await daemon.request("/api/v1/admin/users", {
    token: daemon.first?.forge.token ?? "",
    json: { username: "alex", email: "one@example.org", password: PASSWORD },
  });
  await daemon.request("/api/auth/register", {
    json: { handle: "alex", email: "two@example.org", password: PASSWORD },
  });
  expect(await named("alex")).toMatchObject([{ matched_by: "name" }]);
  for (const line of [
    ["remove", "alex", "--confirm", "alex"],
    ["edit", "alex", "--active", "false", "--yes"],
  ]) {
    const refused = await croft(["people", ...line]);
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain("two people");
  }
  const one = await croft(["people", "remove", "alex", "--only", "vault", "--confirm", "alex"]);
  expect(JSON.parse(one.out)).toEqual({ removed: true, name: "alex", forge: false, vault: true });
  expect(await named("alex")).toMatchObject([{ forge_username: "alex", vault_handle: null }]);
});

test("a removal asks for the name, says what goes, and keeps what still owns something", async () => {
  await add("paul");
  await daemon.request("/api/v1/admin/users/paul/repos", {
    token: daemon.first?.forge.token ?? "",
    json: { name: "notes" },
  });
  const unasked = await croft(["people", "remove", "paul", "--yes"]);
  expect(unasked.code).not.toBe(0);
  const owning = await croft(["people", "remove", "paul", "--confirm", "paul"]);
  expect(owning.code).not.toBe(0);
  expect(await named("paul")).toMatchObject([{ forge_username: "paul", vault_handle: "paul" }]);
  const line = ["people", "remove", "paul", "--purge", "--confirm", "paul"];
  const purged = await runCli(line, { home: homeOf.get(daemon) ?? "" });
  expect(purged.err).toContain("1 repository");
  expect(purged.err).toContain("documents");
  expect(await named("paul")).toEqual([]);
});

test("the link is mailed when a mail server is set up, and printed when that is asked for", async () => {
  const line = ["people", "add", "mira", "--email", "mira@example.org"];
  const added = JSON.parse((await croft(line, mailing)).out);
  expect(added).toMatchObject({ forge: "created", vault: "created", mailed: true, link: null });
  const [mail] = await vi.waitFor(
    () => {
      expect(mails.received).toHaveLength(1);
      return mails.received;
    },
    { timeout: 60_000 },
  );
  expect(mail?.to).toEqual(["mira@example.org"]);
  const [link = ""] = /http\S+\/-\/invitation\S+/.exec(mail?.source ?? "") ?? [];
  expect((await choose(link, PASSWORD, mailing)).status).toBe(200);
  expect(await signsIn("mira", PASSWORD, mailing)).toEqual({ forge: 200, vault: 200 });
  const shown = JSON.parse(
    (await croft(["people", "add", "otto", "--email", "otto@example.org", "--link"], mailing)).out,
  );
  expect(shown.mailed).toBe(false);
  expect((await open(shown.link, mailing)).status).toBe(200);
});
