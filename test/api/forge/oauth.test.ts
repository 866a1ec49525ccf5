import { createHash, randomBytes } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Programs that sign in, as tea and servers do it, and programs that must not.

const TEA = "d57cb8c4-630c-4168-8324-ec79935e18d4";
const LOOPBACK = "http://127.0.0.1:41234";
const WEB = "https://ci.example/authorize";

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

let daemon: TestDaemon;
let now = Date.now();
const people = createForgePeople(() => daemon);
const { tokenOf, newToken } = people;
const cookies: Record<string, string> = {};
let confidential: { id: number; client_id: string; client_secret: string };

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" }, clock: () => now });
  for (const username of ["mira", "nora"]) {
    await people.newUser(username);
    cookies[username] = await signIn(username);
  }
  confidential = (await register({ name: "CI", confidential_client: true })).json;
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signIn(username: string): Promise<string> {
  const answer = await page("/user/login", {
    form: { user_name: username, password: "user-password", code: "" },
  });
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  return cookie;
}

function page(
  path: string,
  {
    cookie = "",
    form,
    headers = {},
  }: { cookie?: string; form?: Record<string, string>; headers?: Record<string, string> } = {},
): Promise<TestAnswer> {
  return daemon.request(path, {
    headers: {
      Cookie: cookie,
      "Sec-Fetch-Site": "same-origin",
      ...(form === undefined ? {} : FORM),
      ...headers,
    },
    ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form).toString() }),
  });
}

const register = (fields: object, token = tokenOf("mira")) =>
  daemon.request("/api/v1/user/applications/oauth2", {
    token,
    json: { name: "app", redirect_uris: [WEB], confidential_client: false, ...fields },
  });

const verifier = randomBytes(32).toString("base64url");
const challenge = createHash("sha256").update(verifier).digest("base64url");
const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
const ofTea = { client_id: TEA, redirect_uri: LOOPBACK, response_type: "code", ...pkce };
const ofServer = () => ({
  client_id: confidential.client_id,
  redirect_uri: WEB,
  response_type: "code",
});

const authorize = (query: Record<string, string>, init: Parameters<typeof page>[1] = {}) =>
  page(`/login/oauth/authorize?${new URLSearchParams(query)}`, {
    cookie: cookies["mira"] ?? "",
    ...init,
  });

const tokenOfForm = (html: string) => /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? "";

/** Consents as a user, and returns the address that the browser is sent to. */
async function consent(
  query: Record<string, string>,
  { user = "mira", granted = "true" }: { user?: string; granted?: string } = {},
): Promise<URL> {
  const cookie = cookies[user] ?? "";
  const shown = await authorize(query, { cookie });
  // A server that has the consent is not asked again.
  if (shown.status === 303) return new URL(shown.headers.get("location") ?? "");
  expect(shown.status).toBe(200);
  const form = { ...query, granted, form_token: tokenOfForm(shown.text) };
  const answer = await page("/login/oauth/grant", { cookie, form });
  expect(answer.status).toBe(303);
  return new URL(answer.headers.get("location") ?? "");
}

const codeOf = (url: URL) => url.searchParams.get("code") ?? "";

const exchange = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  daemon.request("/login/oauth/access_token", {
    method: "POST",
    headers: { ...FORM, ...headers },
    body: new URLSearchParams(form).toString(),
  });

const exchangeTea = (code: string, rest: Record<string, string> = {}) =>
  exchange({
    grant_type: "authorization_code",
    client_id: TEA,
    code,
    redirect_uri: LOOPBACK,
    code_verifier: verifier,
    ...rest,
  });
const refreshTea = (token: string) =>
  exchange({ grant_type: "refresh_token", client_id: TEA, refresh_token: token });

const signInTea = async (scope = "read:user", user = "mira") =>
  (await exchangeTea(codeOf(await consent({ ...ofTea, scope }, { user })))).json;

const readUser = (token: string) => daemon.request("/api/v1/user", { token });

