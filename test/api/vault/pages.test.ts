import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPageBrowser, type PageBrowser } from "../../support/vault/page-browser.ts";
import { OTHER_STRONG, totpCode } from "../../support/vault/vault-accounts.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let mira: VaultPerson;
let nora: VaultPerson;
let addresses = 0;
let now = Date.now();

/** A browser with an address of its own. */
const newBrowser = () => createPageBrowser(daemon, `198.51.100.${(addresses += 1)}`);

async function signedIn(person: VaultPerson): Promise<PageBrowser> {
  const browser = newBrowser();
  const answer = await browser.submit("/vault/sign-in", {
    email: person.email,
    password: person.password,
  });
  expect(answer.status).toBe(303);
  return browser;
}

const browsers = new Map<VaultPerson, PageBrowser>();
/** The browser of a person, which stays signed in: sign-ins are few in a quarter of an hour. */
async function browserOf(person: VaultPerson): Promise<PageBrowser> {
  const browser = browsers.get(person) ?? (await signedIn(person));
  browsers.set(person, browser);
  return browser;
}

async function upload(person: VaultPerson, name: string, text: string, type = "text/plain") {
  const form = new FormData();
  form.append("filename", name);
  form.append("file", new Blob([text], { type }), name);
  const { json } = await person.request("/api/documents/upload", { method: "POST", body: form });
  return json.id as string;
}

async function newPerson(handle: string): Promise<VaultPerson> {
  const person = createPerson(daemon, handle, `203.0.113.${(addresses += 1)}`);
  expect((await person.register()).status).toBe(201);
  await person.signIn();
  return person;
}

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now });
  mira = await newPerson("mira");
  nora = await newPerson("nora");
}, 120_000);
afterAll(() => daemon?.[Symbol.asyncDispose]());

