import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { withOneDaemon } from "../../support/skip.ts";
import { STRONG, totpCode } from "../../support/vault/vault-accounts.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let administrator: VaultPerson;
let now = Date.UTC(2026, 10, 20, 9, 30);
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now, env: { CROFT_RATE_LIMITS: "off" } });
  const email = daemon.first?.vault.email;
  administrator = createPerson(daemon, "keeper", "203.0.113.1");
  expect(await administrator.signIn({ email, password: daemon.first?.password })).toMatchObject({
    status: 200,
    json: { user: { role: "admin" } },
  });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signedIn(): Promise<VaultPerson & { readonly id: string }> {
  people += 1;
  const person = createPerson(daemon, `person-${people}`, `198.51.100.${people}`);
  const { id } = (await person.register()).json;
  await person.signIn();
  return Object.assign(person, { id });
}

const admin = (path: string, init: Parameters<VaultPerson["request"]>[1] = {}) =>
  administrator.request(`/api/admin${path}`, init);
const setActive = (id: string, isActive: boolean) =>
  admin(`/users/${id}/status`, { method: "PATCH", json: { is_active: isActive } });
async function audit(query: string): Promise<Record<string, unknown>[]> {
  return (await admin(`/audit?${query}`)).json.items;
}

describe("users", () => {
  test("users are listed by part of their name, by role and by state, in pages", async () => {
    const person = await signedIn();
    const list = async (query: string) => (await admin(`/users?${query}`)).json;
    const found = await list(`q=${person.handle.toUpperCase()}%40`);
    expect(found).toEqual({
      items: [
        {
          id: person.id,
          handle: person.handle,
          email: person.email,
          role: "user",
          totp_enabled: false,
          is_active: true,
          password_must_change: false,
          created_at: expect.any(String),
        },
      ],
      total: 1,
      page: 1,
      per_page: 30,
    });
    expect((await list("q=%25")).total).toBe(0);
    expect(await list("role=admin")).toMatchObject({ total: 1, items: [{ role: "admin" }] });
    await signedIn();
    expect((await list("role=user&per_page=1&page=2")).items).toHaveLength(1);
    expect((await list("page=1000000")).items).toEqual([]);
    await setActive(person.id, false);
    expect((await list("is_active=false")).items).toMatchObject([{ id: person.id }]);
  });

  test.each([
    "page=0",
    "page=-1",
    "page=9223372036854775808",
    "page=x",
    "per_page=0",
    "per_page=101",
    "per_page=1.5",
    "per_page=0x10",
    "per_page=1e2",
    "per_page=%2010",
    "page=",
    "page=true",
    "role=root",
    "is_active=1",
    "page=1&page=2",
  ])("?%s is 422", async (query) => {
    const [name] = query.split("=");
    expect(await admin(`/users?${query}`)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["query", name] }] },
    });
  });

  test("users that an administrator makes have no password until they choose one", async () => {
    const made = await admin("/users", {
      json: { handle: "made", email: "Made@example.org" },
    });
    expect(made).toMatchObject({
      status: 201,
      json: { email: "made@example.org", role: "user", password_must_change: true },
    });
    const person = createPerson(daemon, "made", "198.51.100.200");
    for (const password of ["", STRONG])
      expect(await person.signIn({ password })).toMatchObject({
        status: 401,
        json: { detail: "Incorrect email or password" },
      });
    expect(await audit("event_type=admin&user_handle=made")).toMatchObject([
      { event_type: "admin.user_created", actor_handle: "keeper", metadata: { role: "user" } },
    ]);
    expect(
      await admin("/users", { json: { handle: "MADE", email: "other@example.org" } }),
    ).toMatchObject({ status: 409, json: { detail: "Email or handle already in use" } });
  });
});