describe("applications", () => {
  test("an application is registered, listed, changed and deleted by its owner", async () => {
    const made = await register({ name: "One", redirect_uris: [WEB, "myapp://done"] });
    expect(made).toMatchObject({
      status: 201,
      json: {
        name: "One",
        client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        client_secret: expect.stringMatching(/^gto_/),
        redirect_uris: [WEB, "myapp://done"],
        confidential_client: false,
        skip_secondary_authorization: false,
      },
    });
    const path = `/api/v1/user/applications/oauth2/${made.json.id}`;
    const token = tokenOf("mira");
    const got = await daemon.request(path, { token });
    expect(got.json).toEqual({ ...made.json, client_secret: "" });
    const listed = await daemon.request("/api/v1/user/applications/oauth2", { token });
    expect(listed.json).toContainEqual(got.json);
    expect(Number(listed.headers.get("x-total-count"))).toBe(listed.json.length);
    const changed = await daemon.request(path, {
      method: "PATCH",
      token,
      json: { name: "Two", redirect_uris: [WEB], confidential_client: true },
    });
    expect(changed).toMatchObject({
      status: 200,
      json: { name: "Two", client_id: made.json.client_id },
    });
    expect(changed.json.client_secret).not.toBe(made.json.client_secret);
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const foreign = await daemon.request(path, {
        method,
        token: tokenOf("nora"),
        ...(method === "PATCH" ? { json: { name: "x", redirect_uris: [WEB] } } : {}),
      });
      expect(foreign.status).toBe(404);
    }
    expect((await daemon.request(path, { method: "DELETE", token })).status).toBe(204);
    expect((await daemon.request(path, { token })).status).toBe(404);
  });

  test.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "/relative",
    "https://user@ci.example/",
    "https://ci.example/#fragment",
    "https://ci.example/ space",
    "file:///etc/passwd",
    "",
  ])("an application cannot have the redirect URI %j", async (uri) => {
    expect((await register({ redirect_uris: [uri] })).status).toBe(400);
    expect((await register({ redirect_uris: [] })).status).toBe(400);
  });

  test("an application is registered by its owner only, with the scope for users", async () => {
    expect((await register({}, await newToken("mira", ["write:repository"]))).status).toBe(403);
    const anonymous = await daemon.request("/api/v1/user/applications/oauth2", {
      json: { name: "x" },
    });
    expect(anonymous.status).toBe(401);
  });
});

describe("sign-in of a public client", () => {
  test("tea signs in by the code flow with PKCE, and renews its token", async () => {
    const scope = "admin user issue misc notification organization package repository";
    const url = await consent({ ...ofTea, scope, state: "abc" });
    expect(`${url.origin}${url.pathname}`).toBe(`${LOOPBACK}/`);
    expect(url.searchParams.get("state")).toBe("abc");
    expect(url.searchParams.get("iss")).toBe(daemon.url);
    const issued = await exchangeTea(codeOf(url));
    expect(issued).toMatchObject({
      status: 200,
      json: { token_type: "bearer", expires_in: 3600, access_token: expect.any(String) },
    });
    expect(issued.headers.get("cache-control")).toBe("no-store");
    expect((await readUser(issued.json.access_token)).json.login).toBe("mira");
    const renewed = await refreshTea(issued.json.refresh_token);
    expect(renewed.status).toBe(200);
    expect(renewed.json.refresh_token).not.toBe(issued.json.refresh_token);
    expect((await readUser(renewed.json.access_token)).status).toBe(200);
    const listed = await daemon.request("/api/v1/users/mira/tokens", {
      basic: "mira:user-password",
    });
    expect(JSON.stringify(listed.json)).not.toContain("oauth2");
  });

  test("a program may send its id by Basic authentication with an empty secret, and JSON", async () => {
    const code = codeOf(await consent({ ...ofTea, scope: "read:user" }));
    const basic = Buffer.from(`${TEA}:`).toString("base64");
    const answer = await daemon.request("/login/oauth/access_token", {
      method: "POST",
      headers: { Authorization: `Basic ${basic}` },
      json: {
        grant_type: "authorization_code",
        code,
        redirect_uri: LOOPBACK,
        code_verifier: verifier,
      },
    });
    expect(answer.status).toBe(200);
  });

  test("the token of an application may do what the user has consented to", async () => {
    const { access_token: token, scope } = await signInTea("read:user");
    expect(scope).toBe("read:user");
    expect((await readUser(token)).status).toBe(200);
    const change = { token, json: { name: "theirs" } };
    expect((await daemon.request("/api/v1/user/repos", change)).status).toBe(403);
  });

  test("a client with a NUL in its id is unknown", async () => {
    const form = { grant_type: "refresh_token", refresh_token: "none" };
    const answer = await exchange(form, { Authorization: `Basic ${btoa("a\0:b")}` });
    expect([answer.status, answer.json.error]).toEqual([401, "invalid_client"]);
  });

  test("the token of an application ends after an hour", async () => {
    const issued = await signInTea();
    now += 3_600_000;
    expect((await readUser(issued.access_token)).status).toBe(401);
    const renewed = await refreshTea(issued.refresh_token);
    expect((await readUser(renewed.json.access_token)).status).toBe(200);
    now += 31 * 24 * 3_600_000;
    expect((await refreshTea(renewed.json.refresh_token)).status).toBe(400);
    cookies["mira"] = await signIn("mira");
    cookies["nora"] = await signIn("nora");
  });
});

