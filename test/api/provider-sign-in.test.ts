import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import OidcProvider from "oidc-provider";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HostileAnswer, startOpenidProvider } from "../stand-ins/openid-provider.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createOpenidVisitor } from "../support/openid-visitor.ts";
import { totpCode } from "../support/vault/vault-accounts.ts";

// Sign-in by an OpenID provider: with a certified one, and with one that answers as an attacker would.

const PASSWORD = "Correct-Horse-7-Battery";
const CLIENT = "croft";
const SITES = {
  forge: {
    start: "/user/oauth2/provider",
    signIn: "/user/login",
    home: "/user/settings",
    identities: "/user/settings/identities",
    cookie: "croft_session",
  },
  vault: {
    start: "/vault/sign-in/provider",
    signIn: "/vault/sign-in",
    home: "/vault/account",
    identities: "/vault/account/identities",
    cookie: "croft_vault_session",
  },
} as const;
const sites = Object.keys(SITES) as (keyof typeof SITES)[];

let server: Server;
let honest: TestDaemon;
let hostile: TestDaemon;
let attacker: Awaited<ReturnType<typeof startOpenidProvider>>;

beforeAll(async () => {
  server = createServer();
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const common = { CROFT_RATE_LIMITS: "off", CROFT_OIDC_CLIENT_ID: CLIENT };
  honest = await startTestDaemon({
    env: { ...common, CROFT_OIDC_ISSUER: issuer, CROFT_OIDC_CLIENT_SECRET: "secret" },
  });
  const provider = new OidcProvider(issuer, {
    clients: [
      {
        client_id: CLIENT,
        client_secret: "secret",
        redirect_uris: sites.map((site) => `${honest.url}${SITES[site].start}/callback`),
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: async () => ({
        sub: id,
        email: `${id}@example.org`,
        email_verified: true,
        name: id,
      }),
    }),
    cookies: { keys: ["key of the test"] },
  });
  const serve = provider.callback();
  server.on("request", (request, response) => void serve(request, response));
  attacker = await startOpenidProvider(CLIENT);
  hostile = await startTestDaemon({
    env: {
      ...common,
      CROFT_OIDC_ISSUER: attacker.url(),
      CROFT_OIDC_CLIENT_SECRET: attacker.secret,
      CROFT_OIDC_CREATE_ACCOUNTS: "true",
      CROFT_OIDC_FORGE_ADMIN_GROUP: "chiefs",
      CROFT_OIDC_VAULT_ADMIN_GROUP: "chiefs",
    },
  });
  for (const daemon of [honest, hostile])
    for (const name of ["mira", "otto"]) await newPerson(daemon, name);
}, 120_000);
afterAll(async () => {
  await honest[Symbol.asyncDispose]();
  await hostile[Symbol.asyncDispose]();
  await attacker.close();
  server.close();
  server.closeAllConnections();
});

async function newPerson(daemon: TestDaemon, name: string): Promise<void> {
  await daemon.request("/api/v1/admin/users", {
    token: daemon.first?.forge.token ?? "",
    json: {
      username: name,
      email: `${name}@example.org`,
      password: PASSWORD,
      must_change_password: false,
    },
  });
  await daemon.request("/api/auth/register", {
    json: { handle: name, email: `${name}@example.org`, password: PASSWORD },
  });
}

/** Signs in at the certified provider with its own pages, and returns the query with which it sends the browser back. */
async function signInAtProvider(address: URL, login: string): Promise<Record<string, string>> {
  const cookies = new Map<string, string>();
  let next = address;
  let form: URLSearchParams | undefined;
  for (let hop = 0; hop < 10; hop += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(next, {
      redirect: "manual",
      headers: { cookie },
      ...(form === undefined ? {} : { method: "POST", body: form }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get("location");
    if (location !== null) {
      next = new URL(location, next);
      form = undefined;
      if (next.pathname.endsWith("/callback")) return Object.fromEntries(next.searchParams);
      continue;
    }
    const page = await answer.text();
    const action = /<form[^>]+action="([^"]+)"/.exec(page)?.[1] ?? "";
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1] ?? "";
    next = new URL(action, next);
    form = new URLSearchParams({ prompt, login, password: "any" });
  }
  throw new Error("the provider does not send the browser back");
}

