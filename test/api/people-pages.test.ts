import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

// The page that shows people with the accounts of both APIs, in a browser that signs in to both.

const PASSWORD = "Correct-Horse-7-Battery";
const PEOPLE = "/vault/admin/people";

let daemon: TestDaemon;
let forge = "";
let vault = "";

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  const password = daemon.first?.password ?? "";
  forge = await signIn("/user/login", { user_name: "keeper", password });
  vault = await signIn("/vault/sign-in", { email: daemon.first?.vault.email ?? "", password });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Signs in on a page and returns the cookie. */
async function signIn(path: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const answer = await send(path, fields, "");
  expect(answer.status).toBe(303);
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

function send(path: string, fields: Record<string, string> | string[][], cookie: string) {
  return daemon.request(path, {
    method: "POST",
    headers: {
      Accept: "text/html",
      "Content-Type": "application/x-www-form-urlencoded",
      "Sec-Fetch-Site": "same-origin",
      Cookie: cookie,
    },
    body: new URLSearchParams(fields).toString(),
  });
}

const both = () => `${forge}; ${vault}`;
const open = (path: string, cookie = both()) =>
  daemon.request(path, { headers: { Accept: "text/html", Cookie: cookie } });

async function submit(
  path: string,
  fields: Readonly<Record<string, string>>,
  cookie = both(),
  seen: string[][] = [],
) {
  const { text } = await open("/vault/account", cookie);
  const token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  return send(path, [["form_token", token], ...Object.entries(fields), ...seen], cookie);
}

/** Submits a form of a person's page as a browser does: with what the page has shown. */
async function submitSeen(path: string, fields: Readonly<Record<string, string>>) {
  return submit(path, fields, both(), await readSeen(path));
}

async function readSeen(path: string): Promise<string[][]> {
  const [form = ""] =
    /<form[^]*?<\/form>/.exec((await open(path)).text.split("</nav>").at(-1) ?? "") ?? [];
  return [...form.matchAll(/name="seen" value="([^"]*)"/g)].map(([, value = ""]) => [
    "seen",
    value,
  ]);
}