describe("replays and races", () => {
  test("a stream that the token of an application has opened ends with the token, however it ends", async () => {
    await people.by("mira", "POST", "/user/repos", { name: "noticed" });
    const scope = "read:notification,write:notification";
    const target = "/user/settings/applications/oauth2";
    const cookie = cookies["mira"] ?? "";
    const { json: app } = await register({ name: "Followed", confidential_client: true });
    const { client_id, client_secret } = app;
    const signInApp = async () => {
      const code = codeOf(await consent({ ...ofServer(), client_id, scope }));
      const grant = { grant_type: "authorization_code", client_id, client_secret, code };
      return (await exchange({ ...grant, redirect_uri: WEB })).json.access_token as string;
    };
    const ends: readonly (readonly [() => Promise<string>, () => Promise<unknown>])[] = [
      [
        async () => (await signInTea(scope)).access_token,
        async () => {
          const { text } = await page(target, { cookie });
          const [, tea = ""] = text.split("Revoke tea").toReversed();
          const grant = [...tea.matchAll(/name="grant" value="(\d+)"/g)].at(-1)?.[1] ?? "";
          const form = { action: "revoke", grant, form_token: tokenOfForm(text) };
          expect((await page(target, { cookie, form })).status).toBe(303);
        },
      ],
      [
        signInApp,
        () =>
          daemon.request(`/api/v1/user/applications/oauth2/${app.id}`, {
            method: "DELETE",
            token: tokenOf("mira"),
          }),
      ],
      [
        async () => (await signInTea(scope)).access_token,
        async () => {
          now += 60 * 60_000 + 1;
        },
      ],
    ];
    for (const [open, end] of ends) {
      const response = await fetch(`${daemon.url}/api/v1/notifications/stream`, {
        headers: { Authorization: `token ${await open()}` },
      });
      expect(response.status).toBe(200);
      const reader = response.body?.getReader();
      expect((await reader?.read())?.done).toBe(false);
      await end();
      // A change of the mailbox wakes the stream.
      await people.by("nora", "POST", "/repos/mira/noticed/issues", { title: "a" });
      for (let isOpen = true; isOpen;) isOpen = (await reader?.read())?.done === false;
    }
  });

  test("an application makes no token that would outlive its own", async () => {
    const { access_token: token } = await signInTea("write:user");
    const json = { name: "mine", scopes: ["read:user"] };
    const made = await daemon.request("/api/v1/users/mira/tokens", {
      basic: `mira:${token}`,
      json,
    });
    expect(made.status).toBe(403);
  });

  test("a program that refreshes without end has ten access tokens at most", async () => {
    let issued = await signInTea();
    const tokens = [issued.access_token];
    for (let round = 0; round < 12; round += 1) {
      issued = (await refreshTea(issued.refresh_token)).json;
      tokens.push(issued.access_token);
    }
    const statuses = await Promise.all(tokens.map(async (each) => (await readUser(each)).status));
    expect(statuses).toEqual([401, 401, 401, ...Array.from({ length: 10 }, () => 200)]);
  });

  test("a code works once, and its replay ends the sign-in", async () => {
    const code = codeOf(await consent({ ...ofTea, scope: "read:user" }));
    const first = await exchangeTea(code);
    expect((await readUser(first.json.access_token)).status).toBe(200);
    expect(await exchangeTea(code)).toMatchObject({
      status: 400,
      json: { error: "invalid_grant" },
    });
    expect((await readUser(first.json.access_token)).status).toBe(401);
    expect((await refreshTea(first.json.refresh_token)).status).toBe(400);
  });

  test("of concurrent exchanges of one code one gets a token", async () => {
    const code = codeOf(await consent({ ...ofTea, scope: "read:user" }));
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchangeTea(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)]);
  });

  test("of concurrent uses of one refresh token one gets a token", async () => {
    const { refresh_token: token } = await signInTea();
    const answers = await Promise.all(Array.from({ length: 8 }, () => refreshTea(token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)]);
  });

  test("a replayed refresh token ends the sign-in, and no other", async () => {
    const other = await signInTea();
    const stolen = await signInTea();
    const renewed = await refreshTea(stolen.refresh_token);
    expect((await refreshTea(stolen.refresh_token)).status).toBe(400);
    expect((await readUser(renewed.json.access_token)).status).toBe(401);
    expect((await readUser(other.access_token)).status).toBe(200);
  });

  test("a code ends after five minutes", async () => {
    const code = codeOf(await consent({ ...ofTea, scope: "read:user" }));
    now += 5 * 60_000;
    expect((await exchangeTea(code)).status).toBe(400);
  });
});