describe("deactivation", () => {
  test("deactivation is over at once for access tokens, refreshing and signing in", async () => {
    const person = await signedIn();
    expect(await setActive(person.id, false)).toMatchObject({
      status: 200,
      json: { is_active: false },
    });
    expect(await person.request("/api/auth/me")).toMatchObject({ status: 401 });
    expect(await person.refresh()).toMatchObject({
      status: 401,
      json: { detail: "User not found or deactivated" },
    });
    expect(await person.signIn()).toMatchObject({
      status: 401,
      json: { detail: "Account deactivated" },
    });
    expect(await audit(`user_handle=${person.handle}&event_type=admin`)).toMatchObject([
      { event_type: "admin.user_status_changed", metadata: { is_active: false } },
    ]);
  });

  test("sessions that a deactivation has ended stay ended when the account is activated again", async () => {
    const person = await signedIn();
    await setActive(person.id, false);
    await setActive(person.id, true);
    expect(await person.request("/api/auth/me")).toMatchObject({ status: 401 });
    expect(await person.refresh()).toMatchObject({ json: { detail: "Session revoked" } });
    expect(await person.signIn()).toMatchObject({ status: 200 });
  });

  test("deactivating an inactive account changes and records nothing", async () => {
    const person = await signedIn();
    await setActive(person.id, false);
    await setActive(person.id, false);
    expect(await audit(`user_handle=${person.handle}&event_type=admin`)).toHaveLength(1);
  });

  test("deactivation is refused for oneself, and for the last administrator who could undo it", async () => {
    const { id } = (await administrator.request("/api/auth/me")).json;
    expect(await setActive(id, false)).toMatchObject({ status: 409 });
    expect(await administrator.request("/api/auth/me")).toMatchObject({ status: 200 });
  });
});

describe("deletion", () => {
  const remove = (id: string) => admin(`/users/${id}`, { method: "DELETE" });

  test("deletion is over at once for tokens and signing in; records stay, and the names are free", async () => {
    const person = await signedIn();
    expect(await remove(person.id)).toMatchObject({
      status: 200,
      json: { message: "User deleted." },
    });
    expect(await person.request("/api/auth/me")).toMatchObject({ status: 401 });
    expect(await person.refresh()).toMatchObject({ status: 401 });
    expect(await person.signIn()).toMatchObject({
      status: 401,
      json: { detail: "Incorrect email or password" },
    });
    expect(await remove(person.id)).toMatchObject({
      status: 404,
      json: { detail: "User not found" },
    });
    const records = (await audit("per_page=100")).filter((each) => each["user_id"] === person.id);
    expect(records).toMatchObject([
      { event_type: "admin.user_deleted", user_handle: null, metadata: { handle: person.handle } },
      { event_type: "auth.login", user_handle: null },
      { event_type: "auth.registered", user_handle: null },
    ]);
    expect(await person.register()).toMatchObject({ status: 201 });
  });

  withOneDaemon(
    "forgets connections and cached bytes, and leaves the storage's own files",
    async () => {
      const person = await signedIn();
      const root = join(daemon.home, "files", person.handle);
      await mkdir(root);
      const made = await person.request("/api/cloud/connections", {
        json: { provider: "local_folder", display_name: "mine", settings: { root } },
      });
      const form = new FormData();
      form.append("file", new Blob(["kept"]), "kept.txt");
      const base = `/api/cloud/connections/${made.json.id}/items`;
      const item = (await person.request(`${base}/upload`, { method: "POST", body: form })).json;
      const path = `${base}/${encodeURIComponent(item.provider_item_id)}/download`;
      const before = await cachedFiles();
      expect(await person.request(path)).toMatchObject({ text: "kept" });
      await expect.poll(cachedFiles).not.toEqual(before);
      await remove(person.id);
      // Bytes that were just being put into the cache go when their entry finds no owner.
      await expect.poll(cachedFiles).toEqual(before);
      expect(await readFile(join(root, "kept.txt"), "utf8")).toBe("kept");
    },
  );

  test("deletion is refused for oneself", async () => {
    const { id } = (await administrator.request("/api/auth/me")).json;
    expect(await remove(id)).toMatchObject({
      status: 409,
      json: { detail: "You cannot delete your own account" },
    });
  });

  async function cachedFiles(): Promise<string[]> {
    const entries = await readdir(join(daemon.home, "cache"), {
      recursive: true,
      withFileTypes: true,
    });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  }
});

describe("a password reset by an administrator", () => {
  test("ends all sessions, asks for another password at the sign-in and mails a link", async () => {
    const person = await signedIn();
    expect(await admin(`/users/${person.id}/password-reset`, { method: "POST" })).toMatchObject({
      status: 202,
    });
    expect(await person.request("/api/auth/me")).toMatchObject({ status: 401 });
    expect(await person.refresh()).toMatchObject({ json: { detail: "Session revoked" } });
    const challenged = await person.signIn();
    expect(challenged).toMatchObject({ status: 200 });
    expect(challenged.json).toEqual({ requires_password_change: true, user_id: person.id });
    expect(challenged.headers.get("set-cookie")).toBeNull();
    expect(await audit(`user_handle=${person.handle}&event_type=admin`)).toMatchObject([
      { event_type: "admin.password_reset", metadata: { sessions_revoked: 1 } },
    ]);
  });
});