describe("the session of a browser", () => {
  test("is a cookie of the vault's pages only, and no page has a token of the API", async () => {
    const browser = await signedIn(mira);
    expect(browser.setCookie).toMatch(
      /^croft_vault_session=[\w-]{43}; Path=\/vault; HttpOnly; SameSite=Strict; Max-Age=57600$/,
    );
    const { text, status } = await browser.open("/vault");
    expect(status).toBe(200);
    expect(text).not.toContain(browser.cookie);
    expect(text).not.toMatch(/eyJ[\w-]+\./);
    await browser.submit("/vault/sign-in", {
      email: mira.email,
      password: mira.password,
      remember: "yes",
    });
    expect(browser.setCookie).toContain("Max-Age=2592000");
  });

  test("is used by two tabs at once, and ends with the sign-out of one of them", async () => {
    const browser = await signedIn(mira);
    const tabs = await Promise.all(Array.from({ length: 8 }, () => browser.open("/vault")));
    expect(tabs.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const { cookie } = browser;
    expect((await browser.submit("/vault/sign-out", {})).headers.get("location")).toBe(
      "/vault/sign-in",
    );
    expect(browser.setCookie).toContain("Max-Age=0");
    browser.cookie = cookie;
    expect((await browser.open("/vault")).status).toBe(303);
  });

  test("leads to the sign-in and back once it has expired, from pages and forms", async () => {
    const browser = await signedIn(mira);
    now += 17 * 3_600_000;
    const back = "/vault?topic=House&sort=name";
    const refused = await browser.open(back);
    expect(refused.headers.get("location")).toBe(`/vault/sign-in?to=${encodeURIComponent(back)}`);
    const { cookie } = browser;
    browser.cookie = "";
    const form = await browser.submit("/vault/chosen", { id: "x", action: "delete" }, back);
    expect(form.headers.get("location")).toBe(`/vault/sign-in?to=${encodeURIComponent(back)}`);
    browser.cookie = cookie;
    const again = await browser.submit("/vault/sign-in", {
      email: mira.email,
      password: mira.password,
      to: back,
    });
    expect(again.headers.get("location")).toBe(back);
    await mira.signIn();
    await nora.signIn();
  });

  test("does not return to another server or another part of this one", async () => {
    for (const to of ["https://evil.example/vault", "//evil.example", "/vaultx", "/user/login"]) {
      const browser = newBrowser();
      const { email, password } = mira;
      const answer = await browser.submit("/vault/sign-in", { email, password, to });
      expect(answer.headers.get("location")).toBe("/vault");
    }
  });

  test("is listed and revoked as every session of the API", async () => {
    const browser = await signedIn(mira);
    const { json } = await mira.request("/api/auth/sessions");
    expect(json.total).toBeGreaterThan(1);
    await mira.request("/api/auth/logout-all", { method: "POST" });
    expect((await browser.open("/vault")).status).toBe(303);
    await mira.signIn();
  });

  test("ends with the deactivation of the account", async () => {
    const person = await newPerson("leaver");
    const browser = await signedIn(person);
    const keeper = createPerson(daemon, "keeper", "203.0.113.250");
    await keeper.signIn({
      email: daemon.first?.vault.email,
      password: daemon.first?.password,
    });
    const { json } = await keeper.request("/api/admin/users?q=leaver");
    await keeper.request(`/api/admin/users/${json.items[0].id}/status`, {
      method: "PATCH",
      json: { is_active: false },
    });
    expect((await browser.open("/vault")).status).toBe(303);
  });
});

describe("the sign-in", () => {
  test("asks for the second factor in a step of its own, and takes a code or a recovery code once", async () => {
    const person = await newPerson("factor");
    const { secret } = (await person.request("/api/auth/totp/setup")).json;
    const enabled = await person.request("/api/auth/totp/enable", {
      method: "POST",
      json: { code: totpCode(secret, now) },
    });
    const [recovery] = enabled.json.backup_codes as string[];
    now += 60_000;
    const browser = newBrowser();
    const challengeOf = async () => {
      const answer = await browser.submit("/vault/sign-in", {
        email: person.email,
        password: person.password,
        to: "/vault?q=x",
      });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("set-cookie")).toBeNull();
      expect(answer.text).not.toContain(person.password);
      return /name="challenge" value="([^"]+)"/.exec(answer.text)?.[1] ?? "";
    };
    const challenge = await challengeOf();
    const answerWith = (code: string, given = challenge) =>
      browser.submit("/vault/sign-in/code", { challenge: given, code, to: "/vault?q=x" });
    expect((await answerWith("000000")).text).toContain("Incorrect code");
    const done = await answerWith(totpCode(secret, now));
    expect(done.headers.get("location")).toBe("/vault?q=x");
    expect((await browser.open("/vault")).status).toBe(200);
    browser.cookie = "";
    expect((await answerWith(recovery ?? "", await challengeOf())).status).toBe(303);
    browser.cookie = "";
    expect((await answerWith(recovery ?? "", await challengeOf())).text).toContain(
      "Invalid or already used code",
    );
    const late = await challengeOf();
    now += 301_000;
    expect((await answerWith(totpCode(secret, now), late)).text).toContain("took too long");
    expect((await answerWith("000000", "x.y.z")).status).toBe(401);
  });

  test("counts attempts by address together with the API, and by e-mail address", async () => {
    const browser = newBrowser();
    const attempt = () =>
      browser.submit("/vault/sign-in", { email: "x@example.org", password: "y" });
    const statuses: number[] = [];
    for (let count = 0; count < 11; count += 1) statuses.push((await attempt()).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
    const other = newBrowser();
    const refused = await other.submit("/vault/sign-in", { email: "x@example.org", password: "y" });
    expect(refused).toMatchObject({ status: 429 });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.text).toContain("Too many login attempts");
  });

  test("refuses a form that another site sends", async () => {
    const answer = await daemon.request("/vault/sign-in", {
      method: "POST",
      body: new URLSearchParams({ email: mira.email, password: mira.password }).toString(),
      headers: {
        "Content-Type": "application/x-www-form-urlencoded",
        "Sec-Fetch-Site": "cross-site",
      },
    });
    expect(answer.status).toBe(403);
  });
});

