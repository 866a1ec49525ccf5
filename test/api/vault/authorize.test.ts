import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  googleClient,
  startGoogleDriveServer,
  type GoogleDriveServer,
} from "../../stand-ins/google-drive-server.ts";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { startFaultProxy, type FaultProxy } from "../../support/cloud/fault-proxy.ts";
import { withDatabaseFile } from "../../support/skip.ts";
import { openOauthBrowser, type Consent } from "../../support/vault/oauth-browser.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

const ANN = "ann@example.org";
const BEN = "ben@example.org";

let google: GoogleDriveServer;
let between: FaultProxy;
let daemon: TestDaemon;
let mira: VaultPerson;
let noah: VaultPerson;
let now = Date.now();

beforeAll(async () => {
  google = await startGoogleDriveServer({ limitBytes: 15 * 1024 ** 3 });
  between = await startFaultProxy({ target: google.origin });
  daemon = await startTestDaemon({
    clock: () => now,
    env: {
      CROFT_RATE_LIMITS: "off",
      CROFT_GOOGLE_CLIENT_ID: googleClient.id,
      CROFT_GOOGLE_CLIENT_SECRET: googleClient.secret,
      CROFT_GOOGLE_BASE_URL: between.origin,
    },
  });
  mira = createPerson(daemon, "mira", "192.0.2.1");
  noah = createPerson(daemon, "noah", "192.0.2.2");
  for (const person of [mira, noah]) {
    expect((await person.register()).status).toBe(201);
    await person.signIn();
  }
});

afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  await between?.[Symbol.asyncDispose]();
  await google?.[Symbol.asyncDispose]();
});

const start = (person: VaultPerson, query = "") =>
  person.request(`/api/cloud/authorize/google_drive${query}`);

/** Starts a sign-in in a browser of its own and decides at the vendor's page. */
async function comeBack(person: VaultPerson, consent: Consent = {}, query = "") {
  const browser = openOauthBrowser(daemon);
  const begun = await start(person, query);
  expect([begun.status, begun.text]).toEqual([200, expect.any(String)]);
  const vendorUrl = await browser.start(begun.json.authorization_url);
  const back = await browser.decide(vendorUrl, { account: ANN, ...consent });
  return { browser, back };
}

/** The heading of the page that a browser was left with. */
function headingOf({ text }: TestAnswer): string {
  return /<h1>(.*?)<\/h1>/.exec(text)?.[1] ?? text;
}

async function connect(person: VaultPerson, account = ANN, query = ""): Promise<string> {
  const begun = await start(person, query);
  expect(begun.status).toBe(200);
  const page = await openOauthBrowser(daemon).signIn(begun.json.authorization_url, { account });
  expect([page.status, headingOf(page)]).toEqual([200, "Google Drive is connected"]);
  const { items } = (await person.request("/api/cloud/connections?per_page=100")).json;
  return items.at(-1).id;
}

async function countConnections(person: VaultPerson): Promise<number> {
  return (await person.request("/api/cloud/connections")).json.total;
}

