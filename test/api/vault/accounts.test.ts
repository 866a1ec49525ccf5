import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { OTHER_STRONG, STRONG, totpCode } from "../../support/vault/vault-accounts.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let now = Date.UTC(2026, 10, 20, 9, 30);
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** A new person with an address of their own. */
function somebody(handle = `person-${people + 1}`): VaultPerson {
  people += 1;
  return createPerson(daemon, handle, `198.51.100.${people}`);
}

async function registered(): Promise<VaultPerson> {
  const person = somebody();
  expect(await person.register()).toMatchObject({ status: 201 });
  return person;
}

async function signedIn(): Promise<VaultPerson> {
  const person = await registered();
  expect(await person.signIn()).toMatchObject({ status: 200 });
  return person;
}

/** Signed in with the second factor on; the clock has moved on by a step. */
async function enrolled() {
  const person = await signedIn();
  const setup = await person.request("/api/auth/totp/setup");
  const secret = setup.json.secret as string;
  const enabled = await person.request("/api/auth/totp/enable", {
    json: { code: totpCode(secret, now) },
  });
  expect(enabled).toMatchObject({ status: 200, json: { sessions_revoked: 0 } });
  now += 30_000;
  return { person, secret, backupCodes: enabled.json.backup_codes as string[] };
}

const unauthorized = { status: 401, json: { detail: "Invalid or expired token" } };

describe("POST /api/auth/register", () => {
  test("gives the user, without anything secret", async () => {
    const person = somebody("Mira_1");
    const answer = await person.register();
    expect(answer).toMatchObject({ status: 201 });
    expect(answer.json).toEqual({
      id: expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      handle: "Mira_1",
      email: "mira_1@example.org",
      role: "user",
      totp_enabled: false,
      created_at: "2026-11-20T09:30:00.000Z",
    });
  });

  test("trims and lowers the address, and refuses a second account with its address or handle in any case", async () => {
    const person = somebody();
    const register = (handle: string, email: string) =>
      person.request("/api/auth/register", { json: { handle, email, password: STRONG } });
    expect(await register("Otto", "  Otto@Example.ORG ")).toMatchObject({
      status: 201,
      json: { email: "otto@example.org" },
    });
    const taken = { status: 409, json: { detail: "Email or handle already in use" } };
    expect(await register("otto2", "OTTO@example.org")).toMatchObject(taken);
    expect(await register("OTTO", "otto2@example.org")).toMatchObject(taken);
  });

  test("names the rule that a password breaks", async () => {
    const person = somebody();
    person.password = "Short-1";
    expect(await person.register()).toMatchObject({
      status: 422,
      json: { detail: "Password must have at least 12 characters" },
    });
  });

  test("POST /api/auth/register can be closed", async () => {
    await using closed = await startTestDaemon({ env: { CROFT_ALLOW_REGISTRATION: "false" } });
    const answer = await createPerson(closed, "mira", "198.51.100.1").register();
    expect(answer).toMatchObject({ status: 403 });
  });
});

describe("POST /api/auth/login", () => {
  test("gives an access token and the refresh cookie, to the letter", async () => {
    const person = await registered();
    const answer = await person.signIn();
    expect(answer.json).toEqual({
      access_token: expect.any(String),
      user: {
        id: expect.any(String),
        handle: person.handle,
        email: person.email,
        role: "user",
        totp_enabled: false,
      },
    });
    expect(answer.headers.getSetCookie()).toEqual([
      `refresh_token=${person.refreshToken}; Max-Age=57600; Path=/api/auth/refresh; HttpOnly; Secure; SameSite=Strict`,
    ]);
    expect(person.refreshToken).toMatch(/^[\w-]{43}$/);
    const remembered = await person.signIn({ remember_me: true });
    expect(remembered.headers.get("set-cookie")).toContain("; Max-Age=2592000;");
  });

  test("finds the account regardless of case and spaces of the address", async () => {
    const person = await registered();
    expect(await person.signIn({ email: ` ${person.email.toUpperCase()}\t` })).toMatchObject({
      status: 200,
    });
  });

  test("gives the same answer to wrong passwords and unknown addresses, and sets no cookie", async () => {
    const person = await registered();
    const answers = [
      await person.signIn({ password: "wrong" }),
      await person.signIn({ email: "nobody@example.org" }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 401,
        text: '{"detail":"Incorrect email or password"}',
      });
      expect(answer.headers.get("set-cookie")).toBeNull();
    }
    expect(answers[0]?.headers.get("content-length")).toBe(
      answers[1]?.headers.get("content-length"),
    );
  });

  test("asks for the second factor, and treats null and blank codes as missing", async () => {
    const { person, secret, backupCodes } = await enrolled();
    for (const more of [{}, { totp_code: null, backup_code: null }, { totp_code: " " }]) {
      const answer = await person.signIn(more);
      expect(answer).toMatchObject({ status: 200, text: '{"requires_totp":true}' });
      expect(answer.headers.get("set-cookie")).toBeNull();
    }
    expect(await person.signIn({ totp_code: "000000" })).toMatchObject({
      status: 401,
      json: { detail: "Incorrect code" },
    });
    expect(await person.signIn({ backup_code: "00000-00000" })).toMatchObject({
      status: 401,
      json: { detail: "Invalid or already used code" },
    });
    expect(await person.signIn({ totp_code: totpCode(secret, now) })).toMatchObject({
      status: 200,
      json: { user: { totp_enabled: true } },
    });
    expect(await person.signIn({ backup_code: backupCodes[0]?.toUpperCase() })).toMatchObject({
      status: 200,
    });
  });
});