describe("quotas", () => {
  test("quotas are seen and set, with a record of the change", async () => {
    const person = await signedIn();
    const path = `/users/${person.id}/quota`;
    expect((await admin(path)).json).toEqual({ used_bytes: 0, limit_bytes: 104_857_600 });
    expect((await admin(path, { method: "PUT", json: { limit_bytes: 5 } })).json).toEqual({
      used_bytes: 0,
      limit_bytes: 5,
    });
    expect((await person.request("/api/auth/me/quota")).json).toMatchObject({ limit_bytes: 5 });
    expect(await audit(`user_handle=${person.handle}&event_type=admin`)).toMatchObject([
      {
        event_type: "admin.quota_changed",
        metadata: { limit_bytes: 5, previous_limit_bytes: 104_857_600 },
      },
    ]);
    for (const limit of [-1, 1.5, "5", null, 2 ** 60])
      expect(await admin(path, { method: "PUT", json: { limit_bytes: limit } })).toMatchObject({
        status: 422,
        json: { detail: [{ loc: ["body", "limit_bytes"] }] },
      });
  });
});

describe("an unknown user id", () => {
  const id = "0198c0de-0000-7000-8000-000000000000";
  test.each([
    ["PATCH", "status", { is_active: false }],
    ["POST", "password-reset", undefined],
    ["GET", "quota", undefined],
    ["PUT", "quota", { limit_bytes: 1 }],
  ])("an unknown user id is 404: %s %s", async (method, action, json) => {
    const answer = await admin(`/users/${id}/${action}`, {
      method,
      ...(json === undefined ? {} : { json }),
    });
    expect(answer).toMatchObject({ status: 404, json: { detail: "User not found" } });
  });
});

describe("the audit", () => {
  test("lists audit records, newest first, with filters", async () => {
    now += 60_000;
    const begun = now;
    const person = await signedIn();
    const { secret } = (await person.request("/api/auth/totp/setup")).json;
    await person.request("/api/auth/totp/enable", { json: { code: totpCode(secret, now) } });
    await person.refresh();
    now += 1000;
    await person.signIn({ password: "wrong" });
    await person.request("/api/auth/logout", { method: "POST" });
    const own = await audit(`user_handle=${person.handle.toUpperCase()}`);
    expect(own.map(({ event_type: type }) => type)).toEqual([
      "auth.logout",
      "auth.login_failed",
      "auth.totp_enrolled",
      "auth.login",
      "auth.registered",
    ]);
    expect(own[3]).toEqual({
      id: expect.any(Number),
      event_type: "auth.login",
      user_id: person.id,
      user_handle: person.handle,
      user_email: person.email,
      actor_id: person.id,
      actor_handle: person.handle,
      resource_id: null,
      ip_address: `198.51.100.${people}`,
      metadata: { totp_used: false },
      created_at: new Date(begun).toISOString(),
    });
    const between = (from: string, to: string) =>
      audit(
        `user_handle=${person.handle}&from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`,
      );
    const iso = (time: number) => new Date(time).toISOString();
    expect(await between(iso(begun), iso(begun + 1000))).toHaveLength(3);
    expect(await between(iso(begun + 1000), iso(begun + 1001))).toHaveLength(2);
    expect(await between("2026-11-20", "2026-11-21")).toHaveLength(5);
    expect(await between("2026-11-20T12:00:00+02:00", "2026-11-21")).toHaveLength(0);
    expect(await audit(`user_handle=${person.handle}&event_type=admin`)).toEqual([]);
    expect(await audit("user_handle=nobody-here")).toEqual([]);
    const page = await admin(`/audit?user_handle=${person.handle}&per_page=3&page=2`);
    expect(page.json).toMatchObject({ total: 5, page: 2, per_page: 3 });
    expect(page.json.items).toMatchObject([
      { event_type: "auth.login" },
      { event_type: "auth.registered" },
    ]);
  });

  test.each([
    "event_type=auth.login",
    "event_type=aut",
    "event_type=",
    "event_type=%25",
    "from=yesterday",
    "to=1",
    "per_page=1000",
  ])("?%s is 422", async (query) => {
    expect(await admin(`/audit?${query}`)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["query", query.split("=")[0]] }] },
    });
  });

  test("explains the format of a time to a caller who used another", async () => {
    const { json } = await admin("/audit?from=yesterday");
    expect(json.detail[0].msg).toContain("a day such as 2026-11-20");
  });
});