describe("codes in the wrong hands", () => {
  test.each<[string, Record<string, string>, string]>([
    ["another verifier", { code_verifier: "x".repeat(43) }, "invalid_grant"],
    ["no verifier", { code_verifier: "" }, "invalid_grant"],
    ["another redirect URI", { redirect_uri: "http://127.0.0.1:9" }, "invalid_grant"],
    ["another grant type", { grant_type: "password" }, "unsupported_grant_type"],
  ])(
    "a code is not exchanged with %s, and stays valid for its program",
    async (_what, rest, error) => {
      const code = codeOf(await consent({ ...ofTea, scope: "read:user" }));
      expect(await exchangeTea(code, rest)).toMatchObject({ status: 400, json: { error } });
      expect((await exchangeTea(code)).status).toBe(200);
    },
  );

  test("a code is not exchanged by another application", async () => {
    const code = codeOf(await consent({ ...ofTea, scope: "read:user" }));
    const stolen = await exchange({
      grant_type: "authorization_code",
      client_id: confidential.client_id,
      client_secret: confidential.client_secret,
      code,
      redirect_uri: LOOPBACK,
      code_verifier: verifier,
    });
    expect(stolen).toMatchObject({ status: 400, json: { error: "invalid_grant" } });
    const { refresh_token: token } = await signInTea();
    const other = await register({ name: "Other" });
    const refreshed = {
      grant_type: "refresh_token",
      client_id: other.json.client_id,
      refresh_token: token,
    };
    expect((await exchange(refreshed)).status).toBe(400);
    expect((await refreshTea(token)).status).toBe(200);
  });

  test("a verifier for a code without a challenge is refused, because somebody removed the challenge", async () => {
    const code = codeOf(await consent(ofServer()));
    const { client_id, client_secret } = confidential;
    const form = {
      grant_type: "authorization_code",
      client_id,
      client_secret,
      code,
      redirect_uri: WEB,
    };
    expect((await exchange({ ...form, code_verifier: verifier })).status).toBe(400);
    expect((await exchange(form)).status).toBe(200);
  });

  test("a confidential application needs its secret, in one place", async () => {
    const code = codeOf(await consent(ofServer()));
    const { client_id, client_secret } = confidential;
    const form = { grant_type: "authorization_code", code, redirect_uri: WEB };
    const basic = (secret: string) => ({
      Authorization: `Basic ${Buffer.from(`${client_id}:${secret}`).toString("base64")}`,
    });
    for (const [fields, headers] of [
      [{ client_id }, {}],
      [{ client_id, client_secret: "wrong" }, {}],
      [{ client_id: "unknown", client_secret }, {}],
      [{}, {}],
      [{}, basic("wrong")],
    ] as const) {
      const refused = await exchange({ ...form, ...fields }, headers);
      expect(refused).toMatchObject({ status: 401, json: { error: "invalid_client" } });
      expect(refused.headers.get("www-authenticate")).toBe('Basic realm="croft"');
    }
    expect((await exchange({ ...form, client_id: TEA }, basic(client_secret))).status).toBe(400);
    expect((await exchange(form, basic(client_secret))).status).toBe(200);
  });

  test("the credentials of a user do not sign a program in", async () => {
    const headers = {
      Authorization: `Basic ${Buffer.from("mira:user-password").toString("base64")}`,
    };
    const refused = await exchange({ grant_type: "refresh_token", refresh_token: "x" }, headers);
    expect(refused).toMatchObject({ status: 401, json: { error: "invalid_client" } });
  });
});