describe("POST /api/auth/refresh", () => {
  test("a refresh exchanges the cookie once", async () => {
    const person = await signedIn();
    const first = person.refreshToken;
    const answer = await person.refresh();
    expect(answer).toMatchObject({ status: 200, json: { user: { handle: person.handle } } });
    expect(answer.json.user).not.toHaveProperty("created_at");
    expect(answer.headers.get("set-cookie")).toContain("; Max-Age=57600; Path=/api/auth/refresh;");
    expect(await person.request("/api/auth/me")).toMatchObject({ status: 200 });
    person.refreshToken = first;
    const reused = await person.refresh();
    expect(reused).toMatchObject({ status: 401, json: { detail: "Session revoked" } });
    expect(reused.headers.get("set-cookie")).toBeNull();
  });

  test("refuses a missing, unknown or malformed cookie, each with its own text", async () => {
    const person = await signedIn();
    const refresh = (cookie: string | undefined) =>
      person.request("/api/auth/refresh", {
        method: "POST",
        headers: cookie === undefined ? {} : { Cookie: cookie },
      });
    const { refreshToken } = person;
    person.refreshToken = "";
    const missing = { status: 401, json: { detail: "No refresh token" } };
    for (const cookie of [undefined, "", "refresh_token=", "other=1", "xrefresh_token=1", ";;=;"])
      expect(await refresh(cookie)).toMatchObject(missing);
    // Ten requests a minute and address: the others come in the next minute.
    now += 60_000;
    const invalid = { status: 401, json: { detail: "Invalid or expired refresh token" } };
    for (const value of ["x", `${refreshToken}x`, `"${refreshToken}"`, "%00", "a".repeat(4000)])
      expect(await refresh(`a=b; refresh_token=${value}`)).toMatchObject(invalid);
    expect(await refresh(`a=b; refresh_token=${refreshToken}; c=d`)).toMatchObject({ status: 200 });
  });
});

describe("signing out", () => {
  test("takes the cookie back, known or not, and ends the session", async () => {
    const person = await signedIn();
    const cleared =
      "refresh_token=; Max-Age=0; Path=/api/auth/refresh; HttpOnly; Secure; SameSite=Strict";
    const answer = await person.request("/api/auth/logout", { method: "POST" });
    expect(answer).toMatchObject({ status: 200, json: { message: expect.any(String) } });
    expect(answer.headers.getSetCookie()).toEqual([cleared]);
    expect(await person.request("/api/auth/me")).toMatchObject(unauthorized);
    expect(await person.refresh()).toMatchObject({ json: { detail: "Session revoked" } });
    const stranger = await somebody().request("/api/auth/logout", { method: "POST" });
    expect(stranger).toMatchObject({ status: 200 });
    expect(stranger.headers.getSetCookie()).toEqual([cleared]);
  });

  test("signing out of everything counts the sessions", async () => {
    const person = await signedIn();
    await person.signIn();
    const answer = await person.request("/api/auth/logout-all", { method: "POST" });
    expect(answer).toMatchObject({
      status: 200,
      json: { message: "Signed out of 2 sessions.", sessions_revoked: 2 },
    });
    expect(answer.headers.get("set-cookie")).toContain("Max-Age=0");
    expect(await person.refresh()).toMatchObject({ status: 401 });
  });
});

