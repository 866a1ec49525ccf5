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

/** What the person does at the consent page; gives the address that the browser is sent back to. */
async function decide(
  url: string,
  {
    decision = "allow",
    account = ANN,
    scopes,
  }: { decision?: string; account?: string; scopes?: string[] } = {},
): Promise<URL> {
  const page = await fetch(url);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<form")]);
  const body = new URLSearchParams({ decision, account });
  const asked = new URL(url).searchParams.get("scope")?.split(" ") ?? [];
  for (const scope of scopes ?? asked) body.append("scope", scope);
  const answer = await fetch(url, { method: "POST", body, redirect: "manual" });
  return new URL(answer.headers.get("location") ?? "");
}

/** Opens an address of the daemon as a browser does: without any token. */
function open({ pathname, search }: URL): Promise<TestAnswer> {
  return daemon.request(pathname + search, { headers: { "X-Forwarded-For": "192.0.2.9" } });
}

/** The heading of the page that a browser was left with. */
function headingOf({ text }: TestAnswer): string {
  return /<h1>(.*?)<\/h1>/.exec(text)?.[1] ?? text;
}

async function connect(person: VaultPerson, account = ANN, query = ""): Promise<string> {
  const begun = await start(person, query);
  expect(begun.status).toBe(200);
  const page = await open(await decide(begun.json.authorization_url, { account }));
  expect([page.status, headingOf(page)]).toEqual([200, "Google Drive is connected"]);
  const { items } = (await person.request("/api/cloud/connections?per_page=100")).json;
  return items.at(-1).id;
}

async function countConnections(person: VaultPerson): Promise<number> {
  return (await person.request("/api/cloud/connections")).json.total;
}