describe("requests that must not lead anywhere", () => {
  test.each([
    "https://evil.example/",
    "http://127.0.0.1.evil.example:41234",
    "http://127.0.0.1:41234@evil.example/",
    "http://127.0.0.1:41234/other",
    "http://127.0.0.1:41234/?next=https://evil.example",
    "http://localhost:41234",
    "https://127.0.0.1:41234",
    "http://[::1]:41234",
    "http://127.0.0.1\\@evil.example",
    "http://127.0.0.1:41234#x",
    "javascript:alert(1)",
    "//evil.example",
  ])("a redirect URI that is not registered is shown, not followed: %s", async (uri) => {
    const answer = await authorize({ ...ofTea, redirect_uri: uri });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("location")).toBeNull();
  });

  test("a confidential application has no other port, path or letter case", async () => {
    for (const redirect_uri of [
      `${WEB}/`,
      `${WEB}?x=1`,
      WEB.toUpperCase(),
      "https://ci.example:8443/authorize",
    ])
      expect((await authorize({ ...ofServer(), redirect_uri })).status).toBe(400);
  });

  test("an unknown application, a repeated parameter and a long one are shown", async () => {
    expect((await authorize({ ...ofTea, client_id: "unknown" })).status).toBe(400);
    const query = `${new URLSearchParams(ofTea)}&redirect_uri=https%3A%2F%2Fevil.example`;
    expect(
      (await page(`/login/oauth/authorize?${query}`, { cookie: cookies["mira"] ?? "" })).status,
    ).toBe(400);
    expect((await authorize({ ...ofTea, state: "x".repeat(5_000) })).status).toBe(400);
  });

  test.each<[string, Record<string, string>, string]>([
    ["another response type", { response_type: "token" }, "unsupported_response_type"],
    ["no challenge", { code_challenge: "", code_challenge_method: "" }, "invalid_request"],
    ["a plain challenge", { code_challenge_method: "plain" }, "invalid_request"],
    ["a short challenge", { code_challenge: "abc" }, "invalid_request"],
    ["an unknown scope", { scope: "repo" }, "invalid_scope"],
  ])(
    "a request of a public client with %s is refused at its address",
    async (_what, rest, error) => {
      const answer = await authorize({ ...ofTea, state: "abc", ...rest });
      expect(answer.status).toBe(303);
      const url = new URL(answer.headers.get("location") ?? "");
      expect(url.origin).toBe(LOOPBACK);
      expect(Object.fromEntries(url.searchParams)).toMatchObject({ error, state: "abc" });
    },
  );

  test("the refusal of a user reaches the application", async () => {
    const url = await consent({ ...ofTea, state: "abc" }, { granted: "false" });
    expect(url.searchParams.get("error")).toBe("access_denied");
    expect(url.searchParams.has("code")).toBe(false);
  });
});