describe.each(sites)("a sign-in to the %s by a certified provider", (site) => {
  const { start, signIn, home, identities, cookie } = SITES[site];

  test("links an account by its password once, signs in, and is unlinked by its owner", async () => {
    const visitor = createOpenidVisitor(honest, start);
    expect((await visitor.open(signIn)).text).toContain("Sign in with the provider");
    const address = await visitor.begin({ to: home });
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      state: expect.any(String),
      nonce: expect.any(String),
    });
    const asked = await visitor.comeBack(await signInAtProvider(address, "mira"));
    // The address is verified and that of an account, which is not taken over by it.
    expect(asked.text).toContain("Link your account");
    expect(visitor.cookies.has(cookie)).toBe(false);
    const enter = (password: string) =>
      visitor.post(`${start}/confirm`, { name: "mira@example.org", password, code: "" });
    expect((await enter("wrong password")).status).toBe(401);
    const linked = await enter(PASSWORD);
    expect(linked.headers.get("location")).toBe(home);
    expect((await visitor.open(identities)).text).toContain("mira@example.org");

    const again = createOpenidVisitor(honest, start);
    const arrived = await again.comeBack(
      await signInAtProvider(await again.begin({ to: home }), "mira"),
    );
    expect(arrived.status).toBe(200);
    expect(arrived.headers.get("cache-control")).toBe("no-store");
    expect(arrived.text).toContain(`0; url=${home}`);
    const page = await again.open(identities);
    expect(page.status).toBe(200);
    const token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    const subject = /name="subject" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    const issuer = /name="issuer" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    await again.post(identities, { form_token: token, subject, issuer });
    expect((await again.open(identities)).text).toContain("No identity");

    const unknown = createOpenidVisitor(honest, start);
    const unlinked = await unknown.comeBack(await signInAtProvider(await unknown.begin(), "mira"));
    expect(unlinked.text).toContain("Link your account");

    // Its owner links it again from the page of the account.
    const address2 = await again.begin({ link: "yes", form_token: token });
    const back = await again.comeBack(await signInAtProvider(address2, "mira"));
    expect(back.text).toContain(`0; url=${identities}`);
    expect((await again.open(identities)).text).toContain("mira@example.org");
  });
});

/** Begins a sign-in, and lets the attacker's provider send the browser back. */
async function attack(
  site: keyof typeof SITES,
  answer: HostileAnswer,
  {
    change = (query) => query,
    visitor = createOpenidVisitor(hostile, SITES[site].start),
  }: {
    readonly change?: (query: Record<string, string>) => Record<string, string>;
    readonly visitor?: ReturnType<typeof createOpenidVisitor>;
  } = {},
) {
  const address = await visitor.begin({ to: SITES[site].home });
  const query = address.searchParams;
  const code = `code-${Math.random()}`;
  attacker.issue(code, query.get("nonce") ?? "", answer);
  const sent = change({ code, state: query.get("state") ?? "" });
  return { answer: await visitor.comeBack(sent), visitor, sent };
}

const verified = (sub: string, more = {}) => ({
  claims: { sub, email: `${sub}@example.org`, email_verified: true, ...more },
});