/** The newest link to choose a password that was mailed to an address. */
async function mailedLink(email: string): Promise<string> {
  const outbox = join(daemon.home, "outbox");
  return vi.waitFor(
    async () => {
      for (const name of (await readdir(outbox)).toSorted().toReversed()) {
        const mail = (await readFile(join(outbox, name), "utf8")).replace(/=\r?\n/g, "");
        const link = /(\/password-reset\/confirm\?token=\S+)/.exec(mail)?.[1];
        if (mail.includes(`To: ${email}`) && link !== undefined) return link.replace("=3D", "=");
      }
      throw new Error(`no mail to ${email}`);
    },
    { timeout: 60_000, interval: 50 },
  );
}

test("a link of a mail sets a password, works once, and ends signed in", async () => {
  const person = await newPerson("forgetful");
  const browser = newBrowser();
  const asked = await browser.submit("/vault/forgot-password", { email: person.email });
  expect(asked.text).toContain("Look into your mail");
  const link = await mailedLink(person.email);
  const { text } = await browser.open(link);
  const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const choose = (password: string, again = password) =>
    browser.submit("/vault/new-password", { token, password, again }, link);
  expect((await choose(OTHER_STRONG, "other")).text).toContain("The two passwords differ.");
  expect((await choose("weak")).text).toContain("Password must have");
  expect((await choose(OTHER_STRONG)).headers.get("location")).toBe("/vault");
  expect((await browser.open("/vault")).text).toContain("forgetful");
  expect((await newBrowser().open(link)).status).toBe(410);
});