describe("signing in at Google", () => {
  test("makes a connection that works, under the name that was asked for", async () => {
    const begun = await start(mira, "?display_name=My%20drive");
    expect(begun.json).toEqual({
      authorization_url: expect.any(String),
      expires_at: new Date(now + 600_000).toISOString(),
    });
    const asked = new URL(begun.json.authorization_url);
    expect([asked.origin, asked.pathname]).toEqual([between.origin, "/o/oauth2/v2/auth"]);
    expect(asked.searchParams.get("redirect_uri")).toBe(
      `${daemon.url}/api/cloud/authorize/google_drive/callback`,
    );
    const page = await open(await decide(asked.href));
    expect(page.status).toBe(200);
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

  test("shows neither tokens nor the secret in answers, in the log, or on the disk", async () => {
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
      return Promise.all(paths.map((file) => readFile(join(file.parentPath, file.name), "latin1")));
    };
    seen.push(...(await vi.waitFor(read, { timeout: 30_000 })));
    expect(seen.length).toBeGreaterThan(4);
    const given = seen.join("\n");
    expect(given).toContain("vault_connections");
    // The very ones: a pattern of them is found in other random text once in a while.
    const { secrets } = google.oauth;
    expect(secrets.length).toBeGreaterThanOrEqual(3);
    expect(secrets.filter((secret) => given.includes(secret))).toEqual([]);
    expect(given.includes(googleClient.secret)).toBe(false);
  });

  test("renews the access token while it is used", async () => {
    const id = await connect(mira);
    google.oauth.expireTokens();
    const before = google.oauth.renewals();
    const listing = await mira.request(`/api/cloud/connections/${id}/items?refresh=true`);
    expect([listing.status, listing.json.refresh_state]).toEqual([200, "fresh"]);
    expect(google.oauth.renewals() - before).toBe(1);
  });

  test("tells the administrator, and nobody else, what Google's refusals are about", async () => {
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

  test("is refused where the server has no client, naming what is missing", async () => {
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

  test("is the only way in: credentials given by hand are refused", async () => {
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

describe("what a browser brings back", () => {
  const declined = "Google Drive is not connected";

  test("from somebody who says no, or leaves out what is needed, makes no connection", async () => {
    const before = await countConnections(mira);
    for (const decision of [
      { decision: "deny" },
      { scopes: [] as string[] },
      { scopes: ["profile"] },
    ]) {
      const page = await open(await decide((await start(mira)).json.authorization_url, decision));
      expect([page.status, headingOf(page)]).toEqual([400, declined]);
      expect(page.text).toContain("not granted");
    }
    expect(await countConnections(mira)).toBe(before);
  });

  test("is good once", async () => {
    const back = await decide((await start(mira)).json.authorization_url);
    expect((await open(back)).status).toBe(200);
    const before = await countConnections(mira);
    const again = await open(back);
    expect([again.status, again.text]).toEqual([400, expect.stringContaining("used already")]);
    expect(await countConnections(mira)).toBe(before);
  });

  test("at the same time twice, connects once", async () => {
    const back = await decide((await start(mira)).json.authorization_url);
    const before = await countConnections(mira);
    const pages = await Promise.all([open(back), open(back), open(back)]);
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    expect(await countConnections(mira)).toBe(before + 1);
  });

  test("with a state that is forged, too old, or of another provider is refused, and no code is traded", async () => {
    const traded = () => between.log.filter((line) => line === "POST /token").length;
    const before = [traded(), await countConnections(mira)];
    const back = await decide((await start(mira)).json.authorization_url);
    const forged = new URL(back);
    forged.searchParams.set("state", "A".repeat(43));
    const without = new URL(back);
    without.searchParams.delete("state");
    const mixedUp = new URL(back);
    mixedUp.pathname = mixedUp.pathname.replace("google_drive", "onedrive");
    const pages = [await open(forged), await open(without), await open(mixedUp)];
    now += 600_001;
    pages.push(await open(back));
    for (const page of pages) {
      expect(page.status).toBe(400);
      expect(page.text).toContain("took too long or was used already");
    }
    expect([traded(), await countConnections(mira)]).toEqual(before);
    await mira.signIn();
    await noah.signIn();
  });

  test("with somebody else's code is refused: it answers another challenge", async () => {
    const [mine, theirs] = [await start(mira), await start(noah)];
    const back = await decide(mine.json.authorization_url);
    const injected = await decide(theirs.json.authorization_url, { account: BEN });
    back.searchParams.set("code", injected.searchParams.get("code") ?? "");
    const page = await open(back);
    expect([page.status, headingOf(page)]).toEqual([400, declined]);
  });

  test("while the token endpoint fails says so, and nothing is kept", async () => {
    const before = await countConnections(mira);
    for (const [status, body] of [
      [500, "{}"],
      [200, "<html>maintenance</html>"],
      [401, '{"error":"invalid_client"}'],
    ] as const) {
      const back = await decide((await start(mira)).json.authorization_url);
      between.answerNext(({ path }) => path === "/token", status, {}, body);
      const page = await open(back);
      expect([page.status, page.text]).toEqual([400, expect.stringContaining("try again")]);
    }
    expect(await countConnections(mira)).toBe(before);
  });

  test("is not repeated: an error of the provider's own wording stays out of page and log", async () => {
    const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>\r\nSet-Cookie: a=b`;
    const back = await decide((await start(mira)).json.authorization_url, { decision: "deny" });
    back.searchParams.set("error", hostile);
    back.searchParams.set("error_description", hostile);
    const page = await open(back);
    expect(page.status).toBe(400);
    expect(page.text).not.toMatch(/alert\(|onerror/);
    expect(JSON.stringify(daemon.log)).not.toContain("onerror");
    expect(page.headers.get("set-cookie")).toBeNull();
  });

  test("comes as a page that runs nothing, is framed by nobody and tells no other site of the code", async () => {
    const page = await open(await decide((await start(mira)).json.authorization_url));
    const policy = page.headers.get("content-security-policy") ?? "";
    for (const part of [
      "default-src 'none'",
      "script-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      expect(policy).toContain(part);
    expect(policy).not.toContain("unsafe-inline");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("cache-control")).toBe("no-store");
  });

  test("after the account was deactivated connects nothing", async () => {
    const person = createPerson(daemon, "pia", "192.0.2.4");
    await person.register();
    await person.signIn();
    const back = await decide((await start(person)).json.authorization_url);
    const before = between.log.length;
    await deactivate(person);
    const page = await open(back);
    expect([page.status, headingOf(page)]).toEqual([400, declined]);
    expect(between.log.slice(before).filter((line) => line.includes("/token"))).toEqual([]);
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

  test("with another Google account is refused, and the connection stays as it was", async () => {
    const id = await connect(noah, BEN);
    const begun = await start(noah, `?connection_id=${id}`);
    const page = await open(await decide(begun.json.authorization_url, { account: ANN }));
    expect([page.status, page.text]).toEqual([
      400,
      expect.stringContaining("another Google Drive account"),
    ]);
    const listing = await noah.request(`/api/cloud/connections/${id}/items?refresh=true`);
    expect(listing.json.refresh_state).toBe("fresh");
  });

  test("for somebody else's connection, or one of another kind, is refused before anything is kept", async () => {
    const id = await connect(noah, BEN);
    expect((await start(mira, `?connection_id=${id}`)).status).toBe(404);
    const other = await noah.request(`/api/cloud/authorize/onedrive?connection_id=${id}`);
    expect([400, 422]).toContain(other.status);
  });

  test("for a connection that was removed meanwhile makes none", async () => {
    const id = await connect(noah, BEN);
    const back = await decide((await start(noah, `?connection_id=${id}`)).json.authorization_url, {
      account: BEN,
    });
    const before = await countConnections(noah);
    await noah.request(`/api/cloud/connections/${id}`, { method: "DELETE" });
    expect((await open(back)).status).toBe(400);
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