describe("signing in at Google", () => {
  test("creates a working connection with the requested name", async () => {
    const begun = await start(mira, "?display_name=My%20drive");
    expect(begun.json).toEqual({
      authorization_url: expect.any(String),
      expires_at: new Date(now + 600_000).toISOString(),
    });
    const address = new URL(begun.json.authorization_url);
    expect(address.origin).toBe(daemon.url);
    expect(address.pathname).toMatch(/^\/oauth\/start\/[\w-]{43}$/);
    const browser = openOauthBrowser(daemon);
    const asked = new URL(await browser.start(address.href));
    expect([asked.origin, asked.pathname]).toEqual([between.origin, "/o/oauth2/v2/auth"]);
    expect(asked.searchParams.get("redirect_uri")).toBe(
      `${daemon.url}/api/cloud/authorize/google_drive/callback`,
    );
    const back = await browser.decide(asked.href, { account: ANN });
    const question = await browser.open(back);
    expect([question.status, headingOf(question)]).toEqual([200, "Connect Google Drive?"]);
    for (const shown of ["My drive", ANN, "mira"]) expect(question.text).toContain(shown);
    expect(await countConnections(mira)).toBe(0);

    const page = await browser.press(question, back);
    expect([page.status, headingOf(page)]).toEqual([200, "Google Drive is connected"]);
    expect(page.text).toContain("My drive");
    expect(page.text).toContain("croft account mira");

    const { items } = (await mira.request("/api/cloud/connections")).json;
    expect(items).toMatchObject([
      {
        provider: "google_drive",
        display_name: "My drive",
        status: "connected",
        quota: { total_bytes: 15 * 1024 ** 3 },
      },
    ]);
    // Its name is taken.
    expect((await start(mira, "?display_name=My%20drive")).status).toBe(409);
    const base = `/api/cloud/connections/${items[0].id}`;
    const form = new FormData();
    form.set("file", new File(["twelve bytes"], "note.txt", { type: "text/plain" }));
    const uploaded = await mira.request(`${base}/items/upload`, { method: "POST", body: form });
    expect([uploaded.status, uploaded.json.kind]).toEqual([200, "uploaded"]);
    const listing = await mira.request(`${base}/items`);
    expect(listing.json.items).toMatchObject([{ name: "note.txt", size: 12 }]);
    const id = encodeURIComponent(listing.json.items[0].provider_item_id);
    const got = await mira.request(`${base}/items/${id}/download`);
    expect([got.status, got.text]).toEqual([200, "twelve bytes"]);
  });

  withDatabaseFile(
    "shows neither tokens nor the secret in answers, in the log, or on the disk",
    async () => {
      await connect(mira);
      const seen = [
        (await mira.request("/api/cloud/connections")).text,
        (await mira.request("/api/cloud/providers")).text,
        JSON.stringify(daemon.log),
      ];
      // Again when a file goes under the eyes of the test: the daemon caches and cleans up beside its answers.
      const read = async () => {
        const files = await readdir(daemon.home, { recursive: true, withFileTypes: true });
        const paths = files.filter((entry) => entry.isFile());
        return Promise.all(
          paths.map((file) => readFile(join(file.parentPath, file.name), "latin1")),
        );
      };
      seen.push(...(await vi.waitFor(read, { timeout: 60_000 })));
      expect(seen.length).toBeGreaterThan(4);
      const given = seen.join("\n");
      expect(given).toContain("vault_connections");
      // The very ones: a pattern of them is found in other random text once in a while.
      const { secrets } = google.oauth;
      expect(secrets.length).toBeGreaterThanOrEqual(3);
      expect(secrets.filter((secret) => given.includes(secret))).toEqual([]);
      expect(given.includes(googleClient.secret)).toBe(false);
    },
  );

  test("renews the access token while it is used", async () => {
    const id = await connect(mira);
    google.oauth.expireTokens();
    const before = google.oauth.renewals();
    const listing = await mira.request(`/api/cloud/connections/${id}/items?refresh=true`);
    expect([listing.status, listing.json.refresh_state]).toEqual([200, "fresh"]);
    expect(google.oauth.renewals() - before).toBe(1);
  });

  test("only the administrator sees the details of Google's refusals", async () => {
    const id = await connect(mira);
    const body = { error: { code: 403, errors: [{ reason: "accessNotConfigured" }] } };
    const isList = ({ path }: { path: string }) => path.startsWith("/drive/v3/files?");
    between.answerNext(isList, 403, {}, JSON.stringify(body));
    const listing = await mira.request(`/api/cloud/connections/${id}/items?refresh=true`);
    expect([listing.status, listing.json.refresh_state]).toEqual([200, "failed"]);
    expect(listing.text).not.toContain("accessNotConfigured");
    const logged = daemon.log.find((line) => line["connection_id"] === id);
    expect(logged).toMatchObject({ outcome: "forbidden", note: "403 accessNotConfigured" });
  });

  test("signing in at Google is refused where the server has no client, naming the missing settings", async () => {
    await using bare = await startTestDaemon({
      env: {
        CROFT_GOOGLE_CLIENT_ID: "only this",
        CROFT_ONEDRIVE_CLIENT_ID: "all but",
        CROFT_ONEDRIVE_CLIENT_SECRET: "the tenant",
      },
    });
    const olga = createPerson(bare, "olga", "192.0.2.3");
    await olga.register();
    await olga.signIn();
    const answer = await olga.request("/api/cloud/authorize/google_drive");
    expect(answer.status).toBe(400);
    expect(answer.json.detail).toContain("CROFT_GOOGLE_CLIENT_SECRET");
    expect(answer.json.detail).not.toContain("CROFT_GOOGLE_CLIENT_ID");
    const other = await olga.request("/api/cloud/authorize/onedrive");
    expect([other.status, other.json.detail]).toEqual([
      400,
      expect.stringContaining("set CROFT_ONEDRIVE_TENANT_ID."),
    ]);
  });

  test("signing in at Google is the only way in: credentials given by hand are refused", async () => {
    const made = await mira.request("/api/cloud/connections", {
      json: { provider: "google_drive", display_name: "x", credentials: { access_token: "x" } },
    });
    expect([made.status, made.text]).toEqual([422, expect.stringContaining("oauth_only")]);
    const id = await connect(mira);
    const changed = await mira.request(`/api/cloud/connections/${id}`, {
      method: "PATCH",
      json: { credentials: {} },
    });
    expect(changed.status).toBe(422);
  });
});

