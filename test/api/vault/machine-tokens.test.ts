import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import { apiOf } from "../../../daemon/contract/api-of.ts";
import type { Endpoint } from "../../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { withDatabaseFile } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let now = Date.UTC(2026, 10, 20, 9, 30);
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now, env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signedIn(): Promise<VaultPerson> {
  people += 1;
  const person = createPerson(daemon, `robot-${people}`, `198.51.100.${people}`);
  await person.register();
  expect(await person.signIn()).toMatchObject({ status: 200 });
  return person;
}

async function administrator(): Promise<VaultPerson> {
  const admin = createPerson(daemon, "keeper", "198.51.100.250");
  const answer = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  admin.accessToken = answer.json.access_token;
  return admin;
}

const create = (person: VaultPerson, body: Readonly<Record<string, unknown>> = {}) =>
  person.request("/api/auth/tokens", { json: { name: "ci", scope: "write", ...body } });

const me = (token: string): Promise<TestAnswer> =>
  daemon.request("/api/auth/me", { bearer: token, headers: { "User-Agent": "some script" } });

describe("POST /api/auth/tokens", () => {
  withDatabaseFile("shows the secret once and stores its hash only", async () => {
    const person = await signedIn();
    const made = await create(person, { expires_at: "2027-01-31T00:00:00+01:00" });
    expect(made).toMatchObject({ status: 201 });
    expect(made.json).toMatchObject({
      name: "ci",
      scope: "write",
      expires_at: "2027-01-30T23:00:00.000Z",
      last_used_at: null,
      token: expect.stringMatching(/^crv_[0-9A-Za-z]{46}$/),
    });
    const listed = await person.request("/api/auth/tokens");
    expect(listed.json).toMatchObject({ total: 1, items: [{ id: made.json.id, name: "ci" }] });
    expect(listed.text).not.toContain("crv_");
    const db = new Sqlite(join(daemon.home, "croft.db"), { readonly: true });
    const rows = JSON.stringify(db.prepare("SELECT * FROM vault_machine_tokens").all());
    db.close();
    expect(rows).not.toContain(made.json.token.slice(4));
  });

  test.each([
    [{ name: "" }, ["body", "name"]],
    [{ name: "a\nb" }, ["body", "name"]],
    [{ name: "x".repeat(101) }, ["body", "name"]],
    [{ scope: "admin" }, ["body", "scope"]],
    [{ scope: undefined }, ["body", "scope"]],
    [{ expires_at: "tomorrow" }, ["body", "expires_at"]],
    [{ expires_at: "2026-11-20T09:30:00Z" }, ["body", "expires_at"]],
  ])("refuses %j", async (body, loc) => {
    const answer = await create(await signedIn(), body);
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc }] } });
  });

  test("refuses a name in use, but not another user's", async () => {
    const person = await signedIn();
    expect(await create(person)).toMatchObject({ status: 201 });
    expect(await create(person)).toMatchObject({ status: 409 });
    expect(await create(await signedIn())).toMatchObject({ status: 201 });
  });

  test("POST /api/auth/tokens is audited with the scope, like the revocation", async () => {
    const person = await signedIn();
    const made = await create(person, { scope: "read" });
    await person.request(`/api/auth/tokens/${made.json.id}`, { method: "DELETE" });
    const admin = await administrator();
    const audit = await admin.request(`/api/admin/audit?user_handle=${person.handle}`);
    expect(audit.json.items.slice(0, 2)).toMatchObject([
      { event_type: "auth.token_revoked", resource_id: made.json.id, metadata: { scope: "read" } },
      { event_type: "auth.token_created", resource_id: made.json.id, metadata: { scope: "read" } },
    ]);
  });
});