describe("the caller's own account", () => {
  test("the caller's own account has a quota and preferences", async () => {
    const person = await signedIn();
    expect(await person.request("/api/auth/me")).toMatchObject({
      status: 200,
      json: { handle: person.handle, totp_enabled: false, created_at: expect.any(String) },
    });
    expect((await person.request("/api/auth/me/quota")).json).toEqual({
      used_bytes: 0,
      limit_bytes: 104_857_600,
    });
    const preferences = () => person.request("/api/auth/me/preferences");
    expect((await preferences()).json).toEqual({
      pdf_open_mode: "in_app",
      default_storage_backend: "internal",
    });
    const edit = (mode: unknown) =>
      person.request("/api/auth/me/preferences", {
        method: "PATCH",
        json: { pdf_open_mode: mode },
      });
    expect((await edit("new_tab")).json).toEqual({ pdf_open_mode: "new_tab" });
    expect((await preferences()).json).toEqual({
      pdf_open_mode: "new_tab",
      default_storage_backend: "internal",
    });
    expect(await edit("popup")).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "pdf_open_mode"] }] },
    });
  });

  test("an account's default storage is internal, or a provider to which the user has a connection", async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    const choose = (backend: unknown, who = person) =>
      who.request("/api/auth/me/default-storage", { method: "PATCH", json: { backend } });
    const shown = async () =>
      (await person.request("/api/auth/me/preferences")).json.default_storage_backend;
    expect(await shown()).toBe("internal");
    const connected = await person.request("/api/cloud/connections", {
      json: { provider: "local_folder", display_name: "Files", settings: { root: "." } },
    });
    expect(connected.status).toBe(201);
    expect(await choose("local_folder")).toMatchObject({
      status: 200,
      json: { pdf_open_mode: "in_app", default_storage_backend: "local_folder" },
    });
    expect(await shown()).toBe("local_folder");
    for (const [backend, who] of [
      ["webdav", person],
      ["local_folder", other],
      ["", person],
      [7, person],
    ] as const)
      expect(await choose(backend, who)).toMatchObject({
        status: 422,
        json: { detail: [{ loc: ["body", "backend"] }] },
      });
    expect((await choose("internal")).status).toBe(200);
    expect(await shown()).toBe("internal");
  });

  test("a request for the account without a token is 401 with the scheme", async () => {
    for (const authorization of [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      "Basic eDp5",
      "token x",
      "Bearer a b",
    ]) {
      const answer = await daemon.request("/api/auth/me", {
        headers: authorization === undefined ? {} : { Authorization: authorization },
      });
      expect(answer).toMatchObject(unauthorized);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test("the caller's own account is bound to the headers of the sign-in", async () => {
    const person = await signedIn();
    const me = (headers: Record<string, string>) => person.request("/api/auth/me", { headers });
    expect(await me({ "Accept-Language": "*" })).toMatchObject({ status: 200 });
    expect(await me({ "User-Agent": "Croft-Test" })).toMatchObject(unauthorized);
    expect(await me({ "Accept-Language": "de" })).toMatchObject(unauthorized);
    expect(
      await person.request("/api/auth/me", {
        headers: { authorization: `bearer ${person.accessToken}` },
      }),
    ).toMatchObject({ status: 200 });
  });
});

describe("POST /api/auth/change-password", () => {
  test("ends earlier access tokens and all other sessions but the cookie's", async () => {
    const person = await signedIn();
    const elsewhere = createPerson(daemon, person.handle, "198.51.100.250");
    await elsewhere.signIn();
    const answer = await person.request("/api/auth/change-password", {
      json: { current_password: STRONG, new_password: OTHER_STRONG },
    });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.json).toEqual({ message: expect.any(String), sessions_revoked: 1 });
    expect(await person.request("/api/auth/me")).toMatchObject(unauthorized);
    expect(await person.refresh()).toMatchObject({ status: 200 });
    expect(await person.request("/api/auth/me")).toMatchObject({ status: 200 });
    expect(await elsewhere.refresh()).toMatchObject({ json: { detail: "Session revoked" } });
    expect(await person.signIn()).toMatchObject({ status: 401 });
    expect(await person.signIn({ password: OTHER_STRONG })).toMatchObject({ status: 200 });
  });

  test("refuses a wrong current and a weak new password", async () => {
    const person = await signedIn();
    const change = (current: string, next: string) =>
      person.request("/api/auth/change-password", {
        json: { current_password: current, new_password: next },
      });
    expect(await change("wrong", "weak")).toMatchObject({
      status: 401,
      json: { detail: "Current password is incorrect" },
    });
    expect(await change(STRONG, "weak")).toMatchObject({ status: 422 });
    expect(await person.request("/api/auth/me")).toMatchObject({ status: 200 });
  });
});

describe("the second factor", () => {
  test("the second factor is set up, turned on with ten codes, and turned off", async () => {
    const { person, backupCodes } = await enrolled();
    expect(backupCodes).toHaveLength(10);
    await person.refresh();
    expect(await person.request("/api/auth/totp/setup")).toMatchObject({ status: 400 });
    const off = await person.request("/api/auth/totp", { method: "DELETE" });
    expect(off).toMatchObject({ status: 200 });
    expect(off.json).toEqual({ message: expect.any(String), sessions_revoked: 0 });
    expect(await person.signIn()).toMatchObject({
      status: 200,
      json: { user: { totp_enabled: false } },
    });
  });

  test("the second factor is not turned on by a wrong code", async () => {
    const person = await signedIn();
    const enable = (code: unknown) => person.request("/api/auth/totp/enable", { json: { code } });
    expect(await enable("123456")).toMatchObject({ status: 400 });
    await person.request("/api/auth/totp/setup");
    expect(await enable("000000")).toMatchObject({
      status: 400,
      json: { detail: "Incorrect code" },
    });
    expect(await enable("12345")).toMatchObject({ status: 422 });
    expect(await enable(123_456)).toMatchObject({ status: 422 });
  });
});