describe.each(sites)("the %s and a hostile provider", (site) => {
  const { cookie, home, start, signIn } = SITES[site];

  test.each<[string, HostileAnswer, ((query: Record<string, string>) => Record<string, string>)?]>([
    ["the nonce of another sign-in", { claims: { nonce: "other" } }],
    ["no nonce", { claims: { nonce: undefined } }],
    ["another issuer", { claims: { iss: "https://elsewhere.example" } }],
    ["another audience", { claims: { aud: "another" } }],
    ["an expired token", { claims: { iat: 1_000, exp: 2_000 } }],
    ["no subject", { claims: { sub: "" } }],
    ["a token without a signature", { signedBy: "none" }],
    ["a token that is signed with the secret", { signedBy: "secret" }],
    ["a token of a foreign key", { signedBy: "foreign" }],
    ["a redirect of its token endpoint", { redirectsTo: "http://127.0.0.1:1/" }],
    ["another state", {}, (query) => ({ ...query, state: "other" })],
    ["no state", {}, ({ code = "" }) => ({ code })],
    ["an unknown code", {}, (query) => ({ ...query, code: "unknown" })],
    ["an error", {}, ({ state = "" }) => ({ state, error: "access_denied" })],
  ])("%s signs nobody in", async (_name, answer, change) => {
    const { answer: refused, visitor } = await attack(
      site,
      { ...answer, claims: { ...verified("evil").claims, ...answer.claims } },
      change === undefined ? {} : { change },
    );
    expect(refused.status).toBe(401);
    expect(visitor.cookies.has(cookie)).toBe(false);
    expect((await visitor.open(home)).status).not.toBe(200);
  });

  test.each(["answers", "closes"] as const)(
    "a provider that %s with a failure is told apart from one that refuses",
    async (fails) => {
      const { answer, visitor } = await attack(site, { ...verified("evil"), fails });
      expect(answer.status).toBe(503);
      expect(answer.text).toContain("The provider cannot be used at the moment");
      expect(visitor.cookies.has(cookie)).toBe(false);
    },
  );

  test("an answer counts once, in the browser that began, on its own site", async () => {
    const name = `once-${site}`;
    const first = await attack(site, verified(name));
    expect(first.answer.status).toBe(200);
    const replayed = await first.visitor.comeBack(first.sent);
    expect(replayed.status).toBe(401);

    const victim = createOpenidVisitor(hostile, start);
    const foreign = await attack(site, verified(name), { change: (query) => query });
    expect((await victim.comeBack(foreign.sent)).status).toBe(401);
    expect(victim.cookies.has(cookie)).toBe(false);

    // A page of another site cannot press the button.
    const forced = createOpenidVisitor(hostile, start);
    expect((await forced.post(start, {}, "cross-site")).status).toBe(403);
    expect((await forced.open(start)).headers.get("location")).toBe(signIn);
  });

  test("the address of an account gives no access to it, verified or not, and nobody leaves the server", async () => {
    for (const claims of [
      { sub: `thief-${site}`, email: "otto@example.org", email_verified: true },
      { sub: `thief2-${site}`, email: "otto@example.org" },
      { sub: `thief3-${site}`, email: "new@example.org", email_verified: "true" },
    ]) {
      const { answer, visitor } = await attack(site, { claims });
      expect(answer.text).toContain("Link your account");
      expect(visitor.cookies.has(cookie)).toBe(false);
    }
    const visitor = createOpenidVisitor(hostile, start);
    const address = await visitor.begin({ to: "//elsewhere.example/" });
    attacker.issue("leave", address.searchParams.get("nonce") ?? "", verified(`leaves-${site}`));
    const state = address.searchParams.get("state") ?? "";
    const arrived = await visitor.comeBack({ code: "leave", state });
    expect(arrived.text).not.toContain("elsewhere.example");
    expect(arrived.status).toBe(200);
  });

  test("a person with a verified address gets an account, and the group decides who is an administrator", async () => {
    const name = `dora-${site}`;
    const isAdmin = async () => {
      if (site === "vault") {
        const rows = await people();
        return rows.find(({ handle }) => handle === name)?.role === "admin";
      }
      const found = await hostile.request(`/api/v1/users/${name}`, {
        token: hostile.first?.forge.token ?? "",
      });
      return found.json.is_admin as boolean;
    };
    const made = await attack(site, verified(name, { preferred_username: name }));
    expect(made.answer.status).toBe(200);
    expect((await made.visitor.open(home)).status).toBe(200);
    expect(await isAdmin()).toBe(false);
    await attack(site, verified(name, { groups: ["staff", "chiefs"] }));
    expect(await isAdmin()).toBe(true);
    await attack(site, verified(name, { groups: "staff" }));
    expect(await isAdmin()).toBe(false);

    // The account has no password: its only identity cannot be unlinked.
    const page = await made.visitor.open(SITES[site].identities);
    const field = (of: string) =>
      new RegExp(`name="${of}" value="([^"]+)"`).exec(page.text)?.[1] ?? "";
    const unlinked = await made.visitor.post(SITES[site].identities, {
      form_token: field("form_token"),
      issuer: field("issuer"),
      subject: field("subject"),
    });
    expect(unlinked.text).toContain("the only way to sign in");
  });
});