describe("a machine token", () => {
  test("identifies its account regardless of the program's headers", async () => {
    const person = await signedIn();
    const { token } = (await create(person)).json;
    expect(await me(token)).toMatchObject({ status: 200, json: { handle: person.handle } });
  });

  test("a machine token of scope read is refused on every method but GET and HEAD", async () => {
    const { token } = (await create(await signedIn(), { scope: "read" })).json;
    expect(await me(token)).toMatchObject({ status: 200 });
    const head = await daemon.request("/api/auth/me/preferences", { method: "GET", bearer: token });
    expect(head).toMatchObject({ status: 200 });
    const refused = await daemon.request("/api/auth/me/preferences", {
      method: "PATCH",
      bearer: token,
      json: { pdf_open_mode: "new_tab" },
    });
    expect(refused).toMatchObject({
      status: 403,
      json: { detail: "This machine token has the scope read" },
    });
  });

  test("records its last use at most once a minute", async () => {
    const person = await signedIn();
    const { token } = (await create(person)).json;
    const lastUse = async () =>
      (await person.request("/api/auth/tokens")).json.items[0].last_used_at;
    const first = new Date(now).toISOString();
    await me(token);
    expect(await lastUse()).toBe(first);
    now += 59_000;
    await me(token);
    expect(await lastUse()).toBe(first);
    now += 1000;
    await me(token);
    expect(await lastUse()).toBe(new Date(now).toISOString());
  });

  test("ends when it is revoked, by its owner only", async () => {
    const person = await signedIn();
    const { token, id } = (await create(person)).json;
    const stranger = await signedIn();
    const path = `/api/auth/tokens/${id}`;
    expect(await stranger.request(path, { method: "DELETE" })).toMatchObject({ status: 404 });
    expect(await me(token)).toMatchObject({ status: 200 });
    expect(await person.request(path, { method: "DELETE" })).toMatchObject({ status: 200 });
    expect(await me(token)).toMatchObject({ status: 401 });
    expect(await person.request(path, { method: "DELETE" })).toMatchObject({ status: 404 });
  });

  test("ends when it expires", async () => {
    const expiresAt = now + 60_000;
    const { token } = (
      await create(await signedIn(), { expires_at: new Date(expiresAt).toISOString() })
    ).json;
    now = expiresAt - 1;
    expect(await me(token)).toMatchObject({ status: 200 });
    now = expiresAt;
    expect(await me(token)).toMatchObject({
      status: 401,
      json: { detail: "Invalid or expired token" },
    });
  });

  test("is revoked with the deactivation of its account and stays revoked", async () => {
    const person = await signedIn();
    const { token } = (await create(person)).json;
    const { id } = (await me(token)).json;
    const admin = await administrator();
    const setActive = (isActive: boolean) =>
      admin.request(`/api/admin/users/${id}/status`, {
        method: "PATCH",
        json: { is_active: isActive },
      });
    expect(await setActive(false)).toMatchObject({ status: 200 });
    expect(await me(token)).toMatchObject({ status: 401 });
    expect(await setActive(true)).toMatchObject({ status: 200 });
    expect(await me(token)).toMatchObject({ status: 401 });
  });

  test.each(["crv_", "crv_unknown", `crv_${"0".repeat(46)}`])("%s is 401", async (token) => {
    expect(await me(token)).toMatchObject({ status: 401 });
  });
});

const vault = (allEndpoints as readonly Endpoint[]).filter((each) => apiOf(each) === "vault");
const refusing = vault.filter(({ gate }) => "refusesMachineTokens" in gate);

describe("routes that refuse machine tokens", () => {
  test("routes that refuse machine tokens are those of passwords, second factor, sessions and tokens, and those that give access to an account", () => {
    expect(refusing.map(({ name }) => name).toSorted()).toEqual([
      "vault.admin.invitations.create",
      "vault.admin.user.create",
      "vault.admin.user.edit",
      "vault.admin.user.reset_password",
      "vault.auth.password.change",
      "vault.auth.session.delete",
      "vault.auth.session.list",
      "vault.auth.session.logout_all",
      "vault.auth.token.create",
      "vault.auth.token.delete",
      "vault.auth.token.list",
      "vault.auth.totp.disable",
      "vault.auth.totp.enable",
      "vault.auth.totp.setup",
      "vault.cloud.authorize.start",
    ]);
  });

  test("answer 403, the others do not", async () => {
    const tokens = {
      user: (await create(await signedIn())).json.token as string,
      administrator: (await create(await administrator())).json.token as string,
    };
    const closed = vault.filter(({ gate }) => gate.admits.startsWith("vault_"));
    for (const declared of closed.filter(({ gate }) => gate.admits !== "vault_upload_address")) {
      const isForUsers = declared.gate.admits !== "vault_administrator";
      const path = declared.path.replace(/\*{0,2}:\w+/g, "01970000-0000-7000-8000-000000000000");
      const answer = await daemon.request(path, {
        method: declared.method,
        bearer: isForUsers ? tokens.user : tokens.administrator,
        ...(declared.body === undefined || declared.method === "GET" ? {} : { json: {} }),
      });
      if (refusing.includes(declared)) expect(answer.status, declared.name).toBe(403);
      else expect([401, 403], `${declared.name} ${answer.text}`).not.toContain(answer.status);
    }
  });
});