describe("resetting a password", () => {
  /** The token of the newest mail to an address. */
  async function mailedToken(email: string): Promise<string> {
    const outbox = join(daemon.home, "outbox");
    // The mail is sent by a job, beside the request.
    return vi.waitFor(
      async () => {
        for (const name of (await readdir(outbox)).toSorted().toReversed()) {
          const mail = await readFile(join(outbox, name), "utf8");
          const token = /\/password-reset\/confirm\?token=(\S+)/.exec(mail)?.[1];
          if (mail.includes(`To: ${email}`) && token !== undefined) return token;
        }
        throw new Error(`no mail to ${email}`);
      },
      { timeout: 60_000, interval: 10 },
    );
  }

  test("resetting a password by mail: the same response for every address, a link to the page, one use", async () => {
    const person = await signedIn();
    const request = (email: string) =>
      person.request("/api/auth/password-reset", { json: { email } });
    const known = await request(person.email);
    const unknown = await request("nobody@example.org");
    expect(known).toMatchObject({ status: 202 });
    expect(unknown).toMatchObject({ status: 202, text: known.text });

    const token = await mailedToken(person.email);
    const confirm = (password: string) =>
      person.request("/api/auth/password-reset/confirm", {
        json: { token, new_password: password },
      });
    expect(await confirm("weak")).toMatchObject({ status: 422 });
    const answer = await confirm(OTHER_STRONG);
    expect(answer).toMatchObject({
      status: 200,
      json: { message: "Password updated. Please sign in." },
    });
    expect(answer.headers.get("set-cookie")).toBeNull();
    expect(await confirm(STRONG)).toMatchObject({
      status: 400,
      json: { detail: "Invalid or expired reset link" },
    });
    expect(await person.request("/api/auth/me")).toMatchObject(unauthorized);
    expect(await person.refresh()).toMatchObject({ json: { detail: "Session revoked" } });
    expect(await person.signIn({ password: OTHER_STRONG })).toMatchObject({ status: 200 });
  });
});

describe("the sessions", () => {
  test("the sessions are listed for their owner and ended by their owner only", async () => {
    const person = await signedIn();
    const other = await signedIn();
    const phone = createPerson(daemon, person.handle, "198.51.100.251");
    await phone.signIn();
    const { json: list } = await person.request("/api/auth/sessions");
    expect(list).toMatchObject({ total: 2, page: 1, per_page: 30 });
    const mine = list.items.find((session: { current: boolean }) => session.current);
    const theirs = list.items.find((session: { current: boolean }) => !session.current);
    expect(mine).toMatchObject({ user_agent: "croft-test", ip_address: expect.any(String) });
    expect(theirs).toMatchObject({ ip_address: "198.51.100.251" });
    expect(await person.request("/api/auth/sessions?page=2&per_page=1")).toMatchObject({
      json: { items: [list.items[1]], total: 2, page: 2, per_page: 1 },
    });
    expect(await person.request("/api/auth/sessions?per_page=101")).toMatchObject({ status: 422 });
    const end = (who: VaultPerson, id: string) =>
      who.request(`/api/auth/sessions/${id}`, { method: "DELETE" });
    expect(await end(other, theirs.id)).toMatchObject({ status: 404 });
    expect(await end(person, theirs.id)).toMatchObject({ status: 200 });
    expect(await end(person, theirs.id)).toMatchObject({ status: 404 });
    expect(await end(person, "1")).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["path", "id"] }] },
    });
    expect(await phone.request("/api/auth/me")).toMatchObject(unauthorized);
  });
});

describe("addresses that are not there", () => {
  test("rate limits are reported in the API's own words", async () => {
    for (const path of ["/api/auth", "/api/auth/nothing", "/api/nothing"])
      expect(await daemon.request(path)).toMatchObject({
        status: 404,
        text: '{"detail":"Not Found"}',
      });
    const wrongMethod = await daemon.request("/api/auth/login");
    expect(wrongMethod).toMatchObject({ status: 405, json: { detail: "Method Not Allowed" } });
    expect(wrongMethod.headers.get("allow")).toBe("POST");
    expect(
      (await daemon.request("/api/auth/me/preferences", { method: "PUT" })).headers.get("allow"),
    ).toBe("GET, HEAD, PATCH");
  });
});
