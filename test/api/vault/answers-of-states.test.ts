import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { withDatabaseFile } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

// Declared answers that need a state of their own, which no other test makes.

let daemon: TestDaemon;
let mira: VaultPerson;
let keeper: VaultPerson;

beforeAll(async () => {
  daemon = await startTestDaemon();
  mira = createPerson(daemon, "mira", "198.51.100.1");
  await mira.register();
  expect((await mira.signIn()).status).toBe(200);
  keeper = createPerson(daemon, "keeper", "198.51.100.2");
  const login = { email: daemon.first?.vault.email, password: daemon.first?.password };
  const signedIn = await keeper.request("/api/auth/login", { json: login });
  keeper.accessToken = signedIn.json.access_token;
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("a page of another site cannot end a session", async () => {
  const headers = { Origin: "https://elsewhere.example", "Sec-Fetch-Site": "cross-site" };
  const refused = await mira.request("/api/auth/logout", { method: "POST", headers });
  expect(refused.status).toBe(403);
  expect((await mira.refresh()).status).toBe(200);
});

test("a machine token that reads changes no topic", async () => {
  const { id } = (await mira.request("/api/topics", { json: { name: "Taxes" } })).json;
  const token = await mira.request("/api/auth/tokens", { json: { name: "ci", scope: "read" } });
  const bearer: string = token.json.token;
  const send = (method: string, json?: object) =>
    daemon.request(`/api/topics/${id}`, { method, bearer, ...(json && { json }) });
  expect((await send("PATCH", { name: "Other" })).status).toBe(403);
  expect((await send("DELETE")).status).toBe(403);
  expect((await mira.request("/api/topics")).json.items).toMatchObject([{ name: "Taxes" }]);
});

test("an administrator does not take the role from the own account", async () => {
  const { id } = (await keeper.request("/api/auth/me")).json;
  const json = { role: "user" };
  const refused = await keeper.request(`/api/admin/users/${id}`, { method: "PATCH", json });
  expect(refused.status).toBe(409);
});

test("a password is guessed at its change as seldom as at a sign-in", async () => {
  const guess = () =>
    mira.request("/api/auth/change-password", {
      json: { current_password: "Wrong-horse-battery-1", new_password: "Right-horse-battery-2" },
    });
  const statuses = new Set<number>();
  for (let count = 0; count < 20 && !statuses.has(429); count += 1)
    statuses.add((await guess()).status);
  expect([...statuses]).toEqual([401, 429]);
});

withDatabaseFile("an account without a row of its quota has none", async () => {
  const remove = `
    const database = new (require("node:sqlite").DatabaseSync)(process.argv[1], { timeout: 10_000 });
    database.exec("DELETE FROM vault_quotas");
    database.close();
  `;
  // From another process: locks are those of processes.
  await promisify(execFile)(process.execPath, ["-e", remove, join(daemon.home, "croft.db")]);
  const answer = await mira.request("/api/auth/me/quota");
  expect([answer.status, answer.json.detail]).toEqual([404, "Quota not found"]);
});