describe("the page of consent", () => {
  test("names the application, its scope and the destination, and is shown in no frame", async () => {
    const { json } = await register({
      name: '<img src=x onerror="alert(1)">',
      redirect_uris: [WEB],
    });
    const query = {
      client_id: json.client_id,
      redirect_uri: WEB,
      response_type: "code",
      scope: "read:issue",
      ...pkce,
    };
    const answer = await authorize(query);
    expect(answer.text).toContain("read:issue");
    expect(answer.text).toContain("https://ci.example");
    expect(answer.text).toContain("&lt;img src=x");
    expect(answer.text).not.toContain("<img src=x");
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const policy = answer.headers.get("content-security-policy");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' https://ci.example;");
  });

  test("a consent needs the token of the form and the session of the user", async () => {
    const cookie = cookies["mira"] ?? "";
    const foreign = tokenOfForm((await authorize(ofTea, { cookie: cookies["nora"] ?? "" })).text);
    for (const form_token of ["", "x", foreign]) {
      const form = { ...ofTea, granted: "true", form_token };
      expect((await page("/login/oauth/grant", { cookie, form })).status).toBe(403);
    }
    const signedOut = await page("/login/oauth/grant", {
      form: { ...ofTea, granted: "true" },
      headers: { "Sec-Fetch-Site": "cross-site" },
    });
    expect(signedOut.status).toBe(403);
    expect((await page("/login/oauth/grant", { cookie })).status).toBe(404);
  });

  test("the parameters of a consent are checked again when the form is sent", async () => {
    const cookie = cookies["mira"] ?? "";
    const form_token = tokenOfForm((await authorize(ofTea)).text);
    const form = { ...ofTea, redirect_uri: "https://evil.example", granted: "true", form_token };
    expect((await page("/login/oauth/grant", { cookie, form })).status).toBe(400);
  });

  test("a user who is not signed in signs in first, and a link of another site is followed in two steps", async () => {
    const answer = await authorize(ofTea, { cookie: "" });
    expect(answer.status).toBe(303);
    const to = answer.headers.get("location") ?? "";
    expect(to).toMatch(/^\/user\/login\?redirect_to=%2Flogin%2Foauth%2Fauthorize/);
    const linked = await authorize(ofTea, {
      cookie: "",
      headers: { "Sec-Fetch-Site": "cross-site" },
    });
    expect(linked.status).toBe(200);
    expect(linked.text).toContain('href="/login/oauth/authorize?client_id=');
  });

  test("a server with a consent is not asked again for no more, a public client always", async () => {
    const { json } = await register({ name: "Known", confidential_client: true });
    const asked = { ...ofServer(), client_id: json.client_id };
    await consent({ ...asked, scope: "read:issue" });
    const again = await authorize({ ...asked, scope: "read:issue" });
    expect(again.status).toBe(303);
    expect(again.headers.get("location")).toContain("code=gta_");
    expect((await authorize({ ...asked, scope: "write:issue" })).status).toBe(200);
    const referer = { Referer: `${daemon.url}/user/login` };
    expect((await authorize({ ...asked, scope: "read:issue" }, { headers: referer })).status).toBe(
      200,
    );
    await consent({ ...ofTea, scope: "read:issue" });
    expect((await authorize({ ...ofTea, scope: "read:issue" })).status).toBe(200);
  });
});

describe("grants", () => {
  test("a revocation beside a sign-in that asks nobody is not undone", async () => {
    const { json } = await register({ name: "Raced", confidential_client: true });
    const asked = { ...ofServer(), client_id: json.client_id, scope: "read:issue" };
    const target = "/user/settings/applications/oauth2";
    const cookie = cookies["mira"] ?? "";
    for (let round = 0; round < 5; round += 1) {
      await consent(asked);
      const shown = await page(target, { cookie });
      const listed = shown.text.slice(0, shown.text.indexOf("Revoke Raced"));
      const grant = /.*name="grant" value="(\d+)"/s.exec(listed)?.[1] ?? "";
      const form = { action: "revoke", grant, form_token: tokenOfForm(shown.text) };
      const [revoked] = await Promise.all([
        page(target, { cookie, form }),
        ...Array.from({ length: 8 }, () => authorize(asked)),
      ]);
      expect(revoked.status).toBe(303);
      expect((await authorize(asked)).status).toBe(200);
    }
  });

  test("a user sees what applications may do, and revokes it with all of their tokens", async () => {
    const issued = await signInTea("read:user", "nora");
    const cookie = cookies["nora"] ?? "";
    const shown = await page("/user/settings/applications/oauth2", { cookie });
    expect(shown.text).toContain("Revoke tea");
    const grant = /name="grant" value="(\d+)"/.exec(shown.text)?.[1] ?? "";
    const own = await page("/user/settings/applications/oauth2", { cookie: cookies["mira"] ?? "" });
    const foreign = { action: "revoke", grant, form_token: tokenOfForm(own.text) };
    const target = "/user/settings/applications/oauth2";
    expect((await page(target, { cookie: cookies["mira"] ?? "", form: foreign })).status).toBe(422);
    expect((await readUser(issued.access_token)).status).toBe(200);
    const form = { action: "revoke", grant, form_token: tokenOfForm(shown.text) };
    expect((await page(target, { cookie, form })).status).toBe(303);
    expect((await readUser(issued.access_token)).status).toBe(401);
    expect((await refreshTea(issued.refresh_token)).status).toBe(400);
  });

  test("the tokens of a deleted application end", async () => {
    const { json } = await register({ name: "Short", confidential_client: true });
    const { client_id, client_secret } = json;
    const code = codeOf(await consent({ ...ofServer(), client_id }));
    const form = {
      grant_type: "authorization_code",
      client_id,
      client_secret,
      code,
      redirect_uri: WEB,
    };
    const issued = await exchange(form);
    expect((await readUser(issued.json.access_token)).status).toBe(200);
    const path = `/api/v1/user/applications/oauth2/${json.id}`;
    await daemon.request(path, { method: "DELETE", token: tokenOf("mira") });
    expect((await readUser(issued.json.access_token)).status).toBe(401);
  });

  test("a user who may not sign in gets no tokens", async () => {
    await people.newUser("late");
    cookies["late"] = await signIn("late");
    const issued = await signInTea("read:user", "late");
    const code = codeOf(await consent({ ...ofTea, scope: "read:user" }, { user: "late" }));
    await daemon.request("/api/v1/admin/users/late", {
      method: "PATCH",
      token: people.admin,
      json: { login_name: "late", source_id: 0, prohibit_login: true },
    });
    expect((await exchangeTea(code)).status).toBe(400);
    expect((await refreshTea(issued.refresh_token)).status).toBe(400);
    expect((await readUser(issued.access_token)).status).toBe(403);
  });
});