describe("the return of the browser from the vendor", () => {
  const declined = "Google Drive is not connected";

  test("a denied or incomplete consent creates no connection", async () => {
    const before = await countConnections(mira);
    for (const consent of [{ decision: "deny" }, { scopes: [] }, { scopes: ["profile"] }]) {
      const { browser, back } = await comeBack(mira, consent);
      const page = await browser.open(back);
      expect([page.status, headingOf(page)]).toEqual([400, declined]);
      expect(page.text).toContain("not granted");
    }
    expect(await countConnections(mira)).toBe(before);
  });

  test("stores nothing before the button of the page is pressed", async () => {
    const before = await countConnections(mira);
    const { browser, back } = await comeBack(mira);
    expect((await browser.open(back)).status).toBe(200);
    expect(await countConnections(mira)).toBe(before);
  });

  test("a callback is accepted once", async () => {
    const { browser, back } = await comeBack(mira);
    expect((await browser.open(back)).status).toBe(200);
    const again = await browser.open(back);
    expect([again.status, again.text]).toEqual([400, expect.stringContaining("used already")]);
  });

  test("three callbacks at the same time give one page with a button", async () => {
    const { browser, back } = await comeBack(mira);
    const pages = await Promise.all([browser.open(back), browser.open(back), browser.open(back)]);
    expect(pages.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
  });

  test("the button works once, also when it is pressed three times at the same time", async () => {
    const before = await countConnections(mira);
    const { browser, back } = await comeBack(mira);
    const page = await browser.open(back);
    const pressed = await Promise.all([1, 2, 3].map(() => browser.press(page, back)));
    expect(pressed.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
    expect((await browser.press(page, back)).status).toBe(400);
    expect(await countConnections(mira)).toBe(before + 1);
  });

  test("rejects a state that is forged, too old or of another provider, and trades no code", async () => {
    const traded = () => between.log.filter((line) => line === "POST /token").length;
    const before = [traded(), await countConnections(mira)];
    const { browser, back } = await comeBack(mira);
    const forged = new URL(back);
    forged.searchParams.set("state", "A".repeat(43));
    const without = new URL(back);
    without.searchParams.delete("state");
    const mixedUp = new URL(back);
    mixedUp.pathname = mixedUp.pathname.replace("google_drive", "onedrive");
    const pages = [
      await browser.open(forged),
      await browser.open(without),
      await browser.open(mixedUp),
    ];
    now += 600_001;
    pages.push(await browser.open(back));
    for (const page of pages) {
      expect(page.status).toBe(400);
      expect(page.text).toContain("took too long or was used already");
    }
    expect([traded(), await countConnections(mira)]).toEqual(before);
    await mira.signIn();
    await noah.signIn();
  });

  test("rejects a page whose button is pressed after ten minutes", async () => {
    const before = await countConnections(mira);
    const { browser, back } = await comeBack(mira);
    const page = await browser.open(back);
    now += 600_001;
    expect((await browser.press(page, back)).status).toBe(400);
    await mira.signIn();
    await noah.signIn();
    expect(await countConnections(mira)).toBe(before);
  });

  test("a code of another sign-in is refused because it answers another PKCE challenge", async () => {
    const mine = await comeBack(mira);
    const theirs = await comeBack(noah, { account: BEN });
    mine.back.searchParams.set("code", theirs.back.searchParams.get("code") ?? "");
    const page = await mine.browser.open(mine.back);
    expect([page.status, headingOf(page)]).toEqual([400, declined]);
  });

  test("a failing token endpoint is reported, and nothing is stored", async () => {
    const before = await countConnections(mira);
    for (const [status, body] of [
      [500, "{}"],
      [200, "<html>maintenance</html>"],
      [401, '{"error":"invalid_client"}'],
    ] as const) {
      const { browser, back } = await comeBack(mira);
      google.oauth.answerNextExchange(status, body);
      const page = await browser.open(back);
      expect([page.status, page.text]).toEqual([400, expect.stringContaining("try again")]);
    }
    expect(await countConnections(mira)).toBe(before);
  });

  test("the vendor's own wording of an error stays out of page and log", async () => {
    const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>\r\nSet-Cookie: a=b`;
    const { browser, back } = await comeBack(mira, { decision: "deny" });
    back.searchParams.set("error", hostile);
    back.searchParams.set("error_description", hostile);
    const page = await browser.open(back);
    expect(page.status).toBe(400);
    expect(page.text).not.toMatch(/alert\(|onerror/);
    expect(JSON.stringify(daemon.log)).not.toContain("onerror");
    expect(page.headers.get("set-cookie")).toBeNull();
  });

  test("the pages run no script, cannot be framed and leak no code to other sites", async () => {
    const { browser, back } = await comeBack(mira);
    const question = await browser.open(back);
    const pages = [question, await browser.press(question, back)];
    for (const page of pages) {
      const policy = page.headers.get("content-security-policy") ?? "";
      for (const part of [
        "default-src 'none'",
        "script-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ])
        expect(policy).toContain(part);
      expect(policy).not.toContain("unsafe-inline");
      expect(["no-referrer", "same-origin"]).toContain(page.headers.get("referrer-policy"));
      expect(page.headers.get("cache-control")).toBe("no-store");
    }
  });

  test("nothing is connected after the account was deactivated", async () => {
    const person = createPerson(daemon, "pia", "192.0.2.4");
    await person.register();
    await person.signIn();
    const [early, late] = [await comeBack(person), await comeBack(person)];
    const question = await late.browser.open(late.back);
    const before = between.log.length;
    await deactivate(person);
    const pages = [
      await early.browser.open(early.back),
      await late.browser.press(question, late.back),
    ];
    for (const page of pages) expect([page.status, headingOf(page)]).toEqual([400, declined]);
    expect(between.log.slice(before).filter((line) => line.includes("/token"))).toEqual([]);
  });
});

describe("the browser that a sign-in is bound to", () => {
  test("gets a cookie for ten minutes that scripts and other sites cannot use", async () => {
    const { json } = await start(mira);
    const answer = await daemon.request(new URL(json.authorization_url).pathname);
    expect(answer.headers.get("set-cookie")).toMatch(
      /^croft_oauth_[0-9a-f]{16}=[\w-]{43}; Max-Age=600; Path=\/api\/cloud\/authorize\/google_drive\/callback; HttpOnly; SameSite=Lax$/,
    );
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("a secure cookie when croft is reached by https", async () => {
    await using secure = await startTestDaemon({
      env: {
        CROFT_PUBLIC_URL: "https://croft.example.org",
        CROFT_ALLOWED_HOSTS: "croft.example.org",
        CROFT_GOOGLE_CLIENT_ID: googleClient.id,
        CROFT_GOOGLE_CLIENT_SECRET: googleClient.secret,
        CROFT_GOOGLE_BASE_URL: between.origin,
      },
    });
    const olga = createPerson(secure, "olga", "192.0.2.3");
    await olga.register();
    await olga.signIn();
    const { json } = await olga.request("/api/cloud/authorize/google_drive");
    const answer = await secure.request(new URL(json.authorization_url).pathname);
    expect(answer.headers.get("set-cookie")).toMatch(/; Secure$/);
  });

  test("a callback in another browser is refused, and the right browser can still return", async () => {
    const before = await countConnections(mira);
    const { browser, back } = await comeBack(mira);
    const stranger = await openOauthBrowser(daemon).open(back);
    expect([stranger.status, stranger.text]).toEqual([
      400,
      expect.stringContaining("another browser"),
    ]);
    expect(await countConnections(mira)).toBe(before);
    expect((await browser.open(back)).status).toBe(200);
  });

  test("the vendor's address, sent to a victim, connects nothing", async () => {
    const before = await countConnections(mira);
    const begun = await start(mira);
    const attacker = openOauthBrowser(daemon);
    const vendorUrl = await attacker.start(begun.json.authorization_url);
    const victim = openOauthBrowser(daemon);
    const page = await victim.open(await victim.decide(vendorUrl, { account: BEN }));
    expect([page.status, headingOf(page)]).toEqual([400, "Google Drive is not connected"]);
    expect(await countConnections(mira)).toBe(before);
  });

  test("the start page, sent to a victim, names the attacker's account before anything is stored", async () => {
    const before = await countConnections(mira);
    const begun = await start(mira);
    const victim = openOauthBrowser(daemon);
    const vendorUrl = await victim.start(begun.json.authorization_url);
    const page = await victim.open(await victim.decide(vendorUrl, { account: BEN }));
    expect(page.text).toContain(BEN);
    expect(page.text).toContain("croft account <strong>mira</strong>");
    expect(await countConnections(mira)).toBe(before);
  });

  test("a token is refused in another browser, with another sign-in's grant, or altered", async () => {
    const before = await countConnections(mira);
    const [one, two] = [await comeBack(mira), await comeBack(mira, { account: BEN })];
    const [first, second] = [await one.browser.open(one.back), await two.browser.open(two.back)];
    const field = (page: TestAnswer, name: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? "";
    const swap = (name: string, value: string): TestAnswer => ({
      ...first,
      text: first.text.replace(field(first, name), value),
    });
    const pages = [
      await openOauthBrowser(daemon).press(first, one.back),
      await one.browser.press(swap("grant", field(second, "grant")), one.back),
      await one.browser.press(swap("grant", "x"), one.back),
      await one.browser.press(swap("token", field(second, "token")), one.back),
      await one.browser.press(swap("state", "x"), one.back),
    ];
    for (const page of pages) expect(page.status).toBe(400);
    expect(await countConnections(mira)).toBe(before);
    expect((await one.browser.press(first, one.back)).status).toBe(200);
  });

  test("two sign-ins at the same time in one browser both connect", async () => {
    const before = await countConnections(mira);
    const browser = openOauthBrowser(daemon);
    const vendorUrls = [];
    for (const begun of [await start(mira), await start(mira)])
      vendorUrls.push(await browser.start(begun.json.authorization_url));
    for (const url of vendorUrls) {
      const back = await browser.decide(url, { account: ANN });
      expect((await browser.press(await browser.open(back), back)).status).toBe(200);
    }
    expect(await countConnections(mira)).toBe(before + 2);
  });

  test("another site cannot press the button", async () => {
    const before = await countConnections(mira);
    const { browser, back } = await comeBack(mira);
    const page = await browser.open(back);
    const answer = await daemon.request(back.pathname, {
      body: new FormData(),
      headers: { "Sec-Fetch-Site": "cross-site" },
    });
    expect(answer.status).toBe(403);
    expect(await countConnections(mira)).toBe(before);
    expect((await browser.press(page, back)).status).toBe(200);
  });

  test("a link with the fields of the form does not press the button", async () => {
    const before = await countConnections(mira);
    const { browser, back } = await comeBack(mira);
    const page = await browser.open(back);
    const link = new URL(back.pathname, back);
    for (const [, name = "", value = ""] of page.text.matchAll(
      /type="hidden" name="([^"]*)" value="([^"]*)"/g,
    ))
      link.searchParams.set(name, value);
    expect([...link.searchParams.keys()]).toEqual(expect.arrayContaining(["grant", "token"]));
    expect((await browser.open(link)).status).toBe(400);
    expect(await countConnections(mira)).toBe(before);
    expect((await browser.press(page, back)).status).toBe(200);
  });

  test("an unknown ticket redirects nowhere", async () => {
    const answer = await daemon.request(`/oauth/start/${"A".repeat(43)}`);
    expect([answer.status, answer.headers.get("set-cookie")]).toEqual([400, null]);
    expect(answer.text).toContain("took too long or was used already");
  });
});

describe("signing in again", () => {
  test("gives a refused connection new credentials; its id and its items stay", async () => {
    const id = await connect(noah, BEN);
    const base = `/api/cloud/connections/${id}`;
    await noah.request(`${base}/folders`, { json: { parent_ref: null, name: "Kept" } });
    const [kept] = (await noah.request(`${base}/items`)).json.items;
    google.oauth.revoke(BEN);
    const failed = await noah.request(`${base}/items?refresh=true`);
    expect(failed.json).toMatchObject({ refresh_state: "failed", error_code: "reauth_required" });
    expect(failed.json.items).toMatchObject([{ name: "Kept" }]);
    expect((await noah.request(base)).json.status).toBe("reauth_required");
    const asked = google.requests();
    await noah.request(`${base}/items?refresh=true`);
    expect(google.requests()).toBe(asked);

    const count = await countConnections(noah);
    expect(await connect(noah, BEN, `?connection_id=${id}`)).toBe(id);
    expect(await countConnections(noah)).toBe(count);
    expect((await noah.request(base)).json.status).toBe("connected");
    const again = await noah.request(`${base}/items?refresh=true`);
    expect(again.json).toMatchObject({ refresh_state: "fresh", items: [{ id: kept.id }] });
  });

  test("signing in again with another Google account is refused, and the connection stays as it was", async () => {
    const id = await connect(noah, BEN);
    const { browser, back } = await comeBack(noah, { account: ANN }, `?connection_id=${id}`);
    const page = await browser.open(back);
    expect([page.status, page.text]).toEqual([
      400,
      expect.stringContaining("another Google Drive account"),
    ]);
    const listing = await noah.request(`/api/cloud/connections/${id}/items?refresh=true`);
    expect(listing.json.refresh_state).toBe("fresh");
  });

  test("a reconnection of another user's connection, or of another provider, is refused before anything is stored", async () => {
    const id = await connect(noah, BEN);
    expect((await start(mira, `?connection_id=${id}`)).status).toBe(404);
    const other = await noah.request(`/api/cloud/authorize/onedrive?connection_id=${id}`);
    expect([400, 422]).toContain(other.status);
  });

  test("signing in again for a deleted connection creates no connection", async () => {
    const id = await connect(noah, BEN);
    const query = `?connection_id=${id}`;
    const early = await comeBack(noah, { account: BEN }, query);
    const late = await comeBack(noah, { account: BEN }, query);
    const question = await late.browser.open(late.back);
    expect(question.text).toContain("connected again");
    const before = await countConnections(noah);
    await noah.request(`/api/cloud/connections/${id}`, { method: "DELETE" });
    expect((await early.browser.open(early.back)).status).toBe(400);
    expect((await late.browser.press(question, late.back)).status).toBe(400);
    expect(await countConnections(noah)).toBe(before - 1);
  });
});

/** As the administrator of the vault does. */
async function deactivate(person: VaultPerson): Promise<void> {
  const { json: me } = await person.request("/api/auth/me");
  const signedIn = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
  });
  const answer = await daemon.request(`/api/admin/users/${me.id}/status`, {
    method: "PATCH",
    bearer: signedIn.json.access_token,
    json: { is_active: false },
  });
  expect(answer.status).toBe(200);
}