async function people(): Promise<{ handle: string; role: string }[]> {
  const { json } = await hostile.request("/api/auth/login", {
    json: { email: hostile.first?.vault.email, password: hostile.first?.password },
  });
  const listed = await hostile.request("/api/admin/users?per_page=100", {
    bearer: json.access_token,
  });
  return listed.json.items;
}

test("a person with too many wrong passwords after the provider is told when to try again", async () => {
  await using limited = await startTestDaemon({
    env: {
      CROFT_OIDC_CLIENT_ID: CLIENT,
      CROFT_OIDC_ISSUER: attacker.url(),
      CROFT_OIDC_CLIENT_SECRET: attacker.secret,
    },
  });
  for (const site of sites) {
    const { start } = SITES[site];
    const visitor = createOpenidVisitor(limited, start);
    await attack(site, { claims: { sub: "guesser" } }, { visitor });
    const guess = () =>
      visitor.post(`${start}/confirm`, { name: "mira@example.org", password: "wrong", code: "" });
    // Ten are checked.
    for (let round = 0; round < 10; round += 1) {
      const wrong = await guess();
      expect([wrong.status, wrong.headers.get("retry-after")]).toEqual([401, null]);
    }
    const refused = await guess();
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect(refused.text).toContain("Link your account");
  }
});

test("the second factor of an account is asked for after the provider, too", async () => {
  // Linked first, by the password.
  for (const site of sites) {
    const { start } = SITES[site];
    const asked = await attack(site, { claims: { sub: "two-factors" } });
    const linked = await asked.visitor.post(`${start}/confirm`, {
      name: "mira@example.org",
      password: PASSWORD,
      code: "",
    });
    expect(linked.status).toBe(303);
  }
  const basic = `mira:${PASSWORD}`;
  const forgeSetup = await hostile.request("/api/v1/user/2fa/setup", { basic, method: "POST" });
  const forgeSecret = forgeSetup.json.secret as string;
  await hostile.request("/api/v1/user/2fa/enable", {
    basic,
    json: { code: totpCode(forgeSecret, Date.now() - 30_000) },
  });
  const { start, cookie, home } = SITES.forge;
  const { answer, visitor } = await attack("forge", { claims: { sub: "two-factors" } });
  expect(answer.text).toContain("Code of your second factor");
  expect(visitor.cookies.has(cookie)).toBe(false);
  const enter = (code: string) => visitor.post(`${start}/confirm`, { code });
  expect((await enter("000000")).status).toBe(401);
  expect(visitor.cookies.has(cookie)).toBe(false);
  expect((await enter(totpCode(forgeSecret, Date.now()))).headers.get("location")).toBe(home);
  expect((await visitor.open(home)).status).toBe(200);

  const session = await hostile.request("/api/auth/login", {
    json: { email: "mira@example.org", password: PASSWORD },
  });
  const bearer = session.json.access_token as string;
  const vaultSetup = await hostile.request("/api/auth/totp/setup", { bearer });
  const vaultSecret = vaultSetup.json.secret as string;
  const enabled = await hostile.request("/api/auth/totp/enable", {
    bearer,
    json: { code: totpCode(vaultSecret, Date.now() - 30_000) },
  });
  expect(enabled.status).toBe(200);
  const ofVault = await attack("vault", { claims: { sub: "two-factors" } });
  expect(ofVault.answer.text).toContain("Code of your app");
  expect(ofVault.visitor.cookies.has(SITES.vault.cookie)).toBe(false);
  const challenge = /name="challenge" value="([^"]+)"/.exec(ofVault.answer.text)?.[1] ?? "";
  const answerChallenge = (code: string) =>
    ofVault.visitor.post("/vault/sign-in/code", { challenge, code, to: "/vault", remember: "" });
  expect((await answerChallenge("000000")).status).toBe(401);
  expect((await answerChallenge(totpCode(vaultSecret, Date.now()))).status).toBe(303);
  expect((await ofVault.visitor.open(SITES.vault.home)).status).toBe(200);

  // An account that may not sign in does not by the provider either.
  await hostile.request("/api/v1/admin/users/mira", {
    method: "PATCH",
    token: hostile.first?.forge.token ?? "",
    json: { login_name: "mira", prohibit_login: true },
  });
  const prohibited = await attack("forge", { claims: { sub: "two-factors" } });
  expect(prohibited.answer.status).toBe(403);
});