async function invite(name: string) {
  const invited = await submit(PEOPLE, {
    name,
    email: `${name}@example.org`,
    full_name: "",
    link: "yes",
  });
  const link = /<pre[^>]*>([^<]+)<\/pre>/.exec(invited.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  return { ...invited, link };
}

test("the page needs the administrators of both sides", async () => {
  expect((await open(PEOPLE, "")).status).toBe(303);
  const ofVault = await open(PEOPLE, vault);
  expect(ofVault.text).toContain("needs the administrator of the forge as well");
  expect(ofVault.text).not.toContain("Invite a person");
  expect((await open(PEOPLE, forge)).status).toBe(303);
  expect((await open("/-/admin/people", forge)).headers.get("location")).toBe(PEOPLE);

  await daemon.request("/api/v1/admin/users", {
    token: daemon.first?.forge.token ?? "",
    json: { username: "plain", email: "plain@example.org", password: PASSWORD },
  });
  await daemon.request("/api/auth/register", {
    json: { handle: "plain", email: "plain@example.org", password: PASSWORD },
  });
  const plain = await signIn("/vault/sign-in", { email: "plain@example.org", password: PASSWORD });
  expect((await open(PEOPLE, `${forge}; ${plain}`)).status).toBe(404);
  const forged = await submit(
    PEOPLE,
    { name: "evil", email: "e@example.org" },
    `${forge}; ${plain}`,
  );
  expect(forged.status).toBe(404);
  const foreign = await send(PEOPLE, { form_token: "x", name: "evil", email: "e@x.org" }, both());
  expect(foreign.status).toBe(403);
  expect((await open(PEOPLE)).text).not.toContain("evil");
});

test("an administrator invites, edits, invites again and removes a person", async () => {
  const { status, link } = await invite("mira");
  expect(status).toBe(200);
  const { pathname, search } = new URL(link);
  expect((await open(pathname + search, "")).status).toBe(200);
  const person = `${PEOPLE}/forge%3Amira`;
  expect((await open(PEOPLE)).text).toContain("name and e-mail");

  const edited = await submitSeen(person, {
    action: "edit",
    name: "mia",
    email: "mia@example.org",
    full_name: "Mia",
    admin: "yes",
    active: "yes",
  });
  expect(edited.headers.get("location")).toBe(PEOPLE);
  expect((await open(pathname + search, "")).status).toBe(410);
  const page = await open(`${PEOPLE}/forge%3Amia`);
  expect(page.text).toContain("mia, administrator, mia@example.org");
  expect(page.text).toContain("has to choose a password");

  const again = await submitSeen(`${PEOPLE}/forge%3Amia`, {
    action: "invite",
    name: "mia",
    email: "mia@example.org",
  });
  expect(again.text).toContain("/-/invitation?forge=");
  const admin = { token: daemon.first?.forge.token ?? "" };
  const change = { login_name: "mia", source_id: 0, active: false };
  await daemon.request("/api/v1/admin/users/mia", { ...admin, method: "PATCH", json: change });
  const invited = { username: "mia", email: "mia@example.org" };
  const useless = await daemon.request("/api/v1/admin/invitations", { ...admin, json: invited });
  expect([useless.status, useless.json.message]).toEqual([409, 'the user "mia" may not sign in']);

  const asked = await submitSeen(`${PEOPLE}/forge%3Amia`, { action: "remove" });
  expect(asked.text).toContain("Remove mia?");
  expect((await open(PEOPLE)).text).toContain("mia@example.org");
  await submitSeen(`${PEOPLE}/forge%3Amia`, { action: "remove-accounts" });
  expect((await open(PEOPLE)).text).not.toContain("mia@example.org");
});

test("a form of a page that is out of date changes nothing, and says what has changed", async () => {
  await invite("olga");
  const person = `${PEOPLE}/forge%3Aolga`;
  const seen = await readSeen(person);
  const admin = { token: daemon.first?.forge.token ?? "" };
  const other = { login_name: "olga", email: "other@example.org", full_name: "Olga" };
  await daemon.request("/api/v1/admin/users/olga", { ...admin, method: "PATCH", json: other });
  const edit = { action: "edit", name: "olga", email: "olga@example.org", active: "yes" };
  for (const fields of [
    edit,
    { action: "remove" },
    { action: "remove-all" },
    { action: "invite" },
  ]) {
    const refused = await submit(person, fields, both(), seen);
    expect(refused.status).toBe(409);
  }
  const ofForge = await daemon.request("/api/v1/users/olga", admin);
  expect(ofForge.json).toMatchObject({ full_name: "Olga" });
  // Another account has the name now.
  await daemon.request("/api/v1/admin/users/olga", {
    ...admin,
    method: "PATCH",
    json: { ...other, email: "olga@example.org", full_name: "" },
  });
  await daemon.request("/api/v1/admin/users/olga?purge=true", { ...admin, method: "DELETE" });
  await daemon.request("/api/v1/admin/users", {
    ...admin,
    json: { username: "olga", email: "olga@example.org", password: PASSWORD },
  });
  const refused = await submit(person, { action: "remove-all" }, both(), seen);
  expect(refused.status).toBe(409);
  expect(refused.text).toContain("the account of the forge");
  expect((await daemon.request("/api/v1/users/olga", admin)).status).toBe(200);
  expect((await submit(person, edit)).status).toBe(409);
  expect((await submitSeen(person, edit)).status).toBe(303);
});

test("a refusal of the second side is shown with what the first one did", async () => {
  const refused = await invite("ab");
  expect(refused.status).toBe(422);
  expect(refused.text).toContain("The account of the forge was made, that of the vault was not.");
  await submitSeen(`${PEOPLE}/forge%3Aab`, { action: "remove-accounts" });

  // The own accounts cannot be removed: neither side changes.
  const own = await submitSeen(`${PEOPLE}/forge%3Akeeper`, { action: "remove-all" });
  expect(own.status).toBe(422);
  expect((await open(PEOPLE)).status).toBe(200);
});

test("the link of an invitation refuses what it was not made for", async () => {
  const { link } = await invite("nora");
  const codes = new URL(link).searchParams;
  const choose = (fields: Readonly<Record<string, string>>, site = "same-origin") =>
    daemon.request("/-/invitation", {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": site },
      body: new URLSearchParams({ password: PASSWORD, again: PASSWORD, ...fields }).toString(),
    });
  const [forgeCode, vaultCode] = [codes.get("forge") ?? "", codes.get("vault") ?? ""];
  expect((await choose({ forge: forgeCode, vault: vaultCode }, "cross-site")).status).toBe(403);
  // Each code is for its own side.
  expect((await choose({ forge: vaultCode, vault: forgeCode })).status).toBe(410);
  expect((await choose({ forge: `${forgeCode}x`, vault: `${vaultCode}x` })).status).toBe(410);
  expect((await choose({ forge: forgeCode, vault: vaultCode, again: "other" })).status).toBe(422);
  // Two browsers send the form at once: one sets the password.
  const sent = await Promise.all(
    ["A", "B"].map((letter) =>
      choose({
        forge: forgeCode,
        vault: vaultCode,
        password: `${PASSWORD}${letter}`,
        again: `${PASSWORD}${letter}`,
      }),
    ),
  );
  expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
  const works = await Promise.all(
    ["A", "B"].map(async (letter) => [
      (await daemon.request("/api/v1/user", { basic: `nora:${PASSWORD}${letter}` })).status,
      (
        await daemon.request("/api/auth/login", {
          json: { email: "nora@example.org", password: `${PASSWORD}${letter}` },
        })
      ).status,
    ]),
  );
  expect(works.toSorted()).toEqual([
    [200, 200],
    [401, 401],
  ]);
});