describe("the forms and pages of documents", () => {
  test("a form without the token of the session changes nothing", async () => {
    const id = await upload(mira, "kept.txt", "kept");
    const browser = await browserOf(mira);
    for (const token of ["", "x".repeat(43)]) {
      const answer = await browser.submit(`/vault/d/${id}`, {
        form_token: token,
        action: "delete",
      });
      expect(answer.status).toBe(403);
    }
    expect((await mira.request(`/api/documents/${id}`)).status).toBe(200);
  });

  test("a refused form is shown open, with the values that were sent", async () => {
    const id = await upload(mira, "kept.txt", "words");
    const browser = await browserOf(mira);
    const send = async (fields: Record<string, string>) => {
      const { status, text } = await browser.submit(`/vault/d/${id}`, fields);
      expect(status).toBe(422);
      return text;
    };
    const renamed = await send({ action: "rename", filename: "a/b" });
    expect(renamed).toMatch(/<details open=""><summary>Rename/);
    expect(renamed).toContain('value="a/b"');
    const shared = await send({ action: "share", recipient: "no-one", permission: "view" });
    expect(shared).toMatch(/<details open=""><summary>Share with a person/);
    expect(shared).toContain('value="no-one"');
    expect(shared).toContain('value="kept.txt"');
    expect((await browser.open(`/vault/d/${id}`)).text).not.toContain("<details open");
  });

  test("documents of another account are missing, on every page and form", async () => {
    const id = await upload(nora, "secret.txt", "secret words");
    const browser = await browserOf(mira);
    for (const path of [
      `/vault/d/${id}`,
      `/vault/d/${id}/raw`,
      `/vault/d/${id}/download`,
      `/vault/d/${id}/delete`,
      "/vault/d/x",
    ])
      expect((await browser.open(path)).status, path).toBe(404);
    for (const action of ["rename", "share", "delete", "classify", "add-topic"]) {
      const fields = { action, filename: "x", recipient: "nora", permission: "view", topic: "x" };
      expect((await browser.submit(`/vault/d/${id}`, fields)).status, action).toBe(404);
    }
    for (const action of ["download", "topics", "share", "delete"])
      expect((await browser.submit("/vault/chosen", { id, action })).status, action).toBe(404);
    expect((await nora.request(`/api/documents/${id}`)).json.filename).toBe("secret.txt");
  });

  test("HTML is never sent as a page, and a PDF may be framed by the vault only", async () => {
    const browser = await browserOf(mira);
    const html = await upload(mira, "page.html", "<script>alert(1)</script>", "text/html");
    const raw = await browser.open(`/vault/d/${html}/raw`);
    expect(raw.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(raw.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(raw.headers.get("x-content-type-options")).toBe("nosniff");
    const pdf = await upload(mira, "x.pdf", "%PDF-1.4", "application/pdf");
    const framed = await browser.open(`/vault/d/${pdf}/raw`);
    expect(framed.headers.get("content-disposition")).toBe("inline");
    expect(framed.headers.get("x-frame-options")).toBe("SAMEORIGIN");
    expect(framed.headers.get("content-security-policy")).toContain("frame-ancestors 'self'");
  });

  test("a recipient may look at a shared document, and downloads it only when that is allowed", async () => {
    const id = await upload(mira, "shared.txt", "words to share");
    const share = { document_id: id, recipient_handle: "nora" };
    const { json } = await mira.request("/api/shares", { method: "POST", json: share });
    const browser = await browserOf(nora);
    const { text } = await browser.open(`/vault/d/${id}`);
    expect(text).toContain("words to share");
    expect(text).not.toContain('value="rename"');
    expect((await browser.open(`/vault/d/${id}/download`)).status).toBe(403);
    await mira.request(`/api/shares/${json.id}`, { method: "DELETE" });
    expect((await browser.open(`/vault/d/${id}`)).status).toBe(404);
  });

  test("several documents get a topic and are downloaded as one archive", async () => {
    const browser = await browserOf(mira);
    const ids = [await upload(mira, "one.txt", "1"), await upload(mira, "two.txt", "2")];
    const chosen = ids.map((id) => ["id", id]);
    const form = { action: "topics", topic: "Garden", done: "yes", back: "/vault" };
    const body = new URLSearchParams([...chosen, ...Object.entries(form)]);
    body.set("form_token", await browser.formToken());
    const send = (fields: URLSearchParams) =>
      daemon.request("/vault/chosen", {
        method: "POST",
        body: fields.toString(),
        headers: {
          "Content-Type": "application/x-www-form-urlencoded",
          Cookie: `croft_vault_session=${browser.cookie}`,
        },
      });
    expect((await send(body)).status).toBe(303);
    const listed = await mira.request("/api/documents?topic=Garden");
    expect(listed.json.total).toBe(2);
    body.set("action", "download");
    const zip = await send(body);
    expect(zip.headers.get("content-type")).toBe("application/zip");
    expect(zip.text).toContain("one.txt");
    expect(zip.text).toContain("two.txt");
  });
});

test("the API of the pages' scripts takes the cookie with the token of the forms only", async () => {
  const browser = await browserOf(mira);
  const Cookie = `croft_vault_session=${browser.cookie}`;
  const token = await browser.formToken();
  const ask = (headers: Record<string, string>) =>
    daemon.request("/vault/api/auth/me", { headers });
  expect(await ask({ Cookie, "X-Form-Token": token })).toMatchObject({
    status: 200,
    json: { handle: "mira" },
  });
  expect((await ask({ Cookie })).status).toBe(401);
  expect((await ask({ Cookie, "X-Form-Token": "x" })).status).toBe(401);
  expect((await ask({ "X-Form-Token": token })).status).toBe(401);
  expect((await ask({ Authorization: `Bearer ${mira.accessToken}` })).status).toBe(401);
  expect((await daemon.request("/vault/api/nothing", { headers: { Cookie } })).status).toBe(404);
});