describe("OpenID Connect", () => {
  test("a server learns who signed in from an identity token that it can verify", async () => {
    const configuration = await daemon.request("/.well-known/openid-configuration");
    expect(configuration.json).toMatchObject({
      issuer: daemon.url,
      token_endpoint: `${daemon.url}/login/oauth/access_token`,
      code_challenge_methods_supported: ["S256"],
    });
    await people.by("mira", "POST", "/orgs", { username: "builders" });
    const scope = "openid profile email groups";
    const code = codeOf(await consent({ ...ofServer(), scope, nonce: "n-1", ...pkce }));
    const { client_id, client_secret } = confidential;
    const form = {
      grant_type: "authorization_code",
      client_id,
      client_secret,
      code,
      redirect_uri: WEB,
    };
    const { json: issued } = await exchange({ ...form, code_verifier: verifier });
    const keys = await daemon.request("/login/oauth/keys");
    expect(JSON.stringify(keys.json)).not.toContain('"d"');
    const { payload } = await jwtVerify(issued.id_token, createLocalJWKSet(keys.json), {
      issuer: daemon.url,
      audience: client_id,
      currentDate: new Date(now),
    });
    const claims = {
      preferred_username: "mira",
      email: "mira@example.org",
      groups: ["builders"],
    };
    expect(payload).toMatchObject({ ...claims, nonce: "n-1" });
    const info = await daemon.request("/login/oauth/userinfo", { token: issued.access_token });
    expect(info.json).toMatchObject({ ...claims, sub: payload.sub });
    // A token for public things only tells of no hidden organization.
    await people.by("mira", "POST", "/orgs", { username: "hidden", visibility: "private" });
    const narrow = await signInTea("openid groups public-only read:user");
    const told = await daemon.request("/login/oauth/userinfo", { token: narrow.access_token });
    expect(told.json.groups).toEqual(["builders"]);
    // Identity alone gives no right to change anything.
    const change = { token: issued.access_token, json: { name: "theirs" } };
    expect((await daemon.request("/api/v1/user/repos", change)).status).toBe(403);
  });

  test("userinfo needs a token with a scope for it", async () => {
    const anonymous = await daemon.request("/login/oauth/userinfo");
    expect(anonymous).toMatchObject({ status: 401, json: { error: "invalid_token" } });
    expect(anonymous.headers.get("www-authenticate")).toBe('Bearer realm="croft"');
    const token = await newToken("mira", ["read:issue"]);
    expect((await daemon.request("/login/oauth/userinfo", { token })).status).toBe(403);
    const { access_token: identity } = await signInTea("openid");
    const info = await daemon.request("/login/oauth/userinfo", { token: identity });
    expect(info.json).not.toHaveProperty("email");
    expect(info.json.preferred_username).toBe("mira");
  });
});
